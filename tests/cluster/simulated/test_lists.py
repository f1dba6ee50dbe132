"""Lists: selectors, pages, versions."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.cluster.simulated.conftest import Asker


@pytest.fixture
def labelled(ask: Asker) -> Asker:
    for name, labels in {
        "a": {"tier": "web", "team": "x"},
        "b": {"tier": "db", "team": "x"},
        "c": {"tier": "web"},
        "d": {},
    }.items():
        ask.config_map(name, labels=labels)
    ask("DELETE", "configmaps/kube-root-ca.crt")
    return ask


def names(ask: Asker, path: str) -> list[str]:
    answer = ask("GET", path)
    assert answer.status == 200, answer.body
    return [item["metadata"]["name"] for item in answer.body["items"]]


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("tier=web", "ac"),
        ("tier==web,team=x", "a"),
        ("tier!=web", "bd"),
        ("tier in (web,db)", "abc"),
        ("tier notin (db)", "acd"),
        ("team", "ab"),
        ("!team", "cd"),
        ("tier in (web),!team", "c"),
        ("tier=", ""),
        ("", "abcd"),
    ],
)
def test_label_selector(labelled: Asker, selector: str, found: str) -> None:
    assert names(labelled, f"configmaps?labelSelector={quote(selector)}") == list(found)


@pytest.mark.parametrize("selector", ["=a", "a in web", "a in (web", "a=b c", "a>b>c", "a,,b", "!"])
def test_label_selector_that_cannot_be_read(ask: Asker, selector: str) -> None:
    refused = ask("GET", f"configmaps?labelSelector={quote(selector)}")

    assert (refused.status, refused.body["reason"]) == (400, "BadRequest")


def test_field_selector(labelled: Asker) -> None:
    assert names(labelled, "configmaps?fieldSelector=metadata.name%3Da") == ["a"]
    assert names(labelled, "configmaps?fieldSelector=metadata.name!%3Da") == ["b", "c", "d"]
    assert names(labelled, "/api/v1/configmaps?fieldSelector=metadata.namespace%3Dw1") == list("abcd")
    refused = labelled("GET", "configmaps?fieldSelector=data.x%3Da")
    assert (refused.status, refused.body["message"]) == (400, 'field label not supported: "data.x"')


def test_pods_are_selected_by_node_and_phase(ask: Asker) -> None:
    for name, node, phase in (("p", "n1", "Running"), ("q", "n2", "Running"), ("r", "n1", "Failed")):
        meta = {"name": name, "namespace": "w1"}
        pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": node}}
        ask.store.create({**pod, "status": {"phase": phase}})

    assert names(ask, "pods?fieldSelector=spec.nodeName%3Dn1,status.phase%3DRunning") == ["p"]


def test_pages_over_all_namespaces(ask: Asker) -> None:
    ask("POST", "/api/v1/namespaces", {"metadata": {"name": "w2"}})
    for namespace in ("w1", "w2"):
        for name in ("a", "b"):
            ask("POST", f"/api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": name}})

    found, path = [], "/api/v1/secrets?limit=3"
    while path:
        page = ask("GET", path).body
        found += [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in page["items"]]
        token = page["metadata"].get("continue")
        path = f"/api/v1/secrets?limit=3&continue={token}" if token else ""

    assert found == [("w1", "a"), ("w1", "b"), ("w2", "a"), ("w2", "b")]


def test_page_of_a_history_no_longer_held(labelled: Asker) -> None:
    token = labelled("GET", "configmaps?limit=1").body["metadata"]["continue"]
    labelled.store.forget_history()
    labelled.config_map("e")
    labelled.store.forget_history()

    refused = labelled("GET", f"configmaps?limit=1&continue={token}")

    assert (refused.status, refused.body["reason"]) == (410, "Expired")


def test_list_at_an_old_version(labelled: Asker) -> None:
    version = labelled("GET", "configmaps").body["metadata"]["resourceVersion"]
    labelled.merge("configmaps/a", {"data": {"new": "1"}})
    labelled("DELETE", "configmaps/b")
    labelled.config_map("e")

    old = labelled("GET", f"configmaps?resourceVersion={version}&resourceVersionMatch=Exact").body

    assert [item["metadata"]["name"] for item in old["items"]] == list("abcd")
    assert all("data" not in item for item in old["items"])
    assert old["metadata"]["resourceVersion"] == version


def test_items_of_custom_kinds_tell_their_kind(ask: Asker) -> None:
    ask("POST", "/apis/kueue.x-k8s.io/v1beta2/cohorts", {"metadata": {"name": "c"}})
    ask.config_map("m")

    assert ask("GET", "/apis/kueue.x-k8s.io/v1beta2/cohorts").body["items"][0]["kind"] == "Cohort"
    assert "kind" not in ask("GET", "configmaps").body["items"][0]


@pytest.mark.parametrize("query", ["limit=x", "limit=-1", "timeoutSeconds=x&watch=1"])
def test_number_that_is_none(ask: Asker, query: str) -> None:
    assert ask("GET", f"configmaps?{query}").status == 400


@pytest.mark.parametrize("token", ["zzz", "e30", "%ff", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"])
def test_token_that_is_none(ask: Asker, token: str) -> None:
    refused = ask("GET", f"configmaps?limit=1&continue={token}")

    assert refused.status == 400
    assert refused.body["message"].startswith("invalid continue token: continue key is not valid:")
