"""Server-side apply: who owns which field, what that refuses, and what it removes."""

from __future__ import annotations

from typing import Any

from portal.cluster.simulated.objects import Obj
from tests.cluster.simulated.conftest import Asker

SERVICES = "services"


def service(*ports: Obj, **meta: Any) -> Obj:
    spec = {"selector": {"turno.dev/workload": "w"}, "ports": list(ports)}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", **meta}, "spec": spec}


def owners(obj: Obj) -> dict[tuple[str, str], Obj]:
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in obj["metadata"]["managedFields"]}


def test_applying_the_same_again_moves_nothing(ask: Asker) -> None:
    first = ask.apply("services/s", service({"port": 80, "name": "http"}))
    again = ask.apply("services/s", service({"port": 80, "name": "http"}))

    assert (first.status, again.status) == (201, 200)
    assert again.body == first.body


def test_defaults_are_nobodys(ask: Asker) -> None:
    applied = ask.apply("services/s", service({"port": 80})).body

    assert applied["spec"]["type"] == "ClusterIP"
    assert applied["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert owners(applied) == {
        ("turno-x", "Apply"): {
            "f:spec": {
                "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}},
                "f:selector": {},
            }
        }
    }


def test_item_left_out_of_an_apply_goes_with_its_defaults(ask: Asker) -> None:
    ask.apply("services/s", service({"port": 80, "name": "http"}, {"port": 81, "name": "more"}))

    applied = ask.apply("services/s", service({"port": 80, "name": "http"})).body

    assert [port["port"] for port in applied["spec"]["ports"]] == [80]


def test_items_of_two_managers_live_side_by_side(ask: Asker) -> None:
    ask.apply("services/s", service({"port": 80, "name": "http"}))
    theirs = {**service(), "spec": {"ports": [{"port": 90, "name": "metrics"}]}}

    both = ask.apply("services/s", theirs, manager="other").body
    assert [port["port"] for port in both["spec"]["ports"]] == [80, 90]

    ours = ask.apply("services/s", service({"port": 80, "name": "web"})).body
    assert [(port["port"], port["name"]) for port in ours["spec"]["ports"]] == [(80, "web"), (90, "metrics")]


def test_conflict_names_the_path_inside_an_item(ask: Asker) -> None:
    ask.apply("services/s", service({"port": 80, "name": "http"}))

    refused = ask.apply("services/s", service({"port": 80, "name": "web"}), manager="other")

    assert refused.status == 409
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == [
        '.spec.ports[port=80,protocol="TCP"].name'
    ]


def test_several_conflicts_are_told_by_manager(ask: Asker) -> None:
    ask.apply("configmaps/c", {"metadata": {"name": "c"}, "data": {"a": "1", "b": "1"}})
    ask.apply("configmaps/c", {"metadata": {"name": "c"}, "data": {"z": "1"}}, manager="third")

    refused = ask.apply("configmaps/c", {"data": {"a": "2", "b": "2", "z": "2"}}, manager="other")

    assert refused.body["message"] == (
        'Apply failed with 3 conflicts: conflicts with "third":\n- .data.z\n'
        'conflicts with "turno-x":\n- .data.a\n- .data.b'
    )


def test_value_that_is_already_so_is_shared_without_conflict(ask: Asker) -> None:
    ask.apply("configmaps/c", {"data": {"a": "1"}})

    shared = ask.apply("configmaps/c", {"data": {"a": "1"}}, manager="other")
    assert shared.status == 200
    assert owners(shared.body).keys() == {("turno-x", "Apply"), ("other", "Apply")}

    left = ask.apply("configmaps/c", {"data": {}})
    assert left.body["data"] == {"a": "1"}


def test_force_takes_a_field_from_its_owner(ask: Asker) -> None:
    ask.apply("configmaps/c", {"data": {"a": "1", "b": "1"}})

    taken = ask.apply("configmaps/c", {"data": {"a": "2"}}, manager="other", query="&force=true").body

    assert taken["data"] == {"a": "2", "b": "1"}
    assert owners(taken) == {
        ("turno-x", "Apply"): {"f:data": {"f:b": {}}},
        ("other", "Apply"): {"f:data": {"f:a": {}}},
    }


def test_patch_takes_the_fields_that_it_changes(ask: Asker) -> None:
    ask.apply("configmaps/c", {"data": {"a": "1", "b": "1"}})

    patched = ask.merge("configmaps/c", {"data": {"a": "2", "b": "1"}}).body

    assert owners(patched) == {
        ("turno-x", "Apply"): {"f:data": {"f:b": {}}},
        ("python-urllib3", "Update"): {"f:data": {"f:a": {}}},
    }
    assert ask.apply("configmaps/c", {"data": {"a": "1", "b": "1"}}).status == 409


def test_field_removed_by_another_is_owned_no_more_and_comes_back(ask: Asker) -> None:
    ask.apply("configmaps/c", {"data": {"a": "1", "b": "1"}})
    removed = ask.merge("configmaps/c", {"data": {"a": None}}).body
    assert owners(removed) == {("turno-x", "Apply"): {"f:data": {"f:b": {}}}}

    again = ask.apply("configmaps/c", {"data": {"a": "1", "b": "1"}})

    assert (again.status, again.body["data"]) == (200, {"a": "1", "b": "1"})


def test_labels_of_others_stay(ask: Asker) -> None:
    ask.apply("configmaps/c", {"metadata": {"labels": {"ours": "1"}}})
    ask.merge("configmaps/c", {"metadata": {"labels": {"theirs": "1"}}})

    applied = ask.apply("configmaps/c", {"metadata": {"labels": {"ours": "2"}}}).body

    assert applied["metadata"]["labels"] == {"ours": "2", "theirs": "1"}


def test_last_label_takes_the_map_with_it(ask: Asker) -> None:
    ask.apply("configmaps/c", {"metadata": {"labels": {"ours": "1"}}, "data": {"a": "1"}})

    assert "labels" not in ask.apply("configmaps/c", {"data": {"a": "1"}}).body["metadata"]


def test_status_is_owned_apart_from_the_rest(ask: Asker) -> None:
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/w1/localqueues"
    ask.apply(
        f"{path}/q", {"metadata": {"name": "q"}, "spec": {"clusterQueue": "a"}, "status": {"pendingWorkloads": 9}}
    )

    patched = ask.merge(f"{path}/q/status", {"spec": {"clusterQueue": "b"}, "status": {"pendingWorkloads": 1}}).body

    assert patched["spec"]["clusterQueue"] == "a"
    assert patched["status"] == {"pendingWorkloads": 1}
    assert patched["metadata"]["generation"] == 1
    assert owners(patched) == {
        ("turno-x", "Apply"): {"f:spec": {"f:clusterQueue": {}}},
        ("python-urllib3", "Update"): {"f:status": {".": {}, "f:pendingWorkloads": {}}},
    }


def test_dry_run_of_an_apply_answers_and_stores_nothing(ask: Asker) -> None:
    ask.apply("configmaps/c", {"data": {"a": "1"}})

    answered = ask.apply("configmaps/c", {"data": {"a": "2"}}, query="&dryRun=All")

    assert answered.body["data"] == {"a": "2"}
    assert ask("GET", "configmaps/c").body["data"] == {"a": "1"}
    assert ask.apply("configmaps/new", {"data": {}}, query="&dryRun=All").status == 201
    assert ask("GET", "configmaps/new").status == 404


def test_apply_may_be_written_in_yaml(ask: Asker) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: '1'\n"

    assert ask.apply("configmaps/c", text).body["data"] == {"a": "1"}  # type: ignore[arg-type]
