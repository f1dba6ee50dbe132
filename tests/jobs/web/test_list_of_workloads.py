"""The list and home: what my teams have, filtered, in pages, renewed without a reload, at a steady cost."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils.html import escape

from jobs import services
from jobs.models import Workload
from portal.kernel.actors import Person
from tests.conftest import FrozenClock
from tests.factories import cluster as clusters
from tests.factories import tenants as people
from tests.factories.quotas import Lab


def ask(actor: Person, name: str, **changed: object) -> Workload:
    data = {"tenant": "data", "name": name, "flavor": "h100-1g", "gpus": 1, "cpu": "1", "memory": "1Gi"}
    data |= {"image": "pytorch", "framework": "job", "command": ["true"]}
    return services.submit(actor, kind="training", data={**data, **changed})


@pytest.fixture
def visitor(owner: Person, room: Lab) -> Client:
    return people.signed_in(owner)


def text(answer) -> str:
    return answer.content.decode()


def test_an_empty_list_says_what_to_do_next(visitor: Client) -> None:
    for path in ("/workloads/", "/"):
        page = text(visitor.get(path))
        assert "Nothing here yet" in page
        assert "/new/notebook/" in page


def test_filters_narrow_the_list_and_an_empty_result_leads_back(visitor: Client, owner: Person) -> None:
    ask(owner, "alpha", description="invoices")
    ask(owner, "beta")
    assert _names(visitor, "?q=INVOICE") == ["alpha"]
    assert _names(visitor, "?q=beta&kind=training&state=submitted&tenant=data&owner=olga") == ["beta"]
    page = text(visitor.get("/workloads/?q=%25nothing"))
    assert "Nothing matches" in page
    assert 'href="/workloads/"' in page


@pytest.mark.parametrize("query", ["?kind=x&state=y", "?after=rubbish", "?q=", "?version=1"])
def test_a_filter_that_is_none_filters_nothing_away(visitor: Client, owner: Person, query: str) -> None:
    ask(owner, "alpha")
    assert _names(visitor, query) == ["alpha"]


def _names(visitor: Client, query: str) -> list[str]:
    return re.findall(r'<a href="/workloads/[0-9a-f-]{36}/">([^<]+)</a>', text(visitor.get(f"/workloads/{query}")))


def test_pages_hold_every_row_once(visitor: Client, owner: Person) -> None:
    names = {ask(owner, f"job-{n}").name for n in range(53)}
    first = text(visitor.get("/workloads/?kind=training"))
    older = re.search(r'href="(/workloads/\?[^"]*after=[^"]+)"', first)
    assert older
    assert "kind=training" in older[1]
    second = _names(visitor, older[1].removeprefix("/workloads/").replace("&amp;", "&"))
    seen = _names(visitor, "?kind=training") + second
    assert len(second) == 3
    assert len(seen) == len(set(seen))
    assert set(seen) == names


def test_a_poll_answers_nothing_until_something_changed(visitor: Client, owner: Person) -> None:
    ask(owner, "alpha")
    poll = re.search(r'hx-get="(/workloads/table/[^"]+)"', text(visitor.get("/workloads/?kind=training")))
    assert poll
    address = poll[1].replace("&amp;", "&")
    unchanged = visitor.get(address)
    assert (unchanged.status_code, unchanged.content) == (204, b"")
    ask(owner, "beta")
    changed = text(visitor.get(address))
    assert "beta" in changed
    assert "<html" not in changed


def test_page_and_poll_show_the_same_fragment(visitor: Client, owner: Person) -> None:
    ask(owner, "alpha")
    page = text(visitor.get("/workloads/"))
    fragment = text(visitor.get("/workloads/table/")).strip()
    assert _still(fragment) in _still(page)


def _still(markup: str) -> str:
    return re.sub(r"version=[^\"&]*", "version=", markup)


def test_home_shows_my_work_and_my_teams_quota(visitor: Client, owner: Person, teammate: Person, room: Lab) -> None:
    clusters.synced(room.cluster, "Node", "Workload")
    ask(owner, "mine")
    ask(teammate, "not-mine")
    page = text(visitor.get("/"))
    assert "mine</a>" in page
    assert "not-mine" not in page
    assert "Quota of Data" in page
    assert re.search(r'<meter|<svg class="meter"', page)


def test_home_poll_answers_nothing_until_something_changed(frozen: FrozenClock, visitor: Client, owner: Person) -> None:
    poll = re.search(r'hx-get="(/home/live/[^"]+)"', text(visitor.get("/")))
    assert poll
    assert visitor.get(poll[1]).status_code == 204
    ask(owner, "alpha")
    assert "alpha" in text(visitor.get(poll[1]))


def test_an_outsider_sees_nothing_of_it(outsider: Person, owner: Person, room: Lab) -> None:
    row = ask(owner, "secret-plan")
    client = people.signed_in(outsider)
    for path in ("/", "/workloads/", "/workloads/?q=secret", "/workloads/?tenant=data", "/workloads/?owner=olga"):
        assert "secret-plan</a>" not in text(client.get(path))
    assert client.get(f"/workloads/{row.pk}/").status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_rows(
    visitor: Client, owner: Person, django_assert_max_num_queries
) -> None:
    ask(owner, "first")
    with django_assert_max_num_queries(40) as few:
        visitor.get("/workloads/")
        visitor.get("/")
    for n in range(10):
        ask(owner, f"more-{n}")
    with django_assert_max_num_queries(len(few.captured_queries)):
        visitor.get("/workloads/")
        visitor.get("/")


def test_a_description_cannot_break_the_page(visitor: Client, owner: Person) -> None:
    nasty = "<script>alert(1)</script>\"'"
    row = ask(owner, "alpha", description=nasty)
    page = text(visitor.get(f"/workloads/{row.pk}/"))
    assert escape(nasty) in page
    assert "<script>alert" not in page


@pytest.mark.parametrize("where", ["/workloads/", "/"])
def test_a_poll_with_nothing_to_say_costs_next_to_nothing(
    visitor: Client, owner: Person, where: str, frozen: FrozenClock, django_assert_max_num_queries
) -> None:
    ask(owner, "alpha")
    poll = re.search(r'hx-get="([^"]+)"', text(visitor.get(where)))
    assert poll
    with django_assert_max_num_queries(6):
        assert visitor.get(poll[1].replace("&amp;", "&")).status_code == 204


def test_work_without_gpu_is_not_counted_in_gpus(visitor: Client, owner: Person) -> None:
    ask(owner, "small", flavor="cpu", gpus=0, image="python")
    page = text(visitor.get("/workloads/"))
    assert "0 × cpu" not in page
    assert ">cpu<" in page
