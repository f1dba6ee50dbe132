"""Tokens: made once, shown once, never wider than their maker, dead at once when revoked, expired or orphaned."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from portal.audit.models import AuditEvent
from portal.kernel.actors import Machine, Person, System
from portal.kernel.errors import Denied, Invalid, NotFound, Unauthenticated
from tenants import authentication, policies, selectors, services
from tenants.errors import ScopeMissing
from tenants.models import Membership, Tenant, Token, User
from tenants.roles import Permission, Role
from tests.conftest import FrozenClock
from tests.factories import tenants as people


def week(frozen: FrozenClock) -> datetime:
    return frozen.at + timedelta(days=7)


def code_of(secret: str, now: datetime) -> str:
    with pytest.raises(Unauthenticated) as refused:
        authentication.authenticate(secret, now)
    return refused.value.code


def test_a_personal_token_is_the_person_with_its_scopes(owner: Person, frozen: FrozenClock) -> None:
    row, secret = services.create_token(owner, name="laptop", scopes=["read"], expires_at=week(frozen))
    actor = authentication.authenticate(secret, frozen.at)
    assert isinstance(actor, Person)
    assert (actor.id, actor.username, actor.scopes, actor.token_id) == (owner.id, "olga", frozenset({"read"}), row.pk)


def test_only_a_digest_is_kept_and_the_audit_row_tells_no_secret(owner: Person, frozen: FrozenClock) -> None:
    row, secret = services.create_token(owner, name="laptop", scopes=["read"], expires_at=week(frozen))
    assert secret.startswith("turno_")
    assert len(secret) == len("turno_") + 43
    assert row.digest == authentication.digest(secret)
    stored = " ".join(str(value) for value in (*Token.objects.values().get().values(), *AuditEvent.objects.values()))
    assert secret not in stored
    assert secret.removeprefix("turno_") not in stored


def test_a_machines_token_has_its_role_in_its_team_and_nothing_else(
    manager: Person, team: Tenant, other_team: Tenant, frozen: FrozenClock
) -> None:
    _row, secret = services.create_token(
        manager, name="ci", scopes=["read", "write"], expires_at=week(frozen), tenant="data", role="member"
    )
    actor = authentication.authenticate(secret, frozen.at)
    assert isinstance(actor, Machine)
    assert policies.can(actor, Permission.SUBMIT, team.pk)
    assert not policies.can(actor, Permission.MEMBERS, team.pk)
    assert not policies.can(actor, Permission.READ, other_team.pk)
    assert [row.slug for row in selectors.tenants(actor)] == ["data"]


@pytest.mark.parametrize(
    "secret",
    ["", "turno_", "turno_short", "x" * 49, "turno_" + "a" * 42, "turno_" + "a" * 44, "turno_" + "ñ" * 43,
     "turno_" + "a" * 43 + "\n", "turno_" + "a" * 42 + "\u200b", '"turno_' + "a" * 43 + '"', "TURNO_" + "a" * 43],
)  # fmt: skip
def test_what_cannot_be_a_token_is_called_malformed(secret: str, db: None, frozen: FrozenClock) -> None:
    assert code_of(secret, frozen.at) == "malformed_token"


def test_an_unknown_token_is_told_apart_from_an_expired_one(owner: Person, frozen: FrozenClock) -> None:
    _, secret = services.create_token(owner, name="a", scopes=["read"], expires_at=week(frozen))
    assert code_of("turno_" + "a" * 43, frozen.at) == "unknown_token"
    assert code_of(secret, frozen.move(days=7)) == "expired_token"


def test_the_words_of_a_refusal_never_repeat_the_token(db: None, frozen: FrozenClock) -> None:
    secret = "turno_" + "b" * 43
    with pytest.raises(Unauthenticated) as refused:
        authentication.authenticate(secret, frozen.at)
    assert secret not in str(refused.value.message)


def test_a_revoked_token_is_dead_at_once(owner: Person, frozen: FrozenClock) -> None:
    row, secret = services.create_token(owner, name="a", scopes=["read"], expires_at=week(frozen))
    services.revoke_token(owner, token_id=row.pk)
    assert code_of(secret, frozen.at) == "unknown_token"
    with pytest.raises(NotFound):
        services.revoke_token(owner, token_id=row.pk)
    verbs = AuditEvent.objects.order_by("pk").values_list("verb", flat=True)
    assert list(verbs) == ["token.created", "token.revoked"]


def test_a_closed_accounts_tokens_are_dead(owner: Person, administrator: Person, frozen: FrozenClock) -> None:
    _, secret = services.create_token(owner, name="a", scopes=["read"], expires_at=week(frozen))
    services.change_user(administrator, username="olga", active=False)
    assert code_of(secret, frozen.at) == "unknown_token"
    assert authentication.person_by_id(owner.id) is None


def test_use_is_noted_at_most_once_a_minute(
    owner: Person, frozen: FrozenClock, django_assert_num_queries: Callable[[int], object]
) -> None:
    _, secret = services.create_token(owner, name="a", scopes=["read"], expires_at=week(frozen))
    authentication.authenticate(secret, frozen.at)
    first = frozen.at
    with django_assert_num_queries(1):
        authentication.authenticate(secret, frozen.move(seconds=59))
    assert Token.objects.get().last_used_at == first
    authentication.authenticate(secret, frozen.move(seconds=1))
    assert Token.objects.get().last_used_at == frozen.at


@pytest.mark.parametrize(
    ("fields", "field", "code"),
    [
        ({"name": ""}, "name", "invalid"),
        ({"name": "a\nb"}, "name", "invalid"),
        ({"scopes": []}, "scopes", "invalid"),
        ({"scopes": ["all"]}, "scopes", "invalid"),
        ({"scopes": ["read", "admin"]}, "scopes", "not_allowed"),
        ({"expires_at": datetime(2026, 12, 1, 9)}, "expires_at", "invalid"),  # noqa: DTZ001  refused for it
        ({"expires_at": datetime.fromisoformat("2026-12-01T09:00:00+00:00")}, "expires_at", "invalid"),
        ({"expires_at": datetime.fromisoformat("2027-12-03T09:00:00+00:00")}, "expires_at", "invalid"),
        ({"role": "member"}, "role", "invalid"),
        ({"tenant": "data"}, "role", "required"),
        ({"tenant": "data", "role": "boss"}, "role", "invalid"),
        ({"tenant": "vision", "role": "member"}, "tenant", "invalid"),
        ({"tenant": "nothing", "role": "member"}, "tenant", "invalid"),
        ({"tenant": "data", "role": "member", "scopes": ["admin"]}, "scopes", "not_allowed"),
    ],
)
def test_a_bad_token_is_refused_at_its_field(
    manager: Person, other_team: Tenant, frozen: FrozenClock, fields: dict[str, object], field: str, code: str
) -> None:
    good: dict[str, object] = {"name": "ci", "scopes": ["read"], "expires_at": week(frozen)}
    with pytest.raises(Invalid) as refused:
        services.create_token(manager, **{**good, **fields})
    assert [(error.field, error.code) for error in refused.value.errors] == [(field, code)]
    assert not Token.objects.exists()


def test_a_token_makes_none_that_may_more_than_itself(owner: Person, frozen: FrozenClock) -> None:
    narrow = Person(id=owner.id, username="olga", scopes=frozenset({"write"}))
    with pytest.raises(Invalid):
        services.create_token(narrow, name="wide", scopes=["read", "write"], expires_at=week(frozen))
    reading = Person(id=owner.id, username="olga", scopes=frozenset({"read"}))
    with pytest.raises(ScopeMissing):
        services.create_token(reading, name="same", scopes=["read"], expires_at=week(frozen))


def test_who_makes_no_tokens(
    viewer: Person, machine: Machine, owner: Person, outsider: Person, frozen: FrozenClock
) -> None:
    for actor in (viewer, machine, people.person(people.user("noa"))):
        with pytest.raises(Denied):
            services.create_token(actor, name="a", scopes=["read"], expires_at=week(frozen))
    with pytest.raises(Denied):
        services.create_token(owner, name="ci", scopes=["read"], expires_at=week(frozen), tenant="data", role="viewer")
    with pytest.raises(Denied):
        services.issue_personal_token(outsider, username="olga", name="a", scopes=["read"], expires_at=week(frozen))


def test_an_administrator_without_a_team_has_tokens_of_their_own(administrator: Person, frozen: FrozenClock) -> None:
    _, secret = services.create_token(administrator, name="a", scopes=["admin", "read"], expires_at=week(frozen))
    assert policies.is_administrator(authentication.authenticate(secret, frozen.at))
    _, secret = services.create_token(administrator, name="b", scopes=["read"], expires_at=week(frozen))
    assert not policies.is_administrator(authentication.authenticate(secret, frozen.at))


def test_tokens_are_seen_by_their_person_and_the_teams_managers(
    owner: Person, teammate: Person, manager: Person, outsider: Person, machine: Machine, frozen: FrozenClock
) -> None:
    row, _ = services.create_token(owner, name="laptop", scopes=["read"], expires_at=week(frozen))

    def seen(actor: Person | Machine) -> list[str]:
        return sorted(token.name for token in selectors.tokens(actor))

    assert seen(owner) == ["laptop"]
    assert seen(manager) == seen(machine) == ["ci"]
    assert seen(teammate) == seen(outsider) == []
    for actor in (teammate, manager, outsider, machine):
        with pytest.raises(NotFound):
            selectors.token(actor, row.pk)
        with pytest.raises(NotFound):
            services.revoke_token(actor, token_id=row.pk)


def test_an_administrator_ends_anybodys_token(owner: Person, administrator: Person, frozen: FrozenClock) -> None:
    row, secret = services.create_token(owner, name="a", scopes=["read"], expires_at=week(frozen))
    services.revoke_token(administrator, token_id=row.pk)
    assert code_of(secret, frozen.at) == "unknown_token"
    with pytest.raises(NotFound):
        services.revoke_token(administrator, token_id=uuid4())


def test_a_manager_who_is_none_any_more_does_not_see_the_teams_tokens(manager: Person, machine: Machine) -> None:
    Membership.objects.filter(user_id=manager.id).update(role=Role.MEMBER)
    assert list(selectors.tokens(manager)) == []


def test_turno_itself_hands_out_the_first_token(owner: Person, frozen: FrozenClock) -> None:
    _, secret = services.issue_personal_token(
        System("demo"), username="olga", name="demo", scopes=["read"], expires_at=week(frozen)
    )
    assert authentication.authenticate(secret, frozen.at).label == "olga"
    assert User.objects.get(username="olga").pk == owner.id
