"""Leader leases: one holder per office, taken over when it runs out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from portal.kernel.leader import Leadership
from portal.kernel.models import LeaderLease

pytestmark = pytest.mark.django_db


def test_only_one_candidate_leads_and_may_renew() -> None:
    first, second = Leadership("watch:demo"), Leadership("watch:demo")
    assert first.hold()
    assert not second.hold()
    assert first.hold()


def test_offices_are_independent() -> None:
    assert Leadership("watch:a").hold()
    assert Leadership("watch:b").hold()


def test_a_silent_leader_is_replaced_and_does_not_come_back_by_itself() -> None:
    first, second = Leadership("watch:demo"), Leadership("watch:demo")
    first.hold()
    LeaderLease.objects.update(until=Now() - timedelta(seconds=1))
    assert second.hold()
    assert not first.hold()


def test_a_leader_that_resigns_leaves_the_office_free() -> None:
    first, second = Leadership("watch:demo"), Leadership("watch:demo")
    first.hold()
    first.resign()
    assert second.hold()
