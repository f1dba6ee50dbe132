"""Busy minutes: three teams ask for more than there is, and Turno says of everybody who waits when it will start.

    python examples/busy_minutes.py --credentials var/demo/credentials.json

Jobs with lengths of their own for each team (log-normal, some seconds) come at odd moments for TURNO_BUSY_MINUTES
(default 5). Each one that waits is asked for its likely start once; at the end that is held against its real start. The
first minutes only make the history that forecasts rest on. What is left in the queue is removed.
"""

from __future__ import annotations

import math
import os
import random
import sys
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from turno_client import Turno, everybody

MINUTES = float(os.environ.get("TURNO_BUSY_MINUTES", "5"))
# Who asks, the median of the length in seconds and its spread, jobs a minute. Each team has one or two slices.
HABITS = (("diego", 20.0, 0.5, 5.0), ("luis", 12.0, 0.3, 4.0), ("pablo", 25.0, 0.7, 2.0))
LEARNING = 0.4  # of the time
PAUSE = 1.0
LAST_STARTS = 120.0  # seconds after the last request in which starts are still waited for


class Asked:
    """One job: when it was first seen to wait with a forecast, what that said, and when it started."""

    def __init__(self, person: Turno, name: str, seconds: float) -> None:
        self.person = person
        body = {"name": name, "tenant": person.tenant, "flavor": "h100-1g", "gpus": 1, "cpu": "1", "memory": "2Gi"}
        env = {"TURNO_SIM_SECONDS": str(max(2, round(seconds)))}
        body |= {"image": "pytorch", "framework": "job", "command": ["python", "train.py"], "env": env}
        self.path = f"/training-jobs/{person.call('POST', '/training-jobs/', body)['id']}/"
        self.told: dict[str, str] | None = None
        self.started: str | None = None

    def look(self) -> bool:
        """Whether there is more to see."""
        if self.told is None:
            explained = self.person.call("GET", f"{self.path}explain/")
            if explained["likely_start"]:
                self.told = {**explained["likely_start"], "p10": explained["forecast"]["p10"]}
        runs = self.person.call("GET", f"{self.path}runs/")["results"]
        self.started = runs[0]["admitted_at"]
        return self.started is None

    def end(self) -> None:
        self.person.call("DELETE", self.path)


def moment(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC).timestamp()


def play(people: dict[str, Turno], dice: random.Random) -> list[Asked]:
    """All that was asked, with the starts that came in time."""
    tag, began = uuid.uuid4().hex[:6], time.monotonic()
    coming = {who: dice.expovariate(often / 60) for who, _, _, often in HABITS}
    asked: list[Asked] = []
    waiting: list[Asked] = []
    while (now := time.monotonic() - began) < MINUTES * 60 + LAST_STARTS:
        for who, median, spread, often in HABITS:
            while coming[who] < min(now, MINUTES * 60):
                one = Asked(people[who], f"busy-{tag}-{len(asked)}", median * math.exp(dice.gauss(0, spread)))
                coming[who] += dice.expovariate(often / 60)
                asked.append(one)
                waiting.append(one)
        waiting = [one for one in waiting if one.look()]
        if now > MINUTES * 60 and not waiting:
            break
        time.sleep(PAUSE)
    for one in waiting:
        one.end()
    return asked


def report(asked: list[Asked]) -> dict[str, Any]:
    judged = [one for one in asked[int(len(asked) * LEARNING) :] if one.told and one.started]
    within = [one for one in judged if one.told and _within(one.told, one.started or "")]
    return {"asked": len(asked), "judged": len(judged), "within": len(within)}


def _within(told: dict[str, str], started: str) -> bool:
    """Starts are told in whole seconds, rounded down; the beginning of a band is told as now once it is over."""
    return math.floor(moment(told["p10"])) <= moment(started) <= moment(told["p90"])


def main() -> None:
    found = report(play(everybody(), random.Random(5)))  # noqa: S311 no secret
    print(f"{found['asked']} jobs; {found['judged']} forecasts judged, {found['within']} started within their band")
    if not found["judged"]:
        sys.exit("Nothing waited: the teams have more room than was thought.")


if __name__ == "__main__":
    main()
