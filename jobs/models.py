"""What tenants asked for, and each life of it on the cluster."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from jobs.specs import Spec, from_json, to_json
from jobs.states import FINAL_STATES, State
from portal.cluster.models import Cluster
from portal.kernel import ids

BULKY = ("env", "command", "args")


class Kind(models.TextChoices):
    NOTEBOOK = "notebook"
    TRAINING = "training"
    ENDPOINT = "endpoint"


class Workload(models.Model):
    """What a tenant asked for and keeps under one name. `state` and `reason` are written by `jobs.transitions` only.

    `spec` is the validated request (jobs.specs, `to_json()`) less its long parts, which are in `bulk` (environment,
    command, arguments) so that lists need not read them; the columns beside it are what lists filter and sort by.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    flavor = models.ForeignKey("quotas.Flavor", on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    variant = models.CharField(max_length=24)
    name = models.CharField(max_length=63)
    project = models.CharField(max_length=63, default="", blank=True)
    description = models.TextField(default="", blank=True)
    owner_type = models.CharField(max_length=16)
    owner_id = models.UUIDField()
    owner_label = models.CharField(max_length=150)
    spec = models.JSONField()
    bulk = models.JSONField(default=dict, blank=True)
    labels = models.JSONField(default=dict, blank=True)
    priority = models.CharField(max_length=40, default="", blank=True)
    # What the person wants now; the reconciler brings the state there.
    wanted = models.CharField(max_length=8, default="run", choices=[(w, w) for w in ("run", "stop", "delete")])
    wanted_by_type = models.CharField(max_length=16, default="", blank=True)
    wanted_by_label = models.CharField(max_length=150, default="", blank=True)
    delete_data = models.BooleanField(default=False)
    start_requested = models.BooleanField(default=False)  # a start that waits until the old pods are gone
    # Workload-owned objects as they were last written: "Kind/name" -> what `portal.cluster.applied.keep` remembers.
    applied = models.JSONField(default=dict, blank=True)
    spec_revision = models.PositiveIntegerField(default=1)  # live PATCHes raise it
    applied_revision = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=16, choices=[(s.value, s.value) for s in State], default=State.SUBMITTED)
    reason = models.CharField(max_length=40, default="", blank=True)  # a jobs.states.Reason; they may grow
    reason_params = models.JSONField(default=dict, blank=True)
    state_since = models.DateTimeField()
    quota_held = models.BooleanField(default=False)
    nodes_admitted = models.PositiveIntegerField(default=0)
    replicas_desired = models.PositiveIntegerField(default=0)
    replicas_ready = models.PositiveIntegerField(default=0)
    replicas_queued = models.PositiveIntegerField(default=0)
    preemptions = models.PositiveIntegerField(default=0)
    run_number = models.PositiveIntegerField(default=1)
    exit_code = models.IntegerField(null=True)
    key_id = models.CharField(max_length=32, default="", blank=True)  # server key of derived tokens
    key_rotation = models.PositiveIntegerField(default=1)
    deadline_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)  # of this run, as far as the gateway asks the portal; None: unknown
    idle_stop_at = models.DateTimeField(null=True)  # when it stops unless it is used
    data_kept_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    queued_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)
    changed_seq = models.BigIntegerField(default=0)  # raised with every visible change: pages and polls compare it

    class Meta:
        constraints = [
            # One that is being deleted may have shared its name with a live one since it ended.
            models.UniqueConstraint(
                fields=["tenant", "kind", "name"],
                condition=~Q(state__in=["succeeded", "failed", "deleting", "deleted"]),
                name="workload_name_once_while_live",
            ),
            models.CheckConstraint(condition=Q(state__in=[s.value for s in State]), name="workload_state"),
            models.CheckConstraint(
                condition=Q(state="deleted", deleted_at__isnull=False) | ~Q(state="deleted"),
                name="workload_deleted_at",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "-id"], name="workload_newest"),
            models.Index(fields=["tenant", "kind", "-id"], name="workload_kind_newest"),
            models.Index(fields=["tenant", "state", "-id"], name="workload_state_newest"),
            models.Index(fields=["owner_id", "-id"], name="workload_of_owner"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_final(self) -> bool:
        return State(self.state) in FINAL_STATES

    @property
    def request(self) -> Spec:
        """What was asked for, whole."""
        return from_json(self.kind, {**self.spec, **self.bulk})


def split(spec: Spec) -> dict[str, dict[str, Any]]:
    """The two columns of a spec: `spec` and `bulk`."""
    whole = to_json(spec)
    return {
        "spec": {name: value for name, value in whole.items() if name not in BULKY},
        "bulk": {name: value for name, value in whole.items() if name in BULKY},
    }


class Run(models.Model):
    """One life of a workload on the cluster. `ended_at` None = the open run; at most one is open."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="+")
    number = models.PositiveIntegerField()
    spec = models.JSONField()
    flavor_name = models.CharField(max_length=40)
    nodes = models.PositiveIntegerField(default=1)
    builders_revision = models.PositiveIntegerField(default=0)
    rendered_at = models.DateTimeField(null=True)
    retry_of = models.PositiveIntegerField(null=True)
    placed = models.JSONField(default=dict, blank=True)  # pod name -> node: pods go with a lost node, this stays
    outcome = models.CharField(max_length=16, default="", blank=True)  # succeeded, failed, stopped, deleted
    reason = models.CharField(max_length=40, default="", blank=True)
    reason_params = models.JSONField(default=dict, blank=True)
    exit_code = models.IntegerField(null=True)
    created_at = models.DateTimeField()
    admitted_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workload", "number"], name="run_number_once"),
            models.UniqueConstraint(fields=["workload"], condition=Q(ended_at__isnull=True), name="run_one_open"),
        ]


class RunObject(models.Model):
    """One cluster object of a run (or of the workload: `owned_by_workload`), in creation order.

    `manifest` is what was rendered (secret values as markers); `applied_hash` is of the bytes last written;
    `uid` once known; `gone_at` once the cluster confirmed that it is gone.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    ordinal = models.PositiveIntegerField()
    kind = models.CharField(max_length=64)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=63)
    owned_by_workload = models.BooleanField(default=False)
    manifest = models.JSONField()
    uid = models.CharField(max_length=64, default="", blank=True)
    applied_hash = models.CharField(max_length=64, default="", blank=True)
    drift = models.JSONField(default=dict, blank=True)  # field path -> other manager
    created_at = models.DateTimeField(null=True)
    gone_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "ordinal"], name="run_object_ordinal_once"),
            models.UniqueConstraint(fields=["run", "kind", "name"], name="run_object_name_once"),
        ]


class TenantGate(models.Model):
    """One row per team, touched first by whatever starts work: it lets one through at a time where there is a limit."""

    tenant_id = models.UUIDField(primary_key=True)
    passed = models.BigIntegerField(default=0)


class UnknownObject(models.Model):
    """An object with our labels that no row explains: shown to the administrator, never deleted silently."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=64)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64, unique=True)
    why = models.CharField(max_length=200)
    seen_at = models.DateTimeField()


class ConnectTicket(models.Model):
    """A single-use ticket (30 s), then the session it was traded for. Of both only digests are kept."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="+")
    user_id = models.UUIDField()
    ticket_digest = models.CharField(max_length=64, unique=True)
    ticket_until = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    cookie_digest = models.CharField(max_length=64, default="", blank=True, db_index=True)
    session_until = models.DateTimeField(null=True)
    portal_session = models.CharField(max_length=64, default="", blank=True)  # its key: what it opened ends with it
