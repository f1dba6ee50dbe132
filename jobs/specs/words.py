"""Names, labels and environment variables: what may be typed, and what is the platform's own."""

from __future__ import annotations

import re

NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
_LABEL_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_LABEL_PREFIX = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*")
_RESERVED_DOMAINS = ("kubernetes.io", "k8s.io", "x-k8s.io", "turno.dev", "nvidia.com")
# Names without a prefix that controllers or selectors read.
_RESERVED_LABELS = frozenset({"app", "job-name", "controller-uid", "pod-template-hash", "controller-revision-hash"})

ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
_RESERVED_ENV_PREFIXES = ("NVIDIA_", "LD_", "KUBERNETES_", "PET_")
_RESERVED_ENV = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "JOB_COMPLETION_INDEX",
        "JUPYTER_TOKEN",
        "MASTER_ADDR",
        "MASTER_PORT",
        "NNODES",
        "NODE_RANK",
        "VLLM_API_KEY",
        "WORLD_SIZE",
    }
)
# The simulated cluster reads these; the rest of our prefix stays free for later.
_DEMO_ENV = frozenset({"TURNO_SIM_SECONDS", "TURNO_SIM_EXIT"})


def is_label_key(text: str) -> bool:
    """`[prefix/]name` as Kubernetes takes it."""
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= 253 and _LABEL_PREFIX.fullmatch(prefix)):
        return False
    return _LABEL_NAME.fullmatch(name) is not None


def is_reserved_label(key: str) -> bool:
    """Labels that a cluster, Kueue or Turno itself gives a meaning to."""
    prefix, slash, name = key.rpartition("/")
    if not slash:
        return name in _RESERVED_LABELS
    return any(prefix == domain or prefix.endswith(f".{domain}") for domain in _RESERVED_DOMAINS)


def is_reserved_env(name: str) -> bool:
    """Variables that choose devices, loaders or addresses: the platform sets them, nobody else."""
    if name.startswith("TURNO_"):
        return name not in _DEMO_ENV
    return name in _RESERVED_ENV or name.startswith(_RESERVED_ENV_PREFIXES)


def expands_itself(name: str, value: str) -> bool:
    """`PATH=/opt/x:$PATH`: nothing expands it, so the variable would lose what it had."""
    return re.search(rf"\$(?:{name}\b|\{{{name}\}}|\({name}\))", value) is not None


def is_text(value: str) -> bool:
    """Storable as it is: no NUL, no lone surrogate."""
    return "\x00" not in value and not any("\ud800" <= char <= "\udfff" for char in value)


def is_line(value: str) -> bool:
    """Text for people: line breaks and tabs are the only control characters."""
    return is_text(value) and all(char.isprintable() or char in "\n\t" for char in value)
