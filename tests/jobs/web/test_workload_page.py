"""The page of one workload: where it stands, what can be done, and who may."""

from __future__ import annotations

import re

import pytest

from jobs import services
from jobs.models import Workload
from jobs.states import Reason, State
from portal.kernel.actors import Person
from tests.conftest import FrozenClock
from tests.factories import tenants as people
from tests.factories.quotas import Lab


@pytest.fixture
def training(owner: Person, room: Lab) -> Workload:
    return _ask(owner, "training", framework="job", image="pytorch", command=["bash", "-c", "a | b"], env={"A": "<1>"})


@pytest.fixture
def endpoint(owner: Person, room: Lab) -> Workload:
    return _ask(owner, "endpoint", runtime="vllm-plain", image="vllm", model="org/model")


@pytest.fixture
def notebook(owner: Person, room: Lab) -> Workload:
    room.cluster.auth_filter = {"group": "x.example", "kind": "Auth", "name": "turno"}
    room.cluster.save()
    return _ask(owner, "notebook", ide="jupyterlab", image="jupyterlab", storage="1Gi")


def _ask(actor: Person, kind: str, **own: object) -> Workload:
    data = {"tenant": "data", "name": "tune", "flavor": "h100-1g", "gpus": 1, "cpu": "1", "memory": "1Gi"}
    return services.submit(actor, kind=kind, data={**data, **own})


def is_now(row: Workload, state: State, reason: Reason, **params: object) -> None:
    """Puts the row where a reconciler would have put it."""
    Workload.objects.filter(pk=row.pk).update(
        state=state, reason=reason, reason_params=params, changed_seq=row.changed_seq + 1
    )


