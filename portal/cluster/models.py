"""Clusters, the mirror of what they last said, and captured logs."""

from __future__ import annotations

from django.db import models

from portal.kernel import ids


class Cluster(models.Model):
    """One Kubernetes API server that Turno drives. `connection` names an entry of settings, never a credential."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    name = models.SlugField(max_length=40, unique=True)
    connection = models.SlugField(max_length=40, default="default")
    instance = models.SlugField(max_length=20, default="turno")
    prefix = models.CharField(max_length=20, default="turno-")
    # Where notebooks and endpoints are reached: a Gateway, and hosts or paths below these addresses.
    gateway_name = models.CharField(max_length=63, default="turno")
    gateway_namespace = models.CharField(max_length=63, default="turno-gateway")
    notebook_domain = models.CharField(max_length=200, default="localhost")
    notebook_scheme = models.CharField(max_length=5, default="http")
    notebook_port = models.PositiveIntegerField(null=True, blank=True)
    endpoint_url = models.CharField(max_length=200, default="http://127.0.0.1:8002")
    auth_filter = models.JSONField(default=dict, blank=True)
    max_stream_s = models.PositiveIntegerField(default=300)
    # Where Turno's own processes run, who may reach pods, and where DNS and the API server are.
    portal_namespace = models.CharField(max_length=63, default="turno")
    ingress_namespaces = models.JSONField(default=list, blank=True)
    dns_cidrs = models.JSONField(default=list, blank=True)
    api_server_cidrs = models.JSONField(default=list, blank=True)
    storage_class = models.CharField(max_length=63, default="", blank=True)
    capabilities = models.JSONField(default=dict, blank=True)
    unreachable_since = models.DateTimeField(null=True, blank=True)
    unreachable_reason = models.CharField(max_length=300, default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class MirrorStream(models.Model):
    """One list-and-watch: where it is, and when it last heard from the server (`as_of` of every answer).

    `content` is another one after every transaction that changed what is mirrored of the kind: while it is the same,
    answers made from these rows still hold. No counter: that of a restored backup would come to the same numbers again.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=64)
    resource_version = models.CharField(max_length=64, default="", blank=True)
    synced_at = models.DateTimeField(null=True)
    listed_at = models.DateTimeField(null=True)
    content = models.UUIDField(default=ids.uuid7)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "kind"], name="mirror_stream_once")]


class MirrorObject(models.Model):
    """What one object last said: only the fields Turno reads. `data` = {metadata, spec, status} trimmed per kind."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=64)
    namespace = models.CharField(max_length=63, default="", blank=True)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    resource_version = models.CharField(max_length=64)
    ours = models.BooleanField(default=False)
    workload_id = models.UUIDField(null=True)
    run = models.PositiveIntegerField(null=True)
    owner_uid = models.CharField(max_length=64, default="", blank=True)
    job_uid = models.CharField(max_length=64, default="", blank=True)
    content_hash = models.CharField(max_length=64, default="", blank=True)
    state = models.CharField(max_length=16, default="", blank=True)  # Kueue Workloads: pending, reserved, …
    data = models.JSONField(default=dict)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "kind", "namespace", "name"], name="mirror_object_once")
        ]
        indexes = [
            models.Index(fields=["workload_id"], name="mirror_of_workload"),
            models.Index(fields=["cluster", "kind", "uid"], name="mirror_by_uid"),
            models.Index(fields=["job_uid"], name="mirror_by_job_uid"),
            models.Index(fields=["owner_uid"], name="mirror_by_owner"),
            models.Index(fields=["cluster", "kind", "state"], name="mirror_by_state"),
            models.Index(fields=["cluster", "kind", "seen_at"], name="mirror_newest"),
        ]


class PendingOrder(models.Model):
    """The order in which Kueue itself will try what waits in one ClusterQueue, as its visibility API last said.

    `keys`: "namespace/name" of Kueue Workloads. Without a row the API is not there, or nothing has changed yet.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    queue = models.CharField(max_length=253)
    keys = models.JSONField(default=list)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "queue"], name="pending_order_once")]


class LogInterest(models.Model):
    """Somebody looks at a workload's logs until `until`: the log reader streams while there is interest."""

    workload_id = models.UUIDField(primary_key=True)
    until = models.DateTimeField()


class LogStream(models.Model):
    """The window of one container and restart of one pod: newest 2 MiB, in chunks.

    Where reading goes on: the server is asked for lines from `resume_second` on; the first must carry `resume_stamp`
    (else something was rotated away), then `resume_lines` lines and `resume_bytes` of the next are known already.
    `gap`: why the end is missing, `code:words` with code vanished, evicted or unreadable.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    workload_id = models.UUIDField()
    run = models.PositiveIntegerField()
    namespace = models.CharField(max_length=63)
    pod = models.CharField(max_length=253)
    pod_uid = models.CharField(max_length=64)
    container = models.CharField(max_length=63)
    restart = models.PositiveIntegerField(default=0)
    next_seq = models.BigIntegerField(default=1)
    size = models.BigIntegerField(default=0)
    dropped_bytes = models.BigIntegerField(default=0)
    resume_second = models.BigIntegerField(default=0)
    resume_stamp = models.CharField(max_length=40, default="", blank=True)
    resume_lines = models.PositiveIntegerField(default=0)
    resume_bytes = models.BigIntegerField(default=0)
    complete = models.BooleanField(default=False)
    gap = models.CharField(max_length=200, default="", blank=True)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pod_uid", "container", "restart"], name="log_stream_once"),
        ]
        indexes = [
            models.Index(fields=["workload_id", "run"], name="log_streams_of_run"),
            models.Index(fields=["cluster", "complete"], name="log_streams_open"),
            models.Index(fields=["created_at"], name="log_streams_age"),
        ]


class LogChunk(models.Model):
    """Whole lines, as text: bytes that are not UTF-8 replaced, NUL made visible. `seq` counts per stream.

    `seconds`: [[epoch second, offset in the text], …], where the lines of each second begin. A chunk with `gap` holds
    no text: something that was written there could not be read.
    """

    id = models.BigAutoField(primary_key=True)
    stream = models.ForeignKey(LogStream, on_delete=models.CASCADE, related_name="+")
    seq = models.BigIntegerField()
    first_stamp = models.CharField(max_length=40, default="", blank=True)
    text = models.TextField()
    size = models.PositiveIntegerField()
    seconds = models.JSONField(default=list)
    gap = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stream", "seq"], name="log_chunk_once")]
