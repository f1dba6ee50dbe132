"""`examples/run_job.py` in a pipeline: queued is an ordinary answer, the same build is the same job, 7 is 7."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.tooling.processes import ROOT, wait_until

sys.path.insert(0, str(ROOT / "examples"))
from turno_client import Turno

SCRIPT = ROOT / "examples" / "run_job.py"
WORK = {"tenant": "data", "flavor": "h100-1g", "gpus": 1, "cpu": "1", "memory": "2Gi", "image": "pytorch"}
WORK |= {"framework": "job", "command": ["python", "train.py"]}


@dataclass
class Pipeline:
    """A machine that runs one build's script; what it prints is kept."""

    turno: Turno
    folder: Path

    def job(self, name: str, env: dict[str, str], **more: Any) -> Path:
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps({**WORK, "name": name, "env": env, **more}))
        return file

    def start(self, job: Path, key: str) -> subprocess.Popen[str]:
        # As a variable of a pipeline comes: with a line break at its end.
        around = {"PATH": os.environ["PATH"], "TURNO_URL": self.turno.url, "TURNO_TOKEN": f"{self.turno.token}\n"}
        command = [sys.executable, str(SCRIPT), str(job), "--key", key]
        with (self.folder / "said").open("a") as said:
            return subprocess.Popen(command, env=around, stdout=subprocess.PIPE, stderr=said, text=True)

    def said(self) -> str:
        return (self.folder / "said").read_text()

    def named(self, name: str) -> list[dict[str, Any]]:
        return [one for one in self.turno.call("GET", f"/workloads/?q={name}")["results"] if one["name"] == name]

    def status(self, path: str) -> int:
        """What a look at this address below `/api/v1` is answered with."""
        headers = {"Authorization": f"Bearer {self.turno.token}"}
        request = urllib.request.Request(f"{self.turno.url}/api/v1{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)


@pytest.fixture
def pipeline(credentials: Path, tmp_path: Path) -> Iterator[Pipeline]:
    told = json.loads(credentials.read_text())
    user = told["users"]["luis"]
    made = Pipeline(Turno(told["url"], user["token"], user["tenant"]), tmp_path)
    yield made
    for one in made.turno.call("GET", "/workloads/?tenant=data&page_size=200")["results"]:
        made.turno.call("DELETE", one["url"].partition("/api/v1")[2])


def test_a_build_that_is_started_again_goes_on_with_its_queued_job(pipeline: Pipeline) -> None:
    build, key = f"build-{uuid.uuid4().hex[:6]}", str(uuid.uuid4())
    in_the_way = [
        pipeline.turno.call(
            "POST", "/training-jobs/", {**WORK, "name": f"{build}-{n}", "env": {"TURNO_SIM_SECONDS": "600"}}
        )
        for n in range(6)
    ]
    job = pipeline.job(build, {"TURNO_SIM_SECONDS": "3", "TURNO_SIM_EXIT": "7"}, retries=1)
    first = pipeline.start(job, key)
    wait_until(lambda: "queued: " in pipeline.said(), "the script says why the job waits")
    (waits,) = pipeline.named(build)
    for below in ("", "runs/", "logs/?tail=5", "events/", "explain/"):
        assert pipeline.status(f"/training-jobs/{waits['id']}/{below}") == 200, below
    first.kill()
    first.communicate()
    second = pipeline.start(job, key)
    wait_until(lambda: pipeline.said().count("queued: ") >= 2, "the second script goes on with it")
    for one in in_the_way:
        pipeline.turno.call("POST", f"/training-jobs/{one['id']}/stop/")
    log, _ = second.communicate(timeout=120)
    assert second.returncode == 7, pipeline.said()
    assert log.strip()
    (ended,) = pipeline.named(build)
    assert (ended["id"], ended["state"], ended["exit_code"]) == (waits["id"], "failed", 7)
    runs = pipeline.turno.call("GET", f"/training-jobs/{waits['id']}/runs/")["results"]
    assert [(run["number"], run["exit_code"]) for run in runs] in ([(1, 7), (2, 7)], [(2, 7), (1, 7)])


def test_a_new_build_makes_a_new_job_under_the_same_name(pipeline: Pipeline) -> None:
    name = f"nightly-{uuid.uuid4().hex[:6]}"
    for code in (7, 0):
        job = pipeline.job(name, {"TURNO_SIM_SECONDS": "1", "TURNO_SIM_EXIT": str(code)})
        script = pipeline.start(job, str(uuid.uuid4()))
        script.communicate(timeout=120)
        assert script.returncode == code, pipeline.said()
    assert sorted(one["state"] for one in pipeline.named(name)) == ["failed", "succeeded"]


def test_what_is_refused_is_told_and_fails_the_build(pipeline: Pipeline) -> None:
    script = pipeline.start(pipeline.job("too-much", {}, gpus=99), "k")
    script.communicate(timeout=60)
    assert script.returncode == 1
    assert "gpus" in pipeline.said()
