"""What the containers of the simulation write: a training loop, a Jupyter server, a vLLM server."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from portal.admission.quantities import pod_requests
from portal.cluster.simulated.controllers.behaviour import Behaviour, Ending, role_of
from portal.cluster.simulated.objects import Obj
from portal.gpus import is_gpu_resource

_STEPS, _LONGEST_PAUSE = 20, 60.0
_SAVED_EVERY = 5  # steps


@dataclass(frozen=True)
class Said:
    """One line, so many nominal seconds after the container's start."""

    after: float
    text: str


def script(pod: Obj, behaviour: Behaviour) -> Iterator[Said]:
    """Everything a container says, in order of time; endless for a training that runs until it is stopped."""
    role = role_of(pod)
    if role == "notebook":
        yield from _notebook(pod)
    elif role == "endpoint":
        yield from _endpoint(pod)
    else:
        yield from _training(pod, behaviour)


def last_words(ending: Ending) -> list[str]:
    """What a container writes when it ends by itself."""
    if ending.evicted:
        return []
    if ending.reason == "OOMKilled":
        return ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "Killed"]
    if ending.code == 0:
        return ["Training finished; model saved to output/final.safetensors"]
    return ["Traceback (most recent call last):", f"SystemExit: {ending.code}"]


def _gpus(pod: Obj) -> int:
    return sum(amount for name, amount in pod_requests(pod["spec"]).items() if is_gpu_resource(name))


def _training(pod: Obj, behaviour: Behaviour) -> Iterator[Said]:
    rank = (pod["metadata"].get("labels") or {}).get("batch.kubernetes.io/job-completion-index", "0")
    yield Said(0.0, f"[rank {rank}] start: {_gpus(pod)} GPU(s) on {pod['spec'].get('nodeName', 'this node')}")
    length = behaviour.seconds if behaviour.seconds is not None else _STEPS * _LONGEST_PAUSE
    pause = min(max(length / (_STEPS + 1), 0.05), _LONGEST_PAUSE)
    step = 0
    while behaviour.seconds is None or (step + 1) * pause < behaviour.seconds:
        step += 1
        loss = 0.31 + 2.2 * math.exp(-step / 9)
        yield Said(step * pause, f"[rank {rank}] step {step * 50:5d}  loss {loss:.4f}  lr 3.0e-05")
        if step % _SAVED_EVERY == 0 and rank == "0":
            yield Said(step * pause, f"turno: checkpoint after step {step * 50}")


def _notebook(pod: Obj) -> Iterator[Said]:
    name = pod["metadata"]["name"]
    yield Said(0.0, "[I ServerApp] Package jupyterlab took 0.0021s to import")
    yield Said(0.4, "[I ServerApp] jupyterlab | extension was successfully loaded.")
    yield Said(0.8, "[I ServerApp] Serving notebooks from local directory: /home/jovyan")
    yield Said(0.9, f"[I ServerApp] Jupyter Server 2.15 is running at: http://{name}:8888/lab")
    yield Said(1.0, "[I ServerApp] Use Control-C to stop this server and shut down all kernels.")


def _endpoint(pod: Obj) -> Iterator[Said]:
    model = model_name(pod)
    yield Said(0.0, f"INFO api_server.py] vLLM API server, model {model}, tensor_parallel_size {max(_gpus(pod), 1)}")
    yield Said(1.0, f"INFO gpu_model_runner.py] Starting to load model {model}...")
    yield Said(2.5, "INFO gpu_model_runner.py] Model loading took 14.9 GiB and 1.5 seconds")
    yield Said(3.2, "INFO kv_cache_utils.py] GPU KV cache size: 412,304 tokens")
    yield Said(3.8, "INFO core.py] init engine (profile, create kv cache, warmup model) took 1.3 seconds")
    yield Said(4.0, "INFO api_server.py] Started server process; Application startup complete.")


def model_name(pod: Obj) -> str:
    """The model a vLLM container serves: `--served-model-name`, else `--model`, else the first plain argument."""
    words: list[str] = []
    for container in pod["spec"].get("containers") or []:
        words.extend([*(container.get("command") or ()), *(container.get("args") or ())])
    for option in ("--served-model-name", "--model"):
        for word, following in pairwise([*words, ""]):
            if word == option and following:
                return str(following)
            if word.startswith(f"{option}="):
                return str(word.partition("=")[2])
    if "serve" in words[:-1]:
        return words[words.index("serve") + 1]
    arguments = pod["spec"]["containers"][0].get("args") or [""]
    return "model" if arguments[0].startswith("-") else arguments[0] or "model"
