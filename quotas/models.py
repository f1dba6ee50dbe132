"""What may be used and what was used: flavors, cohorts, quotas and their queues, priorities, images, allocations."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models

from portal.cluster.models import Cluster
from portal.kernel import clock, ids

NAME = RegexValidator(r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$")


class Mode(models.TextChoices):
    """Sharing mode of a flavor."""

    WHOLE = "whole"
    MIG = "mig"
    SHARED = "shared"
    CLAIM = "claim"
    NONE = "none"


class Synced(models.Model):
    """A row that becomes cluster objects, kept true by `quotas.reconcile`."""

    applied = models.JSONField(default=dict, blank=True)  # "Kind/name" -> what `portal.cluster.applied` keeps
    problem = models.TextField(default="", blank=True)
    synced_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class Removable(Synced):
    """`deleting`: nobody can choose it any more; the row goes once the cluster confirms that its object is gone."""

    deleting = models.BooleanField(default=False)

    class Meta:
        abstract = True


class Flavor(Removable):
    """One way to get GPU on one cluster: a card model and a sharing mode (work kind `flavor`).

    `resource` is the extended resource name ("" for mode none), `memory_mib` is of one unit, `max_per_node` in units.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=40, validators=[NAME], unique=True)
    mode = models.CharField(max_length=8, choices=Mode.choices)
    card = models.CharField(max_length=60, default="", blank=True)
    resource = models.CharField(max_length=100, default="", blank=True)
    memory_mib = models.PositiveIntegerField(default=0)
    max_per_node = models.PositiveIntegerField(default=0)
    node_labels = models.JSONField(default=dict, blank=True)
    tolerations = models.JSONField(default=list, blank=True)
    active = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"], condition=models.Q(mode="none"), name="flavor_one_cpu_per_cluster"
            ),
            models.CheckConstraint(
                condition=models.Q(mode="none", resource="") | (~models.Q(mode="none") & ~models.Q(resource="")),
                name="flavor_resource_unless_cpu",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class FlavorPrice(models.Model):
    """Price of one unit-hour from a day on; the ledger uses the price of the hour."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    flavor = models.ForeignKey(Flavor, on_delete=models.CASCADE, related_name="+")
    valid_from = models.DateField()
    price_hour = models.DecimalField(max_digits=12, decimal_places=4)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["flavor", "valid_from"], name="flavor_price_once_a_day")]


class Cohort(Removable):
    """Tenants that lend to each other (work kind `cohort`)."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=40, validators=[NAME])
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    show_teams = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="cohort_once")]

    def __str__(self) -> str:
        return self.name


class Queue(Synced):
    """A tenant's ClusterQueue and LocalQueue on one cluster (work kind `queue`).

    `id` is that of the tenant's space there, so that the room below can wake the queue without knowing it.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    reclaim_within_cohort = models.CharField(max_length=16, default="Any")
    within_queue = models.CharField(max_length=32, default="LowerPriority")
    active = models.BooleanField(default=True)  # Kueue's Active condition, from the mirror
    cpu = models.CharField(max_length=20, default="1000")  # nominal of flavor `cpu`
    memory = models.CharField(max_length=20, default="4Ti")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "cluster"], name="queue_once")]


class Quota(models.Model):
    """Units of one resource of one flavor that a tenant owns. A None limit is no limit."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    flavor = models.ForeignKey(Flavor, on_delete=models.PROTECT, related_name="+")
    resource = models.CharField(max_length=100)
    nominal = models.PositiveIntegerField(default=0)
    borrowing_limit = models.PositiveIntegerField(null=True, blank=True)
    lending_limit = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "cluster", "flavor", "resource"], name="quota_cell_once"),
            models.CheckConstraint(
                condition=models.Q(lending_limit=None) | models.Q(lending_limit__lte=models.F("nominal")),
                name="quota_lends_what_it_has",
            ),
        ]


class PriorityClass(Removable):
    """A priority that a request may name (work kind `priority`)."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=40, validators=[NAME])
    value = models.IntegerField()
    description = models.CharField(max_length=200, default="", blank=True)
    managers_only = models.BooleanField(default=False)
    is_default = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="priority_once"),
            models.UniqueConstraint(
                fields=["cluster"], condition=models.Q(is_default=True), name="priority_one_default_per_cluster"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Image(models.Model):
    """One catalogue image, with what it needs to run under the restricted pod security standard."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    name = models.CharField(max_length=40, validators=[NAME], unique=True)
    reference = models.CharField(max_length=400)
    kinds = models.JSONField(default=list)  # of "notebook", "training", "endpoint"
    description = models.CharField(max_length=300, default="", blank=True)
    uid = models.PositiveIntegerField(default=1000)
    gid = models.PositiveIntegerField(default=1000)
    home = models.CharField(max_length=200, default="/home/user")
    command = models.JSONField(default=list, blank=True)
    writable_paths = models.JSONField(default=list, blank=True)
    env = models.JSONField(default=dict, blank=True)
    active = models.BooleanField(default=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(uid__gt=0), name="image_never_runs_as_root")]

    def __str__(self) -> str:
        return self.name


