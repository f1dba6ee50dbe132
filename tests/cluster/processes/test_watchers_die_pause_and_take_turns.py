"""Two watchers, one leads: killed, paused and stopped, the mirror stays what the cluster says."""

from __future__ import annotations

import signal

from tests.cluster.processes.conftest import LEASE, Stand
from tests.tooling.processes import wait_until


def test_a_killed_watcher_is_followed_by_the_other_and_nothing_is_missed(stand: Stand) -> None:
    first = stand.start("watch")
    first.wait_for("watching cluster demo")
    stand.add("one")
    stand.sees({"one": ""})
    second = stand.start("watch")
    first.signal(signal.SIGKILL)
    stand.add("two")
    second.wait_for("watching cluster demo", 60 + LEASE)
    stand.sees({"one": "", "two": ""})


def test_a_watcher_that_was_paused_writes_nothing_old_when_it_comes_back(stand: Stand) -> None:
    first = stand.start("watch")
    first.wait_for("watching cluster demo")
    stand.add("a")
    stand.sees({"a": ""})
    stand.pause(first)
    stand.annotate("a", "while it was paused")
    second = stand.start("watch")
    stand.sees({"a": "while it was paused"}, 60 + LEASE)
    stand.annotate("a", "newest")
    stand.sees({"a": "newest"})
    first.signal(signal.SIGCONT)
    first.wait_for("another watcher leads")
    stand.annotate("a", "after")
    stand.sees({"a": "after"})
    assert second.process.poll() is None


def test_a_stopped_watcher_ends_soon_and_leaves_the_office_free(stand: Stand) -> None:
    first = stand.start("watch")
    first.wait_for("watching cluster demo")
    stand.sees({})
    first.signal(signal.SIGTERM)
    assert first.wait(20) == 0
    assert stand.rows("select * from kernel_leaderlease") == []


def test_a_server_that_goes_and_comes_back_is_told_on_the_clusters_row(stand: Stand) -> None:
    stand.start("watch").wait_for("watching cluster demo")
    wait_until(lambda: stand.rows("select 1 from cluster_mirrorstream where kind = 'Node' and synced_at"), "synced")

    def away() -> list[tuple[object, ...]]:
        return stand.rows("select unreachable_since, unreachable_reason from cluster_cluster where unreachable_since")

    assert away() == []
    stand.proxy.refuse()
    wait_until(away, "unreachable")
    assert "refused" in str(away()[0][1])
    stand.proxy.accept()
    wait_until(lambda: not away(), "reachable again")
    stand.add("later")
    stand.sees({"later": ""})
