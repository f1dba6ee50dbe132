"""The four-GPU day: one server, four cards, three teams, told through the REST API and checked step by step.

    python examples/four_gpu_day.py --credentials var/demo/credentials.json

GPU 1, 3 and 4 are whole cards, one owned by each team; GPU 2 is cut by MIG. Production lends nothing. Training may
borrow one card. Every step says what it expects; the first that does not hold ends the program. What the story starts
is removed at its end, whatever happens.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable
from typing import Any

from turno_client import Refused, Turno, Unexpected, everybody

Workload = dict[str, Any]

FREE_WITHIN = 180.0  # seconds to wait for cards that somebody else's work still holds
SOON = 60.0
TUNING_SECONDS = 15
KINDS = {"notebook": "notebooks", "training": "training-jobs", "endpoint": "endpoints"}
SUFFIX = uuid.uuid4().hex[:6]  # a second day beside this one is no conflict


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


class Day:
    """What the story started, and how it looks at the server."""

    def __init__(self, people: dict[str, Turno]) -> None:
        self.people = people
        self.started: list[tuple[Turno, str]] = []

    def ask(self, who: str, kind: str, name: str, flavor: str, **fields: Any) -> Workload:
        """`who` asks for a workload of the kind, in the own team."""
        person = self.people[who]
        body = {"name": f"{name}-{SUFFIX}", "tenant": person.tenant, "flavor": flavor, "cpu": "2", "memory": "8Gi"}
        made: Workload = person.call("POST", f"/{KINDS[kind]}/", {**body, **fields})
        self.started.append((person, f"/{KINDS[kind]}/{made['id']}/"))
        return made

    def serve(self, name: str, flavor: str, model: str) -> Workload:
        """Production puts a model behind an address of its own."""
        return self.ask(
            "diego", "endpoint", name, flavor, gpus=1, image="vllm", runtime="vllm-plain", model=model, max_replicas=1
        )

    def notebook(self, who: str) -> Workload:
        """Somebody of the data team opens a notebook on a whole card."""
        return self.ask(who, "notebook", who, "h100", gpus=1, image="jupyterlab", ide="jupyterlab", storage="10Gi")

    def tune(self, name: str, gpus: int) -> Workload:
        """The training team asks for a fine-tune on so many cards of one server."""
        env = {"TURNO_SIM_SECONDS": str(TUNING_SECONDS)}
        command = ["python", "finetune.py"]
        return self.ask(
            "pablo", "training", name, "h100", gpus=gpus, image="pytorch", framework="job", command=command, env=env
        )

    def see(self, who: str, workload: Workload) -> Workload:
        found: Workload = self.people[who].call("GET", f"/{KINDS[workload['kind']]}/{workload['id']}/")
        return found

    def stop(self, who: str, workload: Workload) -> None:
        self.people[who].call("POST", f"/{KINDS[workload['kind']]}/{workload['id']}/stop/")

    def quota(self, who: str, flavor: str = "h100") -> dict[str, Any]:
        """What the person's team owns, holds, borrows and lends of a flavor."""
        person = self.people[who]
        cells = person.call("GET", f"/tenants/{person.tenant}/quota/")
        return next(cell for cell in cells if cell["flavor"] == flavor)

    def figures(self, who: str) -> dict[str, int]:
        """What the team holds, borrows and lends of whole cards now."""
        cell = self.quota(who)
        return {key: cell[key] for key in ("held", "borrowed", "lent")}

    def free(self, flavor: str) -> int:
        found = self.people["luis"].call("GET", f"/flavors/{flavor}/")["free"]
        return -1 if found is None else int(found)

    def tidy(self) -> None:
        """Removes what the story started, newest first."""
        for person, path in reversed(self.started):
            try:
                person.call("DELETE", f"{path}?delete_data=true" if "/notebooks/" in path else path)
            except (Refused, OSError) as refusal:
                say(f"could not remove {path}: {refusal}")


def expect(what: str, *, holds: object) -> None:
    """One claim of the story."""
    if not holds:
        raise Unexpected(f"this does not hold: {what}")


def until(what: str, holds: Callable[[], bool], within: float = SOON) -> None:
    """Looks again until it holds: what the cluster says arrives a moment later."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            raise Unexpected(f"not within {within:.0f} s: {what}")
        time.sleep(0.5)


def morning(day: Day) -> Workload:
    """GPU 1 and 2: production's models."""
    diego = day.people["diego"]

    say("The server is there: three whole cards, and one cut into a 3g.40gb and four 1g.10gb.")
    enough = {"h100": 3, "h100-3g": 1, "h100-1g": 2}
    until("nobody uses the cards", lambda: all(day.free(f) >= n for f, n in enough.items()), FREE_WITHIN)

    say("Production's model takes GPU 1.")
    chat = diego.wait(day.serve("chat", "h100", "mistralai/Mistral-Small-3.2-24B"), until="running", within=SOON)
    expect("it holds its quota", holds=chat["quota_held"])
    expect("its one replica is ready", holds=chat["replicas"] == {"desired": 1, "ready": 1, "queued": 0})
    key = diego.call("GET", f"/endpoints/{chat['id']}/key/")["key"]
    expect("it answers at its address, with its key", holds=models_of(chat["endpoint_url"], key))

    say("Three small models share GPU 2, each in a slice of its own.")
    for model in (
        day.serve("embed", "h100-3g", "BAAI/bge-m3"),
        day.serve("rank", "h100-1g", "BAAI/bge-reranker-v2-m3"),
        day.serve("speech", "h100-1g", "openai/whisper-small"),
    ):
        diego.wait(model, until="running", within=SOON)
    until("they hold two small slices", lambda: day.quota("diego", "h100-1g")["held"] >= 2)
    until("and the large one", lambda: day.quota("diego", "h100-3g")["held"] == 1)
    return chat