class Allocation(models.Model):
    """An interval in which one Kueue Workload of a run held quota: the only source of ledger and forecasts.

    Times are the cluster's own. No foreign keys upward: `workload_id` and `run` are plain values.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    cluster_id = models.UUIDField()
    kueue_uid = models.CharField(max_length=64)
    flavor = models.CharField(max_length=40)
    resource = models.CharField(max_length=100)
    units = models.PositiveIntegerField()
    admitted_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)
    why = models.CharField(max_length=40, default="", blank=True)
    by = models.CharField(max_length=200, default="", blank=True)
    rule = models.CharField(max_length=40, default="", blank=True)  # Kueue's, where it was preempted
    tenant_id = models.UUIDField()
    tenant_slug = models.CharField(max_length=40)
    project = models.CharField(max_length=63, default="", blank=True)
    workload_id = models.UUIDField()
    workload_kind = models.CharField(max_length=16)
    run = models.PositiveIntegerField()
    owner_type = models.CharField(max_length=16)
    owner_label = models.CharField(max_length=150)
    # What runs alike takes alike long: framework, IDE or runtime; image; and the time limit that was asked for.
    variant = models.CharField(max_length=24, default="", blank=True)
    image = models.CharField(max_length=400, default="", blank=True)
    limit_s = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kueue_uid", "flavor", "resource", "admitted_at"], name="allocation_once"),
            models.CheckConstraint(
                condition=models.Q(released_at=None) | models.Q(released_at__gte=models.F("admitted_at")),
                name="allocation_ends_after_it_starts",
            ),
        ]
        indexes = [
            models.Index(fields=["workload_id", "run"], name="allocation_of_run"),
            models.Index(fields=["tenant_id", "admitted_at"], name="allocation_of_tenant"),
            models.Index(fields=["cluster_id", "admitted_at"], name="allocation_newest"),
            models.Index(fields=["tenant_id", "why", "released_at"], name="allocation_taken_back"),
        ]


class Disagreement(models.Model):
    """Where Kueue and the model of admission differ now, and how often they have for more than a moment.

    `kind`: `room` (the model would admit it) or `order` (Kueue tells another order of a queue). `open`: uid of the
    Kueue Workload, or name of the ClusterQueue -> when it was first seen (RFC 3339). `total` counts those that lasted.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    cluster_id = models.UUIDField()
    cluster_name = models.CharField(max_length=40)
    kind = models.CharField(max_length=8)
    open = models.JSONField(default=dict)
    lasting = models.PositiveIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    looked_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster_id", "kind"], name="disagreement_once")]


class Basis(models.TextChoices):
    """What a forecast rests on: past durations; only time limits that were asked for; nothing that would do."""

    HISTORY = "history"
    DECLARED = "declared"
    NONE = "none"


class Forecast(models.Model):
    """When a waiting run will likely start, as it was said at `made_at`, and what came of it.

    A wait's first forecast (`ordinal` 0) and later ones that differ considerably are kept; `confirmed_at` is when the
    newest was last found to hold. In 8 of 10 cases it starts between `p10` and `p90`; all None: see `why`. The band
    as it was played, before it was corrected by how past ones did: `played_p10`, `played_p90` (None in older rows).
    `outcome` is empty while it waits. `queue` is the ClusterQueue. No foreign keys upward.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    cluster_id = models.UUIDField()
    queue = models.CharField(max_length=63)
    workload_id = models.UUIDField()
    run = models.PositiveIntegerField()
    ordinal = models.PositiveIntegerField(default=0)
    made_at = models.DateTimeField()
    confirmed_at = models.DateTimeField()
    p10 = models.DateTimeField(null=True)
    p50 = models.DateTimeField(null=True)
    p90 = models.DateTimeField(null=True)
    played_p10 = models.DateTimeField(null=True)
    played_p90 = models.DateTimeField(null=True)
    basis = models.CharField(max_length=8, choices=Basis.choices)
    why = models.CharField(max_length=24, default="", blank=True)
    outcome = models.CharField(max_length=8, default="", blank=True, choices=[("started", "started"), ("left", "left")])
    started_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(p10=None, p50=None, p90=None)
                | models.Q(p10__lte=models.F("p50"), p50__lte=models.F("p90")),
                name="forecast_in_order",
            ),
        ]
        indexes = [
            models.Index(fields=["workload_id", "outcome"], name="forecast_of_workload"),
            models.Index(fields=["cluster_id", "outcome", "settled_at"], name="forecast_by_outcome"),
            models.Index(fields=["queue", "settled_at"], name="forecast_of_queue"),
        ]


class ForecastPass(models.Model):
    """The newest round of forecasts on one cluster: what it had seen, what it cost, and what it says of newcomers.

    `seen` changes with the queues; `durations` holds under `newcomers` what `planning.newcomers` found, for previews.
    """

    cluster_id = models.UUIDField(primary_key=True)
    seen = models.CharField(max_length=80, default="")
    made_at = models.DateTimeField()
    took_ms = models.PositiveIntegerField(default=0)
    durations = models.JSONField(default=dict)
    # What the last calibration found (`planning.calibration.Calibration`), for metrics.
    cluster_name = models.CharField(max_length=40, default="", blank=True)
    starts = models.PositiveIntegerField(default=0)
    within = models.PositiveIntegerField(default=0)
    by_p50 = models.PositiveIntegerField(default=0)
    by_p90 = models.PositiveIntegerField(default=0)
