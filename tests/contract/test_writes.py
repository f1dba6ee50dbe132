"""Writes, as the API server takes them: dry runs, versions, ownership of fields, the status apart from the rest."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.conftest import CONTAINER, Engine
from tests.contract.wire import collection

ROUTE: dict[str, Any] = {"parentRefs": [{"name": "turno", "namespace": "turno-gateway"}], "hostnames": ["a.example"]}
ACCEPTED = {
    "type": "Accepted",
    "status": "True",
    "reason": "Accepted",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
PARENTS = [{"parentRef": {"name": "turno"}, "controllerName": "turno.dev/gateway", "conditions": [ACCEPTED]}]


def route(engine: Engine, **spec: Any) -> dict[str, Any]:
    """An object of a custom kind that has a status, and that nobody else looks at."""
    metadata = engine.config_map("route")["metadata"]
    if "HTTPRoute" not in engine.gateway().discover().kinds.get("gateway.networking.k8s.io/v1", ()):
        pytest.skip("this cluster has no Gateway API")
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": metadata,
        "spec": {**ROUTE, **spec},
    }


# Dry runs


def test_a_dry_run_of_a_create_answers_in_full_and_writes_nothing(engine: Engine) -> None:
    told = engine.wire.create(engine.config_map("a", x="1"), dryRun="All")

    assert told.status == 201
    assert told.json["metadata"]["uid"]
    assert "resourceVersion" not in told.json["metadata"]
    assert engine.wire.get(engine.config_map("a")).status == 404


def test_a_dry_run_of_an_apply_says_what_would_be_and_leaves_what_is(engine: Engine) -> None:
    engine.wire.apply(engine.config_map("a", x="1"))

    told = engine.wire.apply(engine.config_map("a", x="2"), dryRun="All")

    assert (told.status, told.json["data"]) == (200, {"x": "2"})
    assert engine.wire.get(engine.config_map("a")).json["data"] == {"x": "1"}


def test_a_dry_run_of_a_delete_deletes_nothing(engine: Engine) -> None:
    engine.wire.create(engine.config_map("a"))

    assert engine.wire.delete(engine.config_map("a"), dryRun=["All"]).status == 200
    assert engine.wire.get(engine.config_map("a")).status == 200


def test_a_dry_run_is_refused_as_the_write_would_be(engine: Engine) -> None:
    engine.wire.create(engine.config_map("a"))

    told = engine.wire.create(engine.config_map("a"), dryRun="All")

    assert (told.status, told.json["reason"]) == (409, "AlreadyExists")


def test_an_unknown_dry_run_is_refused(engine: Engine) -> None:
    told = engine.wire.create(engine.config_map("a"), dryRun="Some")

    assert (told.status, list(told.causes)) == (422, ["dryRun"])
    assert engine.wire.get(engine.config_map("a")).status == 404


def test_strict_validation_refuses_an_unknown_field(engine: Engine) -> None:
    told = engine.wire.create(engine.pod("a", nonsense=1), dryRun="All", fieldValidation="Strict")

    if not engine.is_real:  # the simulated cluster keeps no schemas, and says so in its README
        assert told.status == 201
        return
    assert told.status == 400
    assert 'unknown field "spec.nonsense"' in told.json["message"]


# Versions


def test_a_write_that_changes_nothing_has_no_new_version(engine: Engine) -> None:
    made = engine.wire.create(engine.config_map("a", x="1"))

    assert engine.wire.replace(engine.config_map("a", x="1")).version == made.version
    assert engine.wire.merge(engine.config_map("a"), {"data": {"x": "1"}}).version == made.version


def test_versions_grow_with_every_change_of_anything(engine: Engine) -> None:
    versions = [engine.wire.create(engine.config_map(name)).version for name in ("a", "b")]
    versions.append(engine.wire.merge(engine.config_map("a"), {"data": {"x": "1"}}).version)

    assert versions == sorted(set(versions))


def test_a_replacement_with_an_old_version_is_a_conflict(engine: Engine) -> None:
    old = engine.wire.create(engine.config_map("a", x="1")).json
    engine.wire.merge(old, {"data": {"x": "2"}})

    told = engine.wire.replace({**old, "data": {"x": "3"}})

    assert (told.status, told.json["reason"]) == (409, "Conflict")
    assert engine.wire.get(old).json["data"] == {"x": "2"}


def test_what_is_created_says_no_version(engine: Engine) -> None:
    asked = engine.config_map("a")
    asked["metadata"]["resourceVersion"] = "1"

    told = engine.wire.create(asked)

    assert told.status in {400, 422, 500}
    assert "resourceVersion" in told.json["message"]


def test_a_replacement_of_nothing_is_not_found(engine: Engine) -> None:
    assert engine.wire.replace(engine.config_map("none")).status == 404


# Ownership of fields


def owners(obj: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {(one["manager"], one["operation"]): one["fieldsV1"] for one in obj["metadata"]["managedFields"]}


def test_an_apply_says_who_owns_which_field(engine: Engine) -> None:
    engine.wire.apply(engine.config_map("a", x="1"), manager="one")
    found = engine.wire.apply({**engine.config_map("a", y="2")}, manager="two").json

    assert owners(found)["one", "Apply"]["f:data"] == {"f:x": {}}
    assert owners(found)["two", "Apply"]["f:data"] == {"f:y": {}}


def test_two_may_own_a_field_that_both_want_alike(engine: Engine) -> None:
    engine.wire.apply(engine.config_map("a", x="1"), manager="one")
    told = engine.wire.apply(engine.config_map("a", x="1"), manager="two")
    assert told.status == 200

    left = engine.wire.apply(engine.config_map("a"), manager="one")

    assert left.json["data"] == {"x": "1"}
    assert engine.wire.apply(engine.config_map("a"), manager="two").json.get("data") is None


def test_a_conflict_names_the_field_and_its_owner(engine: Engine) -> None:
    engine.wire.apply(engine.config_map("a", x="1"), manager="one")

    told = engine.wire.apply(engine.config_map("a", x="2"), manager="two")

    assert (told.status, told.json["reason"]) == (409, "Conflict")
    assert told.causes == {".data.x": 'conflict with "one"'}


def test_what_was_created_is_owned_by_another_operation(engine: Engine) -> None:
    engine.wire.create(engine.config_map("a", x="1"))

    told = engine.wire.apply(engine.config_map("a", x="2"))

    assert told.status == 409
    assert list(told.causes) == [".data.x"]
    assert "contract" in told.causes[".data.x"]


def test_items_of_a_list_are_owned_one_by_one(engine: Engine) -> None:
    def deployment(name: str, value: str) -> dict[str, Any]:
        container = {**CONTAINER, "env": [{"name": name, "value": value}]}
        labels = {"app": "a"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": engine.config_map("a")["metadata"],
            "spec": spec,
        }

    engine.wire.apply(deployment("A", "1"), manager="one")
    both = engine.wire.apply(deployment("B", "2"), manager="two").json

    [container] = both["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    told = engine.wire.apply(deployment("A", "9"), manager="two")
    assert list(told.causes) == ['.spec.template.spec.containers[name="main"].env[name="A"].value']


def test_an_apply_says_nothing_of_owners_itself(engine: Engine) -> None:
    made = engine.wire.apply(engine.config_map("a")).json
    asked = engine.config_map("a")
    asked["metadata"]["managedFields"] = made["metadata"]["managedFields"]

    told = engine.wire.apply(asked)

    assert told.status == 400
    assert "managedFields must be nil" in told.json["message"]


def test_an_apply_needs_a_manager(engine: Engine) -> None:
    body = engine.config_map("a")
    told = engine.wire.call("PATCH", f"{collection(body)}/a", body, content="application/apply-patch+yaml")

    assert told.status == 422
    assert "fieldManager" in told.json["message"]


# Status


def test_the_status_is_written_apart_from_the_rest(engine: Engine) -> None:
    made = engine.wire.create({**route(engine), "status": {"parents": PARENTS}}).json
    assert "status" not in made or not made["status"].get("parents")

    status = engine.wire.merge(made, {"status": {"parents": PARENTS}, "spec": {"hostnames": ["b.example"]}}, "/status")
    assert status.status == 200, status.text
    assert status.json["status"]["parents"][0]["controllerName"] == "turno.dev/gateway"
    assert status.json["spec"]["hostnames"] == ["a.example"]

    spec = engine.wire.merge(made, {"spec": {"hostnames": ["b.example"]}, "status": {"parents": []}})
    assert spec.json["spec"]["hostnames"] == ["b.example"]
    assert len(spec.json["status"]["parents"]) == 1


def test_only_a_change_of_the_spec_is_a_new_generation(engine: Engine) -> None:
    made = engine.wire.create(route(engine)).json
    engine.wire.merge(made, {"status": {"parents": PARENTS}}, "/status")
    labelled = engine.wire.merge(made, {"metadata": {"labels": {"a": "b"}}}).json
    changed = engine.wire.merge(made, {"spec": {"hostnames": ["b.example"]}}).json

    assert [one["metadata"]["generation"] for one in (made, labelled, changed)] == [1, 1, 2]


# What is refused, and what is made canonical


def test_quantities_are_kept_in_their_shortest_form(engine: Engine) -> None:
    limits = {"cpu": "0.5", "memory": "1024Mi", "nvidia.com/gpu": "2"}
    made = engine.wire.create(engine.pod("a", containers=[{**CONTAINER, "resources": {"limits": limits}}])).json

    wanted = {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"}
    assert made["spec"]["containers"][0]["resources"] == {"limits": wanted, "requests": wanted}


@pytest.mark.parametrize("amount", ["1 Gi", "one", "1GB", ""])
def test_what_is_no_quantity_is_refused(engine: Engine, amount: str) -> None:
    told = engine.wire.create(engine.pod("a", containers=[{**CONTAINER, "resources": {"limits": {"memory": amount}}}]))

    assert told.status in {400, 422}


@pytest.mark.parametrize(
    ("body", "content", "status"),
    [("{", "application/json", 400), ("{}", "text/html", 415), ("[]", "application/json", 400)],
)
def test_a_body_that_is_no_object_is_refused(engine: Engine, body: str, content: str, status: int) -> None:
    told = engine.wire.call("POST", collection(engine.config_map("a")), body, content=content)

    assert told.status == status
    assert told.json["kind"] == "Status"


def test_a_verb_that_there_is_not_is_refused(engine: Engine) -> None:
    assert engine.wire.call("PUT", collection(engine.config_map("a")), engine.config_map("a")).status == 405


def test_everybody_may_ask_what_they_may(engine: Engine) -> None:
    asked = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"namespace": engine.namespace, "verb": "create", "resource": "pods"}},
    }
    told = engine.wire.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked)

    assert (told.status, told.json["status"]["allowed"]) == (201, True)
