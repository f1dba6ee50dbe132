"""Request and answer shapes of the jobs room, for the schema. `jobs.specs` is what validates requests."""

from __future__ import annotations

from typing import Any

from django.core.validators import RegexValidator
from rest_framework import serializers

from jobs.states import State
from portal.rest.serializers import Body

DNS_LABEL = RegexValidator(r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$")
QUANTITY = RegexValidator(r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$")


class EnvField(serializers.DictField):
    """NAME -> text."""

    child = serializers.CharField(allow_blank=True, trim_whitespace=False)


class WorkloadRequest(Body):
    """What the three kinds share."""

    name = serializers.CharField(max_length=63, validators=[DNS_LABEL])
    tenant = serializers.CharField(max_length=40)
    project = serializers.CharField(max_length=63, required=False)
    description = serializers.CharField(max_length=2000, required=False, allow_blank=True)
    flavor = serializers.CharField(max_length=40)
    gpus = serializers.IntegerField(min_value=0, required=False)
    cpu = serializers.CharField(validators=[QUANTITY], required=False)
    memory = serializers.CharField(validators=[QUANTITY], required=False)
    image = serializers.CharField(max_length=400, required=False)
    env = EnvField(required=False)
    priority = serializers.CharField(max_length=40, required=False)
    max_duration = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    labels = serializers.DictField(child=serializers.CharField(allow_blank=True, max_length=63), required=False)


class NotebookRequest(WorkloadRequest):
    ide = serializers.ChoiceField(["jupyterlab", "code-server", "custom"], required=False)
    storage = serializers.CharField(validators=[QUANTITY], required=False)
    idle_timeout = serializers.IntegerField(min_value=60, required=False, allow_null=True)


class TrainingRequest(WorkloadRequest):
    framework = serializers.ChoiceField(
        ["job", "indexed", "pytorch", "trainjob", "mpi", "ray", "volcano"], required=False
    )
    nodes = serializers.IntegerField(min_value=1, required=False)
    command = serializers.ListField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False), required=False
    )
    args = serializers.ListField(child=serializers.CharField(allow_blank=True, trim_whitespace=False), required=False)
    retries = serializers.IntegerField(min_value=0, max_value=100, required=False)
    checkpoint_path = serializers.CharField(max_length=500, required=False)
    min_nodes = serializers.IntegerField(min_value=1, required=False)
    grace_period = serializers.IntegerField(min_value=0, max_value=600, required=False)


class EndpointRequest(WorkloadRequest):
    model = serializers.CharField(max_length=400)
    runtime = serializers.ChoiceField(["vllm", "huggingface", "triton", "vllm-plain"], required=False)
    min_replicas = serializers.IntegerField(min_value=0, required=False)
    max_replicas = serializers.IntegerField(min_value=1, required=False)
    scale_to_zero_after = serializers.IntegerField(min_value=60, required=False, allow_null=True)
    args = serializers.ListField(child=serializers.CharField(allow_blank=True, trim_whitespace=False), required=False)


class WorkloadChange(Body):
    """PATCH: while it lives only labels, description, replicas, deadlines and a training job's priority."""

    description = serializers.CharField(max_length=2000, required=False, allow_blank=True)
    labels = serializers.DictField(child=serializers.CharField(allow_blank=True, max_length=63), required=False)
    priority = serializers.CharField(max_length=40, required=False)
    max_duration = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    idle_timeout = serializers.IntegerField(min_value=60, required=False, allow_null=True)
    min_replicas = serializers.IntegerField(min_value=0, required=False)
    max_replicas = serializers.IntegerField(min_value=1, required=False)


class Owner(serializers.Serializer[Any]):
    type = serializers.CharField()
    name = serializers.CharField()


class Replicas(serializers.Serializer[Any]):
    desired = serializers.IntegerField()
    ready = serializers.IntegerField()
    queued = serializers.IntegerField()


