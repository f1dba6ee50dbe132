"""A team's policy names images that there are."""

from __future__ import annotations

import pytest

from portal.kernel.actors import Person
from portal.kernel.errors import Denied, Invalid, NotFound
from quotas import services
from quotas.models import Image
from tenants.models import Policy, Tenant
from tests.factories.quotas import Lab

pytestmark = pytest.mark.django_db
PREFIX = "registry.example:5000/ml/"


def change(actor: Person, *images: object) -> Policy:
    return services.change_policy(actor, slug="data", changes={"images": list(images)})


def test_names_of_the_catalogue_and_prefixes_are_taken(manager: Person, team: Tenant, lab: Lab) -> None:
    assert change(manager, "pytorch", PREFIX).images == ["pytorch", PREFIX]


def test_an_unknown_name_is_refused_at_its_place(manager: Person, team: Tenant, lab: Lab) -> None:
    with pytest.raises(Invalid) as refused:
        change(manager, "pytorch", "pytroch", PREFIX, "gone")
    assert [(fault.field, fault.code) for fault in refused.value.errors] == [
        ("images.1", "invalid"),
        ("images.3", "invalid"),
    ]
    assert Policy.objects.get(tenant=team).images == []


def test_a_name_that_left_the_catalogue_stays_where_it_was(manager: Person, team: Tenant, lab: Lab) -> None:
    change(manager, "python")
    Image.objects.filter(name="python").update(active=False)
    assert change(manager, "pytorch", "python").images == ["pytorch", "python"]
    change(manager, "pytorch")
    with pytest.raises(Invalid):
        change(manager, "python")


def test_who_may_not_change_it_hears_nothing_of_images(owner: Person, outsider: Person, lab: Lab) -> None:
    with pytest.raises(Denied):
        change(owner, "pytorch")
    with pytest.raises(NotFound):
        change(outsider, "pytorch")
