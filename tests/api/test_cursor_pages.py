"""Cursor pages: no row twice, none missing; a cursor belongs to its list, its filters and its reader."""

from __future__ import annotations

from itertools import chain
from urllib.parse import urlsplit

import pytest

from jobs import services
from jobs.models import Workload

pytestmark = pytest.mark.django_db


@pytest.fixture
def many(owner, room, job) -> list[str]:
    rows = [services.submit(owner, kind="training", data={**job, "name": f"job-{n:02}"}) for n in range(35)]
    stamp = rows[0].created_at
    Workload.objects.filter(name__lt="job-15").update(created_at=stamp)
    return [str(row.pk) for row in rows]


def flat(pages) -> list[str]:
    return list(chain.from_iterable(pages))


def path_of(link: str) -> str:
    parts = urlsplit(link)
    return f"{parts.path.removeprefix('/api/v1')}?{parts.query}"


def walk(api, path: str, step: str = "next") -> list[list[str]]:
    pages = []
    while path:
        body = api.get(path).json()
        pages.append([row["id"] for row in body["results"]])
        path = path_of(body[step]) if body[step] else ""
    return pages


def test_a_walk_sees_each_row_once_in_pages_of_the_size_asked_for(rest, owner, many) -> None:
    pages = walk(rest(owner), "/workloads/?page_size=10")
    assert [len(page) for page in pages] == [10, 10, 10, 5]
    assert flat(pages) == many[::-1]


def test_the_other_order_and_the_way_back_mirror_it(rest, owner, many) -> None:
    api = rest(owner)
    assert flat(walk(api, "/workloads/?page_size=10&order=created_at")) == many
    path = "/workloads/?page_size=10"
    while True:
        body = api.get(path).json()
        if body["next"] is None:
            break
        path = path_of(body["next"])
    back = walk(api, path_of(body["previous"]), "previous")
    assert flat(reversed(back)) == many[::-1][:30]


def test_rows_made_or_deleted_during_a_walk_disturb_nobody_else(rest, owner, many, job) -> None:
    api = rest(owner)
    first = api.get("/workloads/?page_size=10").json()
    last_seen = first["results"][-1]["id"]
    services.submit(owner, kind="training", data={**job, "name": "newcomer"})
    services.delete(owner, workload_id=Workload.objects.get(pk=last_seen).pk)
    rest_of_it = flat(walk(api, path_of(first["next"])))
    assert rest_of_it == many[::-1][10:]


def test_states_that_change_during_a_walk_by_state_show_no_row_twice_and_lose_none_that_stays(
    rest, owner, many
) -> None:
    api = rest(owner)
    path = "/workloads/?page_size=10&state=submitted"
    first = api.get(path).json()
    seen = [row["id"] for row in first["results"]]
    left = many[::-1]
    gone = {seen[3], seen[-1], left[12], left[-1]}  # behind the mark, at the mark, before it, and the very last
    Workload.objects.filter(pk__in=gone).update(state="running")
    Workload.objects.filter(pk=left[14]).update(state="running")
    Workload.objects.filter(pk=left[14]).update(state="submitted")  # there and back
    after = flat(walk(api, path_of(first["next"])))
    assert after == [one for one in left[10:] if one not in gone]
    assert not set(after) & set(seen)


def test_links_keep_the_filters(rest, owner, many) -> None:
    body = rest(owner).get("/workloads/?page_size=5&kind=training&q=job").json()
    assert "kind=training" in body["next"]
    assert "q=job" in body["next"]
    assert "page_size=5" in body["next"]


def test_a_cursor_of_another_list_reader_or_order_is_400_and_says_nothing(rest, owner, teammate, many) -> None:
    cursor = path_of(rest(owner).get("/workloads/?page_size=5&kind=training").json()["next"])
    token = cursor.partition("cursor=")[2]
    wrong = [
        rest(owner).get(f"/workloads/?page_size=5&kind=notebook&cursor={token}"),
        rest(owner).get(f"/workloads/?page_size=5&kind=training&order=created_at&cursor={token}"),
        rest(owner).get(f"/training-jobs/?page_size=5&kind=training&cursor={token}"),
        rest(teammate).get(f"/workloads/?page_size=5&kind=training&cursor={token}"),
        rest(owner).get(f"/workloads/?page_size=5&kind=training&cursor={token[:-4]}"),
        rest(owner).get("/workloads/?cursor=bm90IG91cnM="),
        rest(owner).get("/workloads/?cursor="),
    ]
    assert [answer.status_code for answer in wrong] == [400] * len(wrong)
    assert all(answer.json()["code"] == "cursor" for answer in wrong)


@pytest.mark.parametrize("size", ["0", "201", "abc", "-1", "1e2", "", "٣", "9" * 40])
def test_page_sizes_outside_1_to_200_are_400(rest, owner, size) -> None:
    assert rest(owner).get(f"/workloads/?page_size={size}").status_code == 400


@pytest.mark.parametrize("query", ["state=flying", "kind=spaceship", "order=name"])
def test_filters_that_do_not_exist_are_400(rest, owner, query) -> None:
    assert rest(owner).get(f"/workloads/?{query}").status_code == 400


def test_events_come_in_order_and_can_be_paged(rest, owner, many) -> None:
    api = rest(owner)
    services.stop(owner, workload_id=Workload.objects.get(pk=many[0]).pk)
    body = api.get(f"/training-jobs/{many[0]}/events/?page_size=1").json()
    assert len(body["results"]) == 1
    later = api.get(path_of(body["next"])).json()["results"]
    assert later[0]["seq"] > body["results"][0]["seq"]


def test_a_list_makes_a_constant_number_of_queries(rest, owner, many, django_assert_max_num_queries) -> None:
    api = rest(owner)
    api.get("/workloads/?page_size=1")
    with django_assert_max_num_queries(8):
        assert len(api.get("/workloads/?page_size=35").json()["results"]) == 35
