"""Teams, members, policy, tokens and audit over REST."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.django_db


def test_an_administrator_opens_a_team_and_others_may_not(rest, administrator, manager) -> None:
    body = {"slug": "vision", "name": "Vision"}
    assert rest(manager).post("/tenants/", body).status_code == 403
    api = rest(administrator, scopes=("read", "write", "admin"))
    answer = api.post("/tenants/", body)
    assert answer.status_code == 201
    assert {k: answer.json()[k] for k in ("slug", "name", "state", "cohort")} == {
        **body,
        "state": "active",
        "cohort": None,
    }
    assert answer.json()["created_at"].endswith("Z")
    again = api.post("/tenants/", body)
    assert again.status_code in (409, 422)


@pytest.mark.parametrize("slug", ["", "A", "-a", "a-", "1a", "ñ", "a" * 41, "kube_x", "a.b"])
def test_slugs_that_no_namespace_could_have_are_422(rest, administrator, slug) -> None:
    api = rest(administrator, scopes=("read", "write", "admin"))
    answer = api.post("/tenants/", {"slug": slug, "name": "x"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "slug"


def test_a_manager_keeps_the_members(rest, manager, owner, outsider) -> None:
    api = rest(manager)
    assert api.post("/tenants/data/members/", {"username": "otto", "role": "viewer"}).status_code == 201
    assert api.patch("/tenants/data/members/otto/", {"role": "member"}).json()["role"] == "member"
    listed = {row["username"]: row["role"] for row in api.get("/tenants/data/members/").json()["results"]}
    assert listed["otto"] == "member"
    assert api.delete("/tenants/data/members/otto/").status_code == 204
    assert rest(owner).post("/tenants/data/members/", {"username": "otto", "role": "viewer"}).status_code == 403


def test_the_last_manager_cannot_go(rest, manager) -> None:
    api = rest(manager)
    answer = api.delete("/tenants/data/members/mara/")
    assert (answer.status_code, answer.json()["code"]) == (409, "last_manager")
    assert api.patch("/tenants/data/members/mara/", {"role": "viewer"}).status_code == 409


def test_policy_is_read_by_the_team_and_changed_by_its_managers(rest, manager, owner) -> None:
    assert set(rest(owner).get("/tenants/data/policy/").json()) == {
        "images",
        "default_max_duration",
        "longest_max_duration",
        "idle_timeout",
        "max_live",
        "egress",
    }
    assert rest(manager).patch("/tenants/data/policy/", {"max_live": 3}).json()["max_live"] == 3
    assert rest(owner).patch("/tenants/data/policy/", {"max_live": 9}).status_code == 403
    assert rest(manager).patch("/tenants/data/policy/", {"max_live": "3"}).status_code == 422
    assert rest(manager).patch("/tenants/data/policy/", {"max_live": True}).status_code == 422


def test_a_machines_token_is_made_by_a_manager_and_acts_in_its_team_alone(rest, manager, owner, frozen) -> None:
    body = {
        "name": "ci",
        "scopes": ["read", "write"],
        "expires_at": "2027-01-01T00:00:00Z",
        "tenant": "data",
        "role": "member",
    }
    assert rest(owner).post("/tokens/", body).status_code == 403
    made = rest(manager).post("/tokens/", body).json()
    assert (made["tenant"], made["role"]) == ("data", "member")
    ci = rest(None)
    ci.headers = {"Authorization": f"Bearer {made['token']}"}
    assert [t["slug"] for t in ci.get("/me/").json()["tenants"]] == ["data"]
    assert rest(manager).delete(f"/tokens/{made['id']}/").status_code == 204
    assert ci.get("/me/").status_code == 401


def test_audit_is_for_managers_of_their_team_and_administrators(rest, manager, owner, administrator, outsider) -> None:
    rest(manager).patch("/tenants/data/policy/", {"max_live": 3})
    rows = rest(manager).get("/audit/").json()["results"]
    assert rows
    assert rows[0]["actor"] == {"type": "person", "name": "mara"}
    assert rows[0]["tenant"] == "data"
    assert rows[0]["request_id"]
    assert rest(owner).get("/audit/").json()["results"] == []
    assert rest(outsider).get("/audit/").json()["results"] == []
    assert rest(administrator, scopes=("read", "write", "admin")).get("/audit/").status_code == 200


def test_a_policy_with_an_image_that_there_is_not_is_refused_at_its_place(rest, manager, lab) -> None:
    refused = rest(manager).patch("/tenants/data/policy/", {"images": ["pytorch", "pytroch"]})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "images.1")
    assert rest(manager).patch("/tenants/data/policy/", {"images": [7, "a b"]}).status_code == 422
    assert rest(manager).patch("/tenants/data/policy/", {"images": ["pytorch"]}).json()["images"] == ["pytorch"]


def test_a_suspended_team_reads_stops_and_starts_nothing(rest, owner, machine, administrator, room, job) -> None:
    mine = rest(owner)
    made = mine.post("/training-jobs/", job).json()["id"]
    api = rest(administrator, scopes=("read", "write", "admin"))
    assert api.patch("/tenants/data/", {"state": "suspended"}).status_code == 200
    for caller in (mine, rest(machine)):
        refused = caller.post("/training-jobs/", {**job, "name": "another"})
        assert (refused.status_code, refused.json()["code"]) == (403, "tenant_suspended")
        for path in (
            "/me/",
            "/workloads/",
            f"/training-jobs/{made}/",
            f"/training-jobs/{made}/logs/",
            "/tenants/data/",
        ):
            assert caller.get(path).status_code == 200, path
    assert mine.post(f"/training-jobs/{made}/stop/").status_code == 202
    assert api.patch("/tenants/data/", {"state": "active"}).status_code == 200
    assert mine.post("/training-jobs/", {**job, "name": "another"}).status_code == 201