def page(actor: Person, row: Workload, query: str = "") -> str:
    answer = people.signed_in(actor).get(f"/workloads/{row.pk}/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def buttons(markup: str, row: Workload) -> set[str]:
    return set(re.findall(rf'action="/workloads/{row.pk}/(\w+)/"', markup))


def test_it_says_where_it_stands_in_both_languages(owner: Person, training: Workload) -> None:
    is_now(training, State.QUEUED, Reason.WAITING_FOR_QUOTA, needed=1, resource="nvidia.com/gpu", flavor="h100")
    assert "Waiting for quota: 1 more of nvidia.com/gpu in flavor h100." in page(owner, training)
    client = people.signed_in(owner)
    client.post("/preferences/", {"language": "es"})
    spanish = client.get(f"/workloads/{training.pk}/").content.decode()
    assert "En espera de cuota: faltan 1 de nvidia.com/gpu de tipo h100." in spanish
    assert "En cola" in spanish


@pytest.mark.parametrize(
    ("state", "reason", "offered"),
    [
        (State.SUBMITTED, Reason.ACCEPTED, {"stop", "delete"}),
        (State.RUNNING, Reason.READY, {"stop", "delete"}),
        (State.STOPPING, Reason.STOP_REQUESTED, {"start", "delete"}),
        (State.STOPPED, Reason.STOPPED_BY_PERSON, {"start", "delete"}),
        (State.SUCCEEDED, Reason.COMPLETED, {"start", "delete"}),
        (State.FAILED, Reason.EXIT_CODE, {"start", "delete"}),
        (State.DELETING, Reason.DELETE_REQUESTED, set()),
    ],
)
def test_it_offers_what_the_state_allows(
    owner: Person, training: Workload, state: State, reason: Reason, offered: set[str]
) -> None:
    is_now(training, state, reason)
    assert buttons(page(owner, training), training) == offered


def test_roles_see_their_buttons_only(
    owner: Person, teammate: Person, manager: Person, viewer: Person, training: Workload
) -> None:
    found = {actor.username: buttons(page(actor, training), training) for actor in (owner, teammate, manager, viewer)}
    both = {"stop", "delete"}
    assert found == {"olga": both, "tomas": set(), "mara": both, "vera": set()}


def test_a_button_without_the_right_does_nothing(teammate: Person, outsider: Person, training: Workload) -> None:
    for action in ("stop", "start", "delete"):
        said = people.signed_in(teammate).post(f"/workloads/{training.pk}/{action}/", follow=True)
        assert b"notice-error" in said.content
        assert people.signed_in(outsider).post(f"/workloads/{training.pk}/{action}/").status_code == 404
    training.refresh_from_db()
    assert training.wanted == "run"


def test_stop_start_and_delete_lead_back_to_a_page(owner: Person, training: Workload) -> None:
    client = people.signed_in(owner)
    assert client.post(f"/workloads/{training.pk}/stop/")["Location"] == f"/workloads/{training.pk}/"
    training.refresh_from_db()
    assert training.state == State.STOPPING
    assert client.post(f"/workloads/{training.pk}/start/")["Location"] == f"/workloads/{training.pk}/"
    assert client.post(f"/workloads/{training.pk}/delete/")["Location"] == "/workloads/"
    training.refresh_from_db()
    assert training.wanted == "delete"


def test_nothing_changes_by_a_link(owner: Person, training: Workload) -> None:
    client = people.signed_in(owner)
    assert [client.get(f"/workloads/{training.pk}/{a}/").status_code for a in ("stop", "start", "delete")] == [405] * 3


def test_the_poll_answers_nothing_until_it_changed(frozen: FrozenClock, owner: Person, training: Workload) -> None:
    client = people.signed_in(owner)
    poll = re.search(r'hx-get="(/workloads/[^"]+/live/[^"]+)"', page(owner, training))
    assert poll
    assert client.get(poll[1]).status_code == 204
    is_now(training, State.RUNNING, Reason.READY)
    fragment = client.get(poll[1]).content.decode()
    assert "state-running" in fragment
    assert "<html" not in fragment


def test_what_is_over_is_not_polled(owner: Person, training: Workload) -> None:
    is_now(training, State.SUCCEEDED, Reason.COMPLETED)
    assert "/live/" not in page(owner, training)


def test_command_and_environment_are_shown_as_they_are(owner: Person, training: Workload) -> None:
    markup = page(owner, training)
    assert "bash -c &#x27;a | b&#x27;" in markup
    assert "&lt;1&gt;" in markup


def test_the_endpoint_has_an_address_and_an_example_call(owner: Person, endpoint: Workload) -> None:
    markup = page(owner, endpoint)
    assert f"/e/{endpoint.pk}/v1/chat/completions" in markup
    assert "org/model" in markup


def test_the_key_is_for_owner_and_manager(
    owner: Person, teammate: Person, manager: Person, viewer: Person, outsider: Person, endpoint: Workload
) -> None:
    def status(actor: Person) -> int:
        return people.signed_in(actor).get(f"/workloads/{endpoint.pk}/key/").status_code

    found = {actor.username: status(actor) for actor in (owner, teammate, manager, viewer, outsider)}
    assert found == {"olga": 200, "mara": 200, "tomas": 403, "vera": 403, "otto": 404}
    assert "/key/" not in page(viewer, endpoint)


def test_a_new_key_needs_a_post(owner: Person, endpoint: Workload) -> None:
    client = people.signed_in(owner)
    client.get(f"/workloads/{endpoint.pk}/key/")
    endpoint.refresh_from_db()
    before = endpoint.key_rotation
    client.post(f"/workloads/{endpoint.pk}/key/")
    endpoint.refresh_from_db()
    assert endpoint.key_rotation == before + 1


def test_a_notebooks_log_and_door_are_its_owners(owner: Person, manager: Person, notebook: Workload) -> None:
    is_now(notebook, State.RUNNING, Reason.READY)
    mine, theirs = page(owner, notebook), page(manager, notebook)
    assert f"/connect/{notebook.pk}/" in mine
    assert 'id="log-panel"' in mine
    assert f"/connect/{notebook.pk}/" not in theirs
    assert 'id="log-panel"' not in theirs
    assert people.signed_in(manager).get(f"/workloads/{notebook.pk}/log/").status_code == 403


def test_a_deleted_notebook_may_take_its_disk_along(owner: Person, notebook: Workload) -> None:
    people.signed_in(owner).post(f"/workloads/{notebook.pk}/delete/", {"delete_data": "yes"})
    notebook.refresh_from_db()
    assert notebook.delete_data


@pytest.mark.parametrize("query", ["?run=1", "?run=99", "?run=x", "?run=99999999999999999999"])
def test_the_log_of_any_run_is_a_page(owner: Person, training: Workload, query: str) -> None:
    assert 'id="log"' in page(owner, training, query)
