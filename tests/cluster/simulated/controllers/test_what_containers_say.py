"""Log lines: plausible, in time, said once, whatever happens to the process."""

from __future__ import annotations

import pytest

from portal.cluster.simulated.controllers.output import model_name
from portal.cluster.simulated.objects import Obj
from tests.cluster.simulated.controllers.conftest import Cluster, job
from tests.cluster.simulated.controllers.test_sets_of_pods_without_kueue import owner


def test_a_training_writes_as_time_passes(cluster: Cluster) -> None:
    cluster.store.create(job("train", gpus=2, env={"TURNO_SIM_SECONDS": "60"}))
    cluster.run(2)
    few = cluster.said(cluster.pods()[0])
    assert few[0] == "[rank 0] start: 2 GPU(s) on gpu-1"
    cluster.run(30)
    more = cluster.said(cluster.pods()[0])
    assert more[: len(few)] == few
    assert 5 < len(more) < 20
    losses = [float(line.split("loss ")[1].split()[0]) for line in more if "loss" in line]
    assert losses == sorted(losses, reverse=True)


def test_lines_carry_the_time_at_which_they_were_due(cluster: Cluster) -> None:
    cluster.store.create(job("train"))
    cluster.run(10)
    pod = cluster.pods()[0]
    lines, _ = cluster.logs.read(pod["metadata"]["uid"], "main", 0)
    moments = [line.time for line in lines]
    assert moments == sorted(moments)
    assert moments[0] < moments[-1] <= cluster.now


def test_each_rank_of_an_indexed_job_names_itself(cluster: Cluster) -> None:
    cluster.store.create(job("multi", completionMode="Indexed", parallelism=2, completions=2))
    cluster.run(3)
    assert sorted(cluster.said(pod)[0][:8] for pod in cluster.pods()) == ["[rank 0]", "[rank 1]"]


def test_a_training_without_end_does_not_write_without_end(cluster: Cluster) -> None:
    cluster.store.create(owner("Deployment", "forever"))
    cluster.run(3600)
    assert len(cluster.said(cluster.pods()[0])) < 100


def test_a_pod_that_is_stopped_says_goodbye(cluster: Cluster) -> None:
    cluster.store.create(job("train"))
    cluster.run(3)
    pod = cluster.pods()[0]
    uid = pod["metadata"]["uid"]
    cluster.store.mutate(
        "Pod", "team-a", pod["metadata"]["name"], lambda found: found["metadata"].update(finalizers=["x"])
    )
    cluster.store.delete("Job", "team-a", "train")
    cluster.run(2)
    lines, _ = cluster.logs.read(uid, "main", 0)
    assert lines[-1].text == b"received SIGTERM, stopping\n"
    assert cluster.logs.ended(uid, "main", 0)


def test_the_logs_of_a_pod_that_is_gone_are_gone(cluster: Cluster) -> None:
    cluster.store.create(job("train"))
    cluster.run(3)
    uid = cluster.pods()[0]["metadata"]["uid"]
    cluster.store.delete("Job", "team-a", "train")
    cluster.run(3)
    assert not cluster.logs.has(uid, "main", 0)


@pytest.mark.parametrize(
    ("command", "args", "model"),
    [
        (["vllm", "serve"], ["org/model", "--port", "8000"], "org/model"),
        (["vllm", "serve", "org/other"], [], "org/other"),
        ([], ["--model", "org/model"], "org/model"),
        ([], ["--model=org/model", "--served-model-name", "nice"], "nice"),
        ([], ["--port", "8000"], "model"),
        ([], [], "model"),
    ],
)
def test_the_name_of_the_model_that_is_served(command: list[str], args: list[str], model: str) -> None:
    pod: Obj = {"spec": {"containers": [{"name": "main", "command": command, "args": args}]}}
    assert model_name(pod) == model
