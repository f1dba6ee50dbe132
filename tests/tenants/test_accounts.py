"""Accounts are opened by administrators; people change their own password and language; guessing is slowed down."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from portal.audit.models import AuditEvent
from portal.kernel.actors import Machine, Person
from portal.kernel.errors import Denied, Invalid, NotFound, TooMany
from tenants import services
from tenants.errors import NameTaken
from tenants.models import User
from tests.conftest import FrozenClock
from tests.factories import tenants as people

GOOD = "a long enough secret"


def test_an_account_is_opened_and_audited_without_its_password(administrator: Person) -> None:
    services.create_user(administrator, username="noa", password=GOOD, language="es")
    row = User.objects.get(username="noa")
    assert row.check_password(GOOD)
    assert (row.is_superuser, row.language) == (False, "es")
    event = AuditEvent.objects.get()
    assert (event.verb, event.after) == ("user.created", {"username": "noa", "is_admin": False})


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"username": ""}, "username"),
        ({"username": "a b"}, "username"),
        ({"username": "a" * 151}, "username"),
        ({"username": "a\n"}, "username"),
        ({"password": "short"}, "password"),
        ({"password": "password123"}, "password"),
        ({"language": "fr"}, "language"),
    ],
)
def test_a_bad_account_is_refused_at_its_field(administrator: Person, fields: dict[str, str], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        services.create_user(administrator, **{"username": "noa", "password": GOOD, **fields})
    assert [error.field for error in refused.value.errors] == [field]


def test_a_username_is_taken_once(administrator: Person) -> None:
    with pytest.raises(NameTaken):
        services.create_user(administrator, username="ada", password=GOOD)


def test_nobody_else_opens_or_closes_accounts(manager: Person, machine: Machine) -> None:
    for actor in (manager, machine):
        with pytest.raises(Denied):
            services.create_user(actor, username="noa", password=GOOD)
        with pytest.raises(Denied):
            services.change_user(actor, username="mara", active=False)


def test_an_account_is_closed_and_opened_but_never_ones_own(administrator: Person, owner: Person) -> None:
    services.change_user(administrator, username="olga", active=False)
    services.change_user(administrator, username="olga", active=False)
    services.change_user(administrator, username="olga", active=True)
    verbs = AuditEvent.objects.order_by("pk").values_list("verb", flat=True)
    assert list(verbs) == ["user.closed", "user.opened"]
    with pytest.raises(Denied):
        services.change_user(administrator, username="ada", active=False)
    with pytest.raises(NotFound):
        services.change_user(administrator, username="nobody", active=False)


def test_a_closed_accounts_session_ends(administrator: Person, owner: Person) -> None:
    browser = people.signed_in(owner)
    services.change_user(administrator, username="olga", active=False)
    assert browser.get("/api/v1/me/").status_code == 401


def test_a_person_changes_their_own_password(owner: Person) -> None:
    services.change_password(owner, password=GOOD)
    assert User.objects.get(username="olga").check_password(GOOD)
    with pytest.raises(Invalid):
        services.change_password(owner, password="1234567890")


def test_other_sessions_end_with_a_new_password(owner: Person) -> None:
    browser = people.signed_in(owner)
    assert browser.get("/api/v1/me/").status_code == 200
    services.change_password(owner, password=GOOD)
    assert browser.get("/api/v1/me/").status_code == 401


def test_a_token_is_not_enough_to_take_an_account_over(owner: Person, machine: Machine) -> None:
    row, _ = people.token(user_id=owner.id)
    by_token = Person(id=owner.id, username="olga", token_id=row.pk)
    for actor in (by_token, machine):
        with pytest.raises(Denied):
            services.change_password(actor, password=GOOD)


def test_language_and_time_zone_are_the_persons(owner: Person, machine: Machine) -> None:
    services.change_preferences(owner, language="es")
    services.change_preferences(owner, time_zone="Europe/Madrid")
    row = User.objects.get(username="olga")
    assert (row.language, row.time_zone) == ("es", "Europe/Madrid")
    for wrong in ({"language": "fr"}, {"time_zone": "Mars/Olympus"}):
        with pytest.raises(Invalid):
            services.change_preferences(owner, **wrong)
    with pytest.raises(Denied):
        services.change_preferences(machine, language="es")


def test_guessing_one_name_is_stopped_and_goes_on_later(db: None, settings: Settings, frozen: FrozenClock) -> None:
    settings.RATE_LIMITS = True
    for number in range(10):
        services.count_sign_in(username="Olga", address=f"192.0.2.{number}")
    with pytest.raises(TooMany) as refused:
        services.count_sign_in(username="olga", address="192.0.2.99")
    assert 0 < refused.value.retry_after <= 300
    services.count_sign_in(username="tomas", address="192.0.2.99")
    frozen.move(minutes=5)
    services.count_sign_in(username="olga", address="192.0.2.99")


def test_guessing_many_names_from_one_address_is_stopped(db: None, settings: Settings, frozen: FrozenClock) -> None:
    settings.RATE_LIMITS = True
    for number in range(50):
        services.count_sign_in(username=f"person{number}", address="192.0.2.1")
    with pytest.raises(TooMany):
        services.count_sign_in(username="another", address="192.0.2.1")
    services.count_sign_in(username="another", address="192.0.2.2")


def test_very_long_names_are_counted_too(db: None, settings: Settings, frozen: FrozenClock) -> None:
    settings.RATE_LIMITS = True
    for _ in range(10):
        services.count_sign_in(username="ß" * 5000, address="192.0.2.1")
    with pytest.raises(TooMany):
        services.count_sign_in(username="ß" * 5000, address="192.0.2.1")


def test_the_demo_counts_nothing(db: None, settings: Settings) -> None:
    settings.RATE_LIMITS = False
    for _ in range(60):
        services.count_sign_in(username="olga", address="192.0.2.1")
