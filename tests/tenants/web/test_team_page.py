"""The team's page: everybody in it sees it, managers change it, outsiders get nothing."""

from __future__ import annotations

import re

import pytest

from portal.kernel.actors import Person
from tenants.models import Membership, Token
from tests.factories import tenants as people
from tests.factories.quotas import Lab


def text(answer) -> str:
    return answer.content.decode()


def test_a_viewer_sees_members_and_quota_but_no_buttons(viewer: Person, owner: Person, room: Lab) -> None:
    page = text(people.signed_in(viewer).get("/teams/data/"))
    assert "olga" in page
    assert "h100-1g" in page
    assert "/teams/data/members/" not in page
    assert "Machine tokens" not in page


def test_an_outsider_gets_what_a_missing_team_gives(outsider: Person, owner: Person) -> None:
    client = people.signed_in(outsider)
    there, missing = client.get("/teams/data/"), client.get("/teams/nowhere/")
    assert (there.status_code, missing.status_code) == (404, 404)
    assert _main(there) == _main(missing)
    assert client.post("/teams/data/members/", {"do": "add", "username": "otto", "role": "manager"}).status_code == 404


def _main(answer) -> str:
    return re.sub(r'<code>[0-9a-f-]+</code>|value="[^"]*"', "", text(answer))


def test_a_manager_adds_changes_and_removes(manager: Person, team) -> None:
    people.user("nuria")
    client = people.signed_in(manager)

    def send(do: str, **more: str) -> str:
        return text(client.post("/teams/data/members/", {"do": do, "username": "nuria", **more}, follow=True))

    assert "nuria is in the team now." in send("add", role="member")
    assert "The role of nuria is changed." in send("change", role="viewer")
    assert Membership.objects.get(user__username="nuria").role == "viewer"
    assert "nuria is no longer in the team." in send("remove")
    assert not Membership.objects.filter(user__username="nuria").exists()


@pytest.mark.parametrize(("username", "role"), [("nobody-here", "member"), ("mara", "boss")])
def test_a_refusal_is_said_on_the_page(manager: Person, username: str, role: str) -> None:
    answer = people.signed_in(manager).post(
        "/teams/data/members/", {"do": "add", "username": username, "role": role}, follow=True
    )
    assert "notice-error" in text(answer)


def test_the_last_manager_cannot_go(manager: Person) -> None:
    answer = people.signed_in(manager).post("/teams/data/members/", {"do": "remove", "username": "mara"}, follow=True)
    assert "notice-error" in text(answer)
    assert Membership.objects.filter(user__username="mara").exists()


def test_a_member_may_see_but_not_change(owner: Person, manager: Person) -> None:
    answer = people.signed_in(owner).post("/teams/data/members/", {"do": "remove", "username": "mara"})
    assert answer.status_code == 403


def test_a_machine_token_is_shown_once_and_works_until_it_is_revoked(manager: Person) -> None:
    client = people.signed_in(manager)
    made = client.post("/tokens/", {"tenant": "data", "name": "ci", "scope": "write", "role": "member", "days": "30"})
    secret = re.search(r"turno_[\w-]{43}", text(made))
    assert secret
    headers = {"Authorization": f"Bearer {secret[0]}"}
    assert client.get("/api/v1/me/", headers=headers).status_code == 200
    page = text(client.get("/teams/data/"))
    assert secret[0] not in page
    row = Token.objects.get(name="ci")
    client.post(f"/tokens/{row.pk}/revoke/", {"next": "/teams/data/"})
    assert client.get("/api/v1/me/", headers=headers).status_code == 401


def test_personal_tokens_have_their_own_page(owner: Person) -> None:
    client = people.signed_in(owner)
    assert "No token yet" in text(client.get("/tokens/"))
    client.post("/tokens/", {"name": "laptop", "scope": "read", "days": "30"})
    page = text(client.get("/tokens/"))
    assert "laptop" in page
    assert "No token yet" not in page


def test_a_suspended_team_says_so(viewer: Person, team) -> None:
    team.state = "suspended"
    team.save()
    assert "This team is suspended" in text(people.signed_in(viewer).get("/teams/data/"))
