"""Tables of the kernel: work, leader leases, the feed, idempotency records, rate limits."""

from __future__ import annotations

from django.db import models

from portal.kernel import clock, ids

OPEN_WORK = (
    models.Q(wanted_seq__gt=models.F("done_seq"))
    | models.Q(due_at__isnull=False)
    | models.Q(lease_token__isnull=False)
    | ~models.Q(parked_reason="")
)
"""Rows of which anything is left to do: the few among all that rest, which an index of their own finds."""


class Work(models.Model):
    """One row per thing that has to be kept true. `wanted_seq` > `done_seq` or a past `due_at` means: look at it."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    kind = models.CharField(max_length=32)
    object_id = models.UUIDField()
    wanted_seq = models.BigIntegerField(default=0)
    done_seq = models.BigIntegerField(default=0)
    due_at = models.DateTimeField(null=True)
    queued_at = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    parked_reason = models.TextField(default="", blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "object_id"], name="work_one_row_per_object")]
        indexes = [models.Index(fields=["due_at"], name="work_open", condition=OPEN_WORK)]


class LeaderLease(models.Model):
    """One row per office (`watch:<cluster>`); whoever holds the unexpired token leads."""

    name = models.CharField(primary_key=True, max_length=100)
    token = models.UUIDField()
    until = models.DateTimeField()


class FeedScope(models.Model):
    """The counter of one scope: `tenant:<id>` or `platform`."""

    scope = models.CharField(primary_key=True, max_length=64)
    last_seq = models.BigIntegerField(default=0)


class FeedEntry(models.Model):
    """Something that happened, in commit order within its scope: history rows and mirrored cluster events.

    `message` is a msgid, `params` fills it; the reader's language is chosen when it is shown.
    """

    id = models.BigAutoField(primary_key=True)
    scope = models.CharField(max_length=64)
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    topic = models.CharField(max_length=32)
    object_id = models.UUIDField()
    run = models.PositiveIntegerField(null=True)
    source = models.CharField(max_length=16)
    type = models.CharField(max_length=64)
    reason = models.CharField(max_length=64, default="", blank=True)
    message = models.TextField(default="", blank=True)
    params = models.JSONField(default=dict, blank=True)
    by_type = models.CharField(max_length=16, default="", blank=True)
    by_label = models.CharField(max_length=150, default="", blank=True)
    event_uid = models.CharField(max_length=80, null=True, unique=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scope", "seq"], name="feed_seq_once_per_scope")]
        indexes = [models.Index(fields=["object_id", "seq"], name="feed_of_object")]


class IdempotencyRecord(models.Model):
    """The answer to a creating POST, kept 24 h so that a retry gets the same one."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    scope = models.CharField(max_length=64)
    principal = models.CharField(max_length=64)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = models.JSONField(null=True)
    object_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scope", "principal", "key"], name="idempotency_key_once")]
        indexes = [models.Index(fields=["created_at"], name="idempotency_age")]


class RateBucket(models.Model):
    """A fixed window of attempts, as a row: nothing in a request reads Redis."""

    key = models.CharField(primary_key=True, max_length=128)
    window_start = models.DateTimeField()
    count = models.PositiveIntegerField(default=0)