class WorkloadAnswer(serializers.Serializer[Any]):
    """The fields that all kinds share; each kind adds its own request's fields."""

    id = serializers.UUIDField()
    url = serializers.CharField()
    kind = serializers.ChoiceField(["notebook", "training", "endpoint"])
    tenant = serializers.CharField()
    project = serializers.CharField(allow_null=True)
    cluster = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    owner = Owner()
    state = serializers.ChoiceField([s.value for s in State])
    reason = serializers.CharField()
    message = serializers.CharField()
    position = serializers.IntegerField(allow_null=True)
    flavor = serializers.CharField()
    gpus = serializers.IntegerField()
    nodes = serializers.IntegerField()
    nodes_admitted = serializers.IntegerField()
    replicas = Replicas(allow_null=True)
    quota_held = serializers.BooleanField()
    run = serializers.IntegerField()
    exit_code = serializers.IntegerField(allow_null=True)
    preemptions = serializers.IntegerField()
    labels = serializers.DictField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    queued_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    connect_url = serializers.CharField(allow_null=True)
    endpoint_url = serializers.CharField(allow_null=True)
    last_used_at = serializers.DateTimeField(
        allow_null=True, required=False, help_text="Notebooks: when it was last open in a browser; null: not known."
    )
    idle_stop_at = serializers.DateTimeField(
        allow_null=True, required=False, help_text="Notebooks: when it stops unless it is opened again; null: never."
    )
    as_of = serializers.DateTimeField(allow_null=True)


class AllocationAnswer(serializers.Serializer[Any]):
    flavor = serializers.CharField()
    units = serializers.IntegerField()
    admitted_at = serializers.DateTimeField()
    released_at = serializers.DateTimeField(allow_null=True)
    why = serializers.CharField()
    by = serializers.CharField()
    rule = serializers.CharField()


class RunAnswer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    state = serializers.CharField()
    outcome = serializers.CharField(allow_null=True)
    exit_code = serializers.IntegerField(allow_null=True)
    flavor = serializers.CharField()
    nodes = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    admitted_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    allocations = AllocationAnswer(many=True)


