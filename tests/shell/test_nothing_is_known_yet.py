"""Before the mirror was filled, and after the cluster was lost: unknown is never shown as nothing or as all free."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from jobs import selectors as jobs_seen
from jobs import services
from portal.cluster.models import Cluster, MirrorStream
from portal.kernel.actors import Person
from quotas import selectors as quotas
from tests.conftest import FrozenClock
from tests.factories import cluster as clusters
from tests.factories import jobs
from tests.factories import tenants as people
from tests.factories.quotas import Lab

pytestmark = pytest.mark.django_db
SINCE = "2026-12-01T08:48:00Z"


@pytest.fixture
def silent(room: Lab, frozen: FrozenClock) -> Lab:
    """The API server has not answered for twelve minutes, and never did before."""
    since = frozen.at - timedelta(minutes=12)
    Cluster.objects.update(unreachable_since=since, unreachable_reason="Unavailable: connection refused")
    jobs.with_gateway(room.cluster)
    return room


@pytest.fixture
def visitor(owner: Person, silent: Lab) -> Client:
    return people.signed_in(owner)


def page(visitor: Client, path: str) -> str:
    answer = visitor.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_figures_are_null_with_no_time(owner: Person, silent: Lab) -> None:
    for view in quotas.flavors(owner):
        assert (view.capacity, view.free, view.as_of) == (None, None, None)
    for row in quotas.tenant_quota(owner, "data"):
        assert (row["held"], row["borrowed"], row["lent"], row["as_of"]) == (None, None, None, None)
        assert row["nominal"] is not None, "what was granted is known"


def test_a_dry_run_promises_nothing(owner: Person, silent: Lab) -> None:
    assert services.preview(owner, kind="training", data=jobs.request()).preview is None


def test_a_workload_has_no_place_and_says_so(owner: Person, silent: Lab) -> None:
    row = jobs.submitted(owner)
    told = jobs_seen.explain(owner, row.pk)
    assert (told["position"], told["as_of"]) == (None, None)
    shown = jobs_seen.represent(jobs_seen.workload(owner, row.pk), detail=True, language="en")
    assert (shown["position"], shown["as_of"]) == (None, None)


@pytest.mark.parametrize("path", ["/", "/teams/data/"])
def test_pages_say_since_when_nothing_is_known(visitor: Client, path: str) -> None:
    text = page(visitor, path)
    assert "use not known yet" in text
    assert "Cluster demo has not answered since" in text
    assert f'datetime="{SINCE}"' in text
    assert "in use, " not in text, "no bar that reads as nothing in use"
    assert "connection refused" not in text, "an address inside is the administrators' to read"


def test_home_shows_no_number_of_free_cards(visitor: Client) -> None:
    text = page(visitor, "/")
    assert "not known" in text
    assert "The cluster has not told us yet." in text


@pytest.mark.parametrize("path", ["/queue/", "/workloads/", "/new/notebook/", "/new/training/"])
def test_every_other_page_is_there_and_promises_nothing(visitor: Client, path: str) -> None:
    text = page(visitor, path)
    assert "free now" not in text
    assert "0 of" not in text


def test_what_was_known_stays_with_its_age(owner: Person, visitor: Client, silent: Lab, frozen: FrozenClock) -> None:
    clusters.synced(silent.cluster, "Node", "Workload")
    MirrorStream.objects.update(synced_at=frozen.at - timedelta(minutes=12))
    text = page(visitor, "/").replace("\u00a0", " ")
    assert "0 of 1 in use" in text, "nothing is held: known, twelve minutes ago"
    assert "As the cluster was 12 min ago." in text
    assert "Cluster demo has not answered since" in text
    assert all(row["held"] == 0 for row in quotas.tenant_quota(owner, "data"))
