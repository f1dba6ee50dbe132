"""Requests that cannot be served: each gets a refusal, none an unhandled error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cluster.simulated.conftest import APPLY, MERGE, Asker

JOBS = "/apis/batch/v1/namespaces/w1/jobs"
SETS = "/apis/apps/v1/namespaces/w1/statefulsets"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "x:1"}]}}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 400),
        ("[]", 400),
        ("null", 400),
        ('"text"', 400),
        ("{", 400),
        ('{"metadata": []}', 400),
        ('{"metadata": {"labels": {"a": 1}}}', 400),
        ('{"metadata": {"name": 7}}', 400),
        ('{"metadata": {"name": "a"}, "data": {"n": 1}}', 400),
        ('{"metadata": {}}', 422),
        ('{"metadata": {"name": ""}}', 422),
        ('{"metadata": {"name": "a", "resourceVersion": "1"}}', 400),
        ('{"metadata": {"name": "a", "namespace": "w2"}}', 400),
        ('{"apiVersion": "v2", "metadata": {"name": "a"}}', 400),
    ],
)
def test_body_of_a_create(ask: Asker, body: str, status: int) -> None:
    assert ask("POST", "configmaps", body).status == status


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/apis/batch/v2/jobs", 404),
        ("GET", "/api/v1/namespaces/w1/nodes", 404),
        ("GET", "/api/v1/configmaps/a", 404),
        ("GET", "configmaps/a/status", 404),
        ("GET", "configmaps/a/b/c", 404),
        ("POST", "/api/v1/configmaps", 405),
        ("POST", "configmaps/a", 405),
        ("PUT", "configmaps", 405),
        ("DELETE", f"{JOBS}/j/status", 405),
        ("POST", "pods/p/log", 405),
    ],
)
def test_path_or_method(ask: Asker, method: str, path: str, status: int) -> None:
    assert ask(method, path).status == status


def test_patch_of_a_kind_that_is_not_taken(ask: Asker) -> None:
    ask.config_map("c")

    refused = ask("PATCH", "configmaps/c", {}, media="application/strategic-merge-patch+json")

    assert (refused.status, refused.body["reason"]) == (415, "UnsupportedMediaType")


def test_patch_cannot_rename(ask: Asker) -> None:
    ask.config_map("c")

    assert ask.merge("configmaps/c", {"metadata": {"name": "d"}}).status == 400
    assert ask.apply("configmaps/c", {"metadata": {"name": "d"}}).status == 400
    assert ask("PUT", "configmaps/c", {"metadata": {"name": "d"}}).status == 400


def test_replace_holds_to_the_version(ask: Asker) -> None:
    made = ask.config_map("c", {"a": "1"}).body
    replaced = ask("PUT", "configmaps/c", {**made, "data": {"a": "2"}})
    assert replaced.status == 200

    assert ask("PUT", "configmaps/c", {**made, "data": {"a": "3"}}).status == 409
    assert ask("GET", "configmaps/c").body["data"] == {"a": "2"}


@pytest.mark.parametrize(
    ("path", "spec", "field"),
    [
        (JOBS, {"template": {"spec": {"containers": [{"name": "A", "image": "x"}]}}}, "containers[0].name"),
        (JOBS, {"template": {"spec": {"containers": [{"name": "a"}]}}}, "containers[0].image"),
        (JOBS, {"template": {"metadata": {"labels": {"a": "x" * 64}}}}, "spec.template.labels"),
        (SETS, {"template": TEMPLATE}, "spec.selector"),
        (SETS, {"template": TEMPLATE, "selector": {"matchLabels": {"a": "c"}}}, "spec.template.metadata.labels"),
    ],
)
def test_fault_is_told_at_its_field(ask: Asker, path: str, spec: dict[str, Any], field: str) -> None:
    refused = ask("POST", path, {"metadata": {"name": "x"}, "spec": spec})

    assert refused.status == 422
    assert any(cause["field"].endswith(field) for cause in refused.body["details"]["causes"])


def test_job_name_must_fit_a_label(ask: Asker) -> None:
    refused = ask("POST", JOBS, {"metadata": {"name": "j" * 64}, "spec": {"template": TEMPLATE}})

    assert refused.status == 422
    assert "spec.template.labels" in [cause["field"] for cause in refused.body["details"]["causes"]]


@pytest.mark.parametrize(
    ("path", "made", "patch"),
    [
        (SETS, {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}, {"serviceName": "other"}),
        (JOBS, {"template": TEMPLATE}, {"template": {"spec": {"containers": [{"name": "main", "image": "y:1"}]}}}),
        (JOBS, {"template": TEMPLATE}, {"completionMode": "Indexed"}),
        ("persistentvolumeclaims", {"accessModes": ["ReadWriteOnce"]}, {"accessModes": ["ReadWriteMany"]}),
    ],
)
def test_what_never_changes(ask: Asker, path: str, made: dict[str, Any], patch: dict[str, Any]) -> None:
    assert ask("POST", path, {"metadata": {"name": "x"}, "spec": made}).status == 201

    refused = ask.merge(f"{path}/x", {"spec": patch})

    assert (refused.status, refused.body["reason"]) == (422, "Invalid")


def test_scheduling_of_a_suspended_job_may_change(ask: Asker) -> None:
    ask("POST", JOBS, {"metadata": {"name": "j"}, "spec": {"suspend": True, "template": TEMPLATE}})

    patch = {"spec": {"suspend": False, "template": {"spec": {"nodeSelector": {"gpu": "h100"}}}}}
    assert ask.merge(f"{JOBS}/j", patch).status == 200
    again = {"spec": {"template": {"spec": {"nodeSelector": {"gpu": "a100"}}}}}
    assert ask.merge(f"{JOBS}/j", again).status == 422


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WHOLE: dict[str, Any] = {
    "metadata": {"name": "x", "labels": {"a": "b"}, "annotations": {}, "ownerReferences": []},
    "spec": {"selector": {"matchLabels": {"a": "b"}}, "replicas": 1, "template": TEMPLATE},
    "status": {},
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, inner in below for place in places(inner, (*path, key)))]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(places(WHOLE)[1:]), broken=JSON, way=st.sampled_from(["POST", "APPLY", "MERGE"]))
def test_anything_anywhere_is_answered(ask: Asker, place: tuple[Any, ...], broken: Any, way: str) -> None:
    body = json.loads(json.dumps(WHOLE))
    holder = body
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = broken
    if way == "POST":
        answer = ask("POST", SETS, body)
    else:
        ask("POST", SETS, WHOLE)
        query = "?fieldManager=x&force=true" if way == "APPLY" else ""
        answer = ask("PATCH", f"{SETS}/x{query}", body, media=APPLY if way == "APPLY" else MERGE)
    ask("DELETE", SETS)

    assert answer.status in (200, 201, 400, 404, 409, 422), answer.body