class EventAnswer(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    at = serializers.DateTimeField()
    source = serializers.ChoiceField(["turno", "kueue", "pod", "job"])  # type: ignore[assignment]
    type = serializers.CharField()
    reason = serializers.CharField()
    message = serializers.CharField()
    by = serializers.CharField(allow_null=True)


class ManifestsAnswer(serializers.Serializer[Any]):
    run = serializers.IntegerField()
    manifests = serializers.ListField(child=serializers.JSONField())


class Blocker(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    flavor = serializers.CharField(allow_null=True)
    resource = serializers.CharField(allow_null=True)
    needed = serializers.IntegerField(allow_null=True)
    available = serializers.IntegerField(allow_null=True)
    note = serializers.CharField(
        allow_null=True, help_text="What the model of admission adds: where it disagrees, or while Kueue is silent."
    )


class Position(serializers.Serializer[Any]):
    queue = serializers.IntegerField()
    queue_length = serializers.IntegerField()
    cohort = serializers.IntegerField(allow_null=True)


class LikelyStart(serializers.Serializer[Any]):
    p50 = serializers.DateTimeField(help_text="It starts by then in 5 of 10 cases.")
    p90 = serializers.DateTimeField(help_text="It starts by then in 9 of 10 cases.")


class PastForecasts(serializers.Serializer[Any]):
    kept = serializers.IntegerField(help_text="The queue's newest forecasts that a start followed, at most 40.")
    within = serializers.IntegerField(help_text="How many of them started between p10 and p90.")


class ForecastAnswer(serializers.Serializer[Any]):
    """How the likely start is known, or why it cannot be said."""

    message = serializers.CharField()
    code = serializers.CharField(help_text="Why there is no likely start; empty where there is one.")
    basis = serializers.ChoiceField(["history", "declared", "none"])
    p10 = serializers.DateTimeField(allow_null=True)
    made_at = serializers.DateTimeField(allow_null=True)
    as_of = serializers.DateTimeField(allow_null=True)
    past = PastForecasts()


class Held(serializers.Serializer[Any]):
    """A team's share; `team` is "another team" where the cohort does not show its name to this reader."""

    team = serializers.CharField()
    gpus = serializers.IntegerField()


class Ahead(Held):
    priority = serializers.IntegerField()
    waiting_s = serializers.IntegerField()


class Victim(Held):
    priority = serializers.IntegerField()


class Holder(Held):
    since = serializers.DateTimeField(allow_null=True)


class Limit(serializers.Serializer[Any]):
    flavor = serializers.CharField(allow_null=True)
    resource = serializers.CharField(help_text="The name of the resource, or `cpu` or `memory`.")
    gpus = serializers.IntegerField(allow_null=True, help_text="The most that can be asked; null for other resources.")
    message = serializers.CharField()


class Note(serializers.Serializer[Any]):
    """Quota is free (or made free by `preempts`), but no node has so many units free at once.

    Only Turno's own pods are seen: where pods of others hold units on a node, less is free than is said here, and the
    note may be missing.
    """

    code = serializers.ChoiceField(["no_node_fits"])
    message = serializers.CharField()
    needed = serializers.IntegerField()
    most_free = serializers.IntegerField()


class Alternative(serializers.Serializer[Any]):
    change = serializers.DictField(child=serializers.JSONField(), help_text="Fields of the request with other values.")
    verdict = serializers.ChoiceField(["starts_now", "borrows"])


class PreviewAnswer(serializers.Serializer[Any]):
    """What admission would say of a request, as the cluster was at `as_of`."""

    verdict = serializers.ChoiceField(["starts_now", "waits", "borrows", "preempts", "never"])
    position = serializers.IntegerField(allow_null=True)
    ahead = Ahead(many=True)
    flavor = serializers.CharField(allow_null=True)
    available = serializers.IntegerField(allow_null=True)
    borrows = Held(many=True)
    preempts = Victim(many=True)
    limit = Limit(allow_null=True)
    note = Note(allow_null=True)
    alternatives = Alternative(many=True)
    likely_start = LikelyStart(allow_null=True)
    forecast = ForecastAnswer(allow_null=True)
    as_of = serializers.DateTimeField(allow_null=True)


class DryRunAnswer(serializers.Serializer[Any]):
    valid = serializers.BooleanField()
    preview = PreviewAnswer(allow_null=True)
    manifests = serializers.ListField(child=serializers.JSONField())


class WayOut(serializers.Serializer[Any]):
    who = serializers.ChoiceField(["you", "manager", "administrator"])
    action = serializers.CharField()
    change = serializers.DictField(child=serializers.JSONField(), allow_null=True)


class ExplainAnswer(serializers.Serializer[Any]):
    blocker = Blocker(allow_null=True)
    position = Position(allow_null=True)
    ahead = Ahead(many=True)
    holders = Holder(many=True)
    likely_start = LikelyStart(allow_null=True)
    forecast = ForecastAnswer(allow_null=True)
    ways_out = WayOut(many=True)
    as_of = serializers.DateTimeField(allow_null=True)


class OwnWork(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.CharField()
    name = serializers.CharField()
    owner = serializers.CharField()


class PlaceAnswer(serializers.Serializer[Any]):
    """One who waits. `workload` is null where it is another team's; `flavor` where several would do."""

    place = serializers.IntegerField()
    queue_place = serializers.IntegerField()
    team = serializers.CharField()
    gpus = serializers.IntegerField()
    flavor = serializers.CharField(allow_null=True)
    priority = serializers.IntegerField()
    waiting_s = serializers.IntegerField()
    likely_start = LikelyStart(allow_null=True)
    workload = OwnWork(allow_null=True)


class QueueLineAnswer(serializers.Serializer[Any]):
    """Everybody who waits for the quotas of one cohort, in the order of trying."""

    cluster = serializers.CharField()
    cohort = serializers.CharField()
    length = serializers.IntegerField()
    waiting = PlaceAnswer(many=True)
    as_of = serializers.DateTimeField(allow_null=True)


class KeyAnswer(serializers.Serializer[Any]):
    key = serializers.CharField()
    rotation = serializers.IntegerField()
