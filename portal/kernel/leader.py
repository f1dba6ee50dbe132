"""Leader election by a lease row: at most one holder per office by the database's clock, no session locks."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db import IntegrityError
from django.db.models import Q
from django.db.models.functions import Now

from portal.kernel.models import LeaderLease


class Leadership:
    """One candidate for one office. `hold()` takes or renews it and says whether this candidate leads now."""

    def __init__(self, name: str, *, ttl: timedelta = timedelta(seconds=10)) -> None:
        self.name = name
        self.ttl = ttl
        self.token = uuid.uuid4()

    def hold(self) -> bool:
        row = LeaderLease.objects.filter(name=self.name)
        if row.filter(Q(token=self.token) | Q(until__lte=Now())).update(token=self.token, until=Now() + self.ttl):
            return True
        if row.exists():
            return False
        try:
            LeaderLease.objects.create(name=self.name, token=self.token, until=Now() + self.ttl)
        except IntegrityError:
            return False
        return True

    def resign(self) -> None:
        LeaderLease.objects.filter(name=self.name, token=self.token).delete()