def noon(day: Day) -> tuple[Workload, Workload, Workload]:
    """GPU 3 and 4: a notebook runs, a second one and a fine-tune wait."""
    luis, ana, pablo = day.people["luis"], day.people["ana"], day.people["pablo"]

    say("In the data team, Luis opens a notebook and gets GPU 3, the team's one whole card.")
    first = luis.wait(day.notebook("luis"), until="running", within=SOON)
    expect("he can open it in the browser", holds=first["connect_url"])

    say("Ana's notebook has to wait for it: the team owns one card and may not borrow.")
    second = day.notebook("ana")
    until("it waits for quota", lambda: day.see("ana", second)["reason"] == "waiting_for_quota")
    expect("it has a place in the queue", holds=day.see("ana", second)["position"] >= 1)
    why = ana.call("GET", f"/notebooks/{second['id']}/explain/")
    expect("what it lacks is a whole card", holds=why["blocker"]["flavor"] == "h100")

    say("A fine-tune asks for two cards. Its team owns GPU 4 and may borrow one, but none is idle: it waits too.")
    tune = day.tune("tune", gpus=2)
    until("it waits for quota", lambda: day.see("pablo", tune)["reason"] == "waiting_for_quota")
    expect("it holds nothing meanwhile", holds=not day.see("pablo", tune)["quota_held"])

    say("More than its team could ever get is refused at once.")
    expect("three cards are too many", holds=refused_as(lambda: day.tune("huge", gpus=3)) == "exceeds_maximum")
    expect("and nothing was kept of it", holds=not pablo.call("GET", f"/workloads/?q=huge-{SUFFIX}")["results"])
    return first, second, tune


def afternoon(day: Day, first: Workload, second: Workload, tune: Workload) -> None:
    """The notebooks close, one after the other."""
    say("Luis closes his notebook: the card goes to Ana, whose team owns it, and not to the fine-tune.")
    day.stop("luis", first)
    day.people["luis"].wait(first, until="finished", within=SOON)
    day.people["ana"].wait(second, until="running", within=SOON)
    expect("the fine-tune goes on waiting", holds=day.see("pablo", tune)["state"] == "queued")

    say("Ana closes hers too. The fine-tune borrows GPU 3 and runs on GPU 3 and 4.")
    day.stop("ana", second)
    day.people["pablo"].wait(tune, until="running", within=SOON)
    until("one of its cards is borrowed", lambda: day.figures("pablo") == {"held": 2, "borrowed": 1, "lent": 0})
    until("from the data team", lambda: day.figures("luis") == {"held": 0, "borrowed": 0, "lent": 1})


def evening(day: Day, chat: Workload, tune: Workload) -> None:
    """The fine-tune ends."""
    pablo = day.people["pablo"]

    say("It ends with 0, and GPU 3 is back with its owner before anyone comes.")
    ended = pablo.wait(tune, until="finished", within=SOON + TUNING_SECONDS)
    expect(ended["message"], holds=(ended["state"], ended["exit_code"]) == ("succeeded", 0))
    until("the card is back", lambda: day.figures("luis") == {"held": 0, "borrowed": 0, "lent": 0})
    until("two cards are free", lambda: day.free("h100") == 2)

    say("The ledger knows it: two cards, from when until when.")
    [run] = pablo.call("GET", f"/training-jobs/{tune['id']}/runs/")["results"]
    [held] = [row for row in run["allocations"] if row["flavor"] == "h100"]
    expect("two units", holds=held["units"] == 2)
    expect("with a beginning and an end", holds=held["admitted_at"] < held["released_at"])

    say("Production's model never noticed.")
    now = day.see("diego", chat)
    expect("it runs, and was never interrupted", holds=(now["state"], now["preemptions"]) == ("running", 0))


def refused_as(request: Callable[[], object]) -> str | None:
    """The code of the first fault, or None where the request was accepted."""
    try:
        request()
    except Refused as refusal:
        return str(refusal.problem["errors"][0]["code"])
    return None


def models_of(address: str, key: str) -> list[Any]:
    """What an OpenAI-compatible server says it serves."""
    request = urllib.request.Request(f"{address.rstrip('/')}/models", headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return list(json.load(answer)["data"])


def main() -> None:
    people = everybody()
    if "pablo" not in people:
        sys.exit("The day needs all three teams: give --credentials var/demo/credentials.json of a demo.")
    day = Day(people)
    try:
        chat = morning(day)
        first, second, tune = noon(day)
        afternoon(day, first, second, tune)
        evening(day, chat, tune)
    finally:
        day.tidy()
    say("That was the day.")


if __name__ == "__main__":
    main()
