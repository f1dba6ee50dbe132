"""What machines read of a page (attributes, inputs, code to copy) is the same bytes for every reader's language."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest
from django.test import Client

from jobs import services
from portal.kernel.actors import Person
from quotas.models import Flavor, FlavorPrice, Quota
from tenants.models import Tenant
from tests.conftest import FrozenClock
from tests.factories import jobs
from tests.factories import tenants as people
from tests.factories.cluster import admitted, node, synced
from tests.factories.quotas import H100, Lab

pytestmark = pytest.mark.django_db
# Said to people: these are translated.
WORDS = frozenset(
    {
        "aria-label",
        "title",
        "placeholder",
        "alt",
        "lang",
        "hreflang",
        "content",
        "hx-confirm",
        "data-label",
        "data-copy",
        "data-copied",
    }
)
SECRETS = frozenset({"csrfmiddlewaretoken"})
# Made anew for each page; ids are of version 7.
KEY = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
COPIED = frozenset({"pre", "code", "textarea", "time", "script", "style"})
VOID = frozenset({"input", "meta", "link", "img", "br", "hr", "use"})


@dataclass
class Machine(HTMLParser):
    """Collects start tags with their attributes, and the text of what is copied."""

    found: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if name not in WORDS}
        if given.get("name") in SECRETS:
            given["value"] = ""
        if given.get("type") == "submit" or tag == "button":
            given.pop("value", None)
        given.pop("hx-headers", None)
        if given.get("name") == "language":
            given = {}  # which language it is: the one thing that differs
        self.found.append(f"<{tag} {sorted(given.items())}")
        if tag in COPIED and tag != "time":
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.inside[-1:] == [tag]:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if self.inside and data.strip():
            self.found.append(data)


def machine_places(client: Client, path: str, language: str) -> list[str]:
    answer = client.get(path, headers={"Accept-Language": language})
    assert answer.status_code == 200, path
    page = KEY.sub("a-new-key", answer.content.decode())
    reader = Machine()
    reader.feed(page)
    return reader.found


@pytest.fixture
def large(owner: Person, team: Tenant, room: Lab, frozen: FrozenClock) -> dict[str, str]:
    """Numbers above 999 and parts of a whole, wherever a page shows one. kind -> the workload's address."""
    jobs.with_gateway(room.cluster)
    node(room.cluster, "gpu-1", {"nvidia.com/gpu": "12000", "nvidia.com/mig-1g.10gb": "4000"}, labels=H100)
    synced(room.cluster, "Node", "Workload")
    admitted(room.cluster, "turno-data", "turno-h100", "nvidia.com/gpu", 1250)
    Quota.objects.filter(resource="nvidia.com/gpu").update(nominal=10_000, borrowing_limit=1500)
    Flavor.objects.update(memory_mib=81920, max_per_node=1024)
    FlavorPrice.objects.update(price_hour="2.3500")
    long = {"max_duration": 1_234_567}
    made = {
        "notebook": services.submit(
            owner, kind="notebook", data=jobs.request("notebook", storage="1500Gi", idle_timeout=86_400, **long)
        ),
        "training": services.submit(
            owner,
            kind="training",
            data=jobs.request("training", cpu="1.5", memory="1250Gi", env={"N": "1234.5"}, command=["x", "1234.5"]),
        ),
        "endpoint": services.submit(owner, kind="endpoint", data=jobs.request("endpoint", max_replicas=1)),
    }
    return {kind: f"/workloads/{row.pk}/" for kind, row in made.items()}


PAGES = (
    "/",
    "/home/live/",
    "/workloads/",
    "/workloads/table/",
    "/queue/",
    "/teams/data/",
    "/tokens/",
    "/new/notebook/",
    "/new/training/",
    "/new/endpoint/",
    "notebook",
    "training",
    "endpoint",
)


@pytest.mark.parametrize("place", PAGES)
def test_spanish_pages_have_the_same_machine_places(owner: Person, large: dict[str, str], place: str) -> None:
    client = people.signed_in(owner)
    path = large.get(place, place)
    english = machine_places(client, path, "en")
    assert len(english) > 10
    for language in ("es", "es-MX"):
        assert machine_places(client, path, language) == english


def test_the_bar_of_an_eighth_is_an_eighth_everywhere(owner: Person, large: dict[str, str]) -> None:
    client = people.signed_in(owner)
    for language in ("en", "es", "es-MX"):
        page = client.get("/", headers={"Accept-Language": language}).content.decode()
        assert 'width="125"' in page


def test_what_was_typed_comes_back_as_it_was(owner: Person, room: Lab) -> None:
    client = people.signed_in(owner)
    typed = {
        "name": "No Name",
        "tenant": "data",
        "cpu": "1.5",
        "memory": "1250Gi",
        "max_duration": "1234567",
        "gpus": "1",
    }
    for language in ("en", "es", "es-MX"):
        page = client.post("/new/training/", typed, headers={"Accept-Language": language}).content.decode()
        for value in ("1.5", "1250Gi", "1234567"):
            assert f'value="{value}"' in page, (language, value)


def test_answers_of_the_api_are_the_same(owner: Person, large: dict[str, str]) -> None:
    client, headers = Client(), people.bearer(owner)
    for path in ("/flavors/", "/flavors/h100/", "/tenants/data/quota/", "/me/"):
        said = [
            client.get(f"/api/v1{path}", headers={**headers, "Accept-Language": lang}).content for lang in ("en", "es")
        ]
        assert said[0] == said[1], path
