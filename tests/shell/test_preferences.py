"""Language, appearance and zone are the reader's own."""

from __future__ import annotations

from django.test import Client

from portal.kernel.actors import Person
from tenants.models import User
from tests.factories import tenants as people


def test_a_stranger_chooses_the_language_of_the_sign_in_page(db: None) -> None:
    client = Client()
    answer = client.post("/preferences/", {"language": "es", "next": "/login/"})
    assert answer["Location"] == "/login/"
    page = client.get("/login/").content.decode()
    assert '<html lang="es"' in page
    assert "Contraseña" in page


def test_a_persons_choice_follows_them_to_another_browser(owner: Person) -> None:
    people.signed_in(owner).post("/preferences/", {"language": "es"})
    assert User.objects.get(pk=owner.id).language == "es"
    page = people.signed_in(owner).get("/", headers={"Accept-Language": "en"}).content.decode()
    assert '<html lang="es"' in page


def test_dark_is_dark_without_a_script(owner: Person) -> None:
    client = people.signed_in(owner)
    assert 'data-theme="auto"' in client.get("/").content.decode()
    client.post("/preferences/", {"theme": "dark"})
    assert 'data-theme="dark"' in client.get("/").content.decode()


def test_what_is_no_choice_changes_nothing(owner: Person) -> None:
    client = people.signed_in(owner)
    client.post("/preferences/", {"theme": "'><script>", "language": "xx", "next": "https://evil.example/"})
    page = client.get("/").content.decode()
    assert 'data-theme="auto"' in page
    assert '<html lang="en"' in page


def test_times_follow_the_browsers_zone_until_the_person_has_one(owner: Person) -> None:
    client = people.signed_in(owner)
    client.cookies["turno_zone"] = "Asia/Kolkata"
    assert "IST</time>" in client.get("/teams/data/").content.decode()
    User.objects.filter(pk=owner.id).update(time_zone="America/Mexico_City")
    assert "CST</time>" in client.get("/teams/data/").content.decode()


def test_a_zone_that_is_none_is_utc(owner: Person) -> None:
    client = people.signed_in(owner)
    client.cookies["turno_zone"] = "../../etc/passwd"
    assert "UTC</time>" in client.get("/teams/data/").content.decode()
