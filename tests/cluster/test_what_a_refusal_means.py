"""Every recorded refusal of the API server and of Kueue becomes the right kind of error."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

from portal.cluster.answers import failure, from_status_object
from portal.cluster.port import (
    AlreadyExists,
    ClusterError,
    Expired,
    FieldConflict,
    Forbidden,
    InvalidObject,
    Missing,
    NamespaceTerminating,
    QueueSystemUnavailable,
    RejectedByWebhook,
    ServerTrouble,
    TooManyRequests,
    Unauthorized,
    VersionConflict,
)

WIRE = Path(__file__).parents[2].parent / "shared" / "cases" / "kubernetes" / "wire.jsonl"

KINDS: dict[str, type[ClusterError]] = {
    "ns-duplicate": AlreadyExists,
    "create-duplicate": AlreadyExists,
    "get-missing": Missing,
    "get-missing-kind": Missing,
    "post-in-missing-ns": Missing,
    "dry-run-left-nothing": Missing,
    "merge-patch-missing": Missing,
    "delete-missing": Missing,
    "finalizer-gone": Missing,
    "log-missing-pod": Missing,
    "visibility-missing-localqueue": Missing,
    "bad-name": InvalidObject,
    "bad-label": InvalidObject,
    "long-name": InvalidObject,
    "bad-json": InvalidObject,
    "wrong-kind": InvalidObject,
    "wrong-media": InvalidObject,
    "method-not-allowed": InvalidObject,
    "unknown-field-strict": InvalidObject,
    "job-without-container": InvalidObject,
    "merge-patch-wrong-uid": InvalidObject,
    "json-patch-test-fails": InvalidObject,
    "apply-without-manager": InvalidObject,
    "apply-bad-manager": InvalidObject,
    "apply-with-managedfields": InvalidObject,
    "list-bad-continue": InvalidObject,
    "list-bad-selector": InvalidObject,
    "immutable": InvalidObject,
    "kueue-borrowing-without-cohort": InvalidObject,
    "kueue-localqueue-immutable": InvalidObject,
    "log": InvalidObject,
    "log-wrong-container": InvalidObject,
    "merge-patch-stale-rv": VersionConflict,
    "delete-wrong-uid": VersionConflict,
    "other-manager-conflict": FieldConflict,
    "ours-now-conflicts": FieldConflict,
    "post-then-apply-conflict": FieldConflict,
    "bad-token": Unauthorized,
    "forbidden-list": Forbidden,
    "forbidden-create": Forbidden,
    "escalation": Forbidden,
    "quota-exceeded": Forbidden,
    "create-in-terminating-ns": NamespaceTerminating,
    "psa-pod-refused": RejectedByWebhook,
    "kueue-negative-quota": RejectedByWebhook,
    "kueue-bad-quantity": RejectedByWebhook,
    "kueue-resource-in-two-groups": RejectedByWebhook,
    "queue-name-change-refused": RejectedByWebhook,
    "statefulset-resources-immutable": RejectedByWebhook,
    "kueue-down-job": QueueSystemUnavailable,
    "kueue-down-flavor": QueueSystemUnavailable,
    "kueue-down-visibility": ServerTrouble,
    "list-min-future-rv": ServerTrouble,
}


@pytest.mark.skipif(not WIRE.exists(), reason="the recorded exchanges lie beside the repository")
def test_every_recorded_refusal_has_its_kind() -> None:
    found = {}
    for line in WIRE.read_text().splitlines():
        exchange = json.loads(line)
        if exchange["status"] >= 400 and "response" in exchange:
            body = exchange["response"]
            data = body.encode() if isinstance(body, str) else orjson.dumps(body)
            found[exchange["id"]] = type(failure(exchange["status"], data))

    assert found == KINDS


def refusal(status: int, message: str, reason: str = "", **details: object) -> ClusterError:
    return failure(status, orjson.dumps({"kind": "Status", "message": message, "reason": reason, "details": details}))


def test_a_field_conflict_names_the_managers_by_field() -> None:
    causes = [
        {"reason": "FieldManagerConflict", "message": 'conflict with "kubectl" using v1', "field": ".data.a"},
        {"reason": "FieldManagerConflict", "message": 'conflict with "argo"', "field": ".data.b"},
    ]
    error = refusal(409, "Apply failed with 2 conflicts", "Conflict", causes=causes)

    assert isinstance(error, FieldConflict)
    assert error.owners == {".data.a": "kubectl", ".data.b": "argo"}


def test_an_invalid_object_names_its_fields() -> None:
    error = refusal(422, "no", "Invalid", causes=[{"message": "Required value", "field": "spec.a"}])

    assert isinstance(error, InvalidObject)
    assert error.causes == {"spec.a": "Required value"}


def test_too_many_requests_says_when_to_come_back() -> None:
    by_header = failure(429, b"{}", retry_after="7")
    by_details = refusal(429, "slow down", "TooManyRequests", retryAfterSeconds=3)

    assert isinstance(by_header, TooManyRequests)
    assert (by_header.retry_after, by_details.retry_after) == (7.0, 3.0)


def test_another_operators_dead_webhook_is_not_the_queue_system() -> None:
    words = 'failed calling webhook "validate.certs.io": Post "https://certs.certs.svc:443/validate": refused'

    assert type(refusal(500, words, "InternalError")) is ServerTrouble


def test_an_admission_policy_is_a_rejection() -> None:
    words = "jobs.batch \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"

    assert type(refusal(422, words, "Invalid")) is RejectedByWebhook
    assert type(refusal(403, words, "Forbidden")) is RejectedByWebhook


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"", b"[1]", b"\xff\xfe", b'{"message": null}'])
def test_an_answer_that_is_no_status_object_is_still_an_error_of_its_kind(body: bytes) -> None:
    assert type(failure(502, body)) is ServerTrouble
    assert type(failure(404, body)) is Missing


def test_a_redirect_is_trouble() -> None:
    assert type(failure(302, b"")) is ServerTrouble


def test_a_watchs_error_event_for_an_old_version_is_expired() -> None:
    event = {"kind": "Status", "message": "too old resource version: 5 (819)", "reason": "Expired", "code": 410}

    assert type(from_status_object(event, status=410)) is Expired
