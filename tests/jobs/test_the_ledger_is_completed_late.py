"""A mirror that is behind the cluster costs the ledger a moment, and nothing else."""

from __future__ import annotations

import pytest

from jobs import services
from portal.kernel.actors import Person
from quotas.models import Allocation
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("kind", ["training", "notebook"])
def test_what_the_mirror_still_held_when_a_workload_was_deleted_is_closed_when_it_learns_better(
    stage: Stage, owner: Person, kind: str
) -> None:
    row = stage.submit(owner, kind)
    stage.run(3)
    assert Allocation.objects.get(workload_id=row.pk).released_at is None
    stage.blind = True
    services.delete(owner, workload_id=row.pk, delete_data=True)
    stage.run(5)
    assert stage.reason(row) == ("deleted", "deleted")
    assert Allocation.objects.get(workload_id=row.pk).released_at is None
    stage.blind = False
    stage.run(1)
    closed = Allocation.objects.get(workload_id=row.pk)
    assert closed.released_at is not None
    assert closed.why == "deleted"
    assert not stage.now(row).quota_held
