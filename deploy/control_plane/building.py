"""Builds the control plane's programs once per set of locks, into the person's cache folder.

A folder is named by the hash of everything that decides what comes out: the locks, this recipe, and Go's version. What
is in it under its own name is whole: each file is made beside its place and put there in one step.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.control_plane.failures import Refusal
from deploy.control_plane.toolchain import NEEDED, go

LOCKS = Path(__file__).resolve().parents[1] / "control-plane"
KUBERNETES = "v1.36.1"
_STAMP = "k8s.io/component-base/version"
_MAJOR, _MINOR = KUBERNETES[1:].split(".")[:2]
LINKED = f"-X {_STAMP}.gitVersion={KUBERNETES} -X {_STAMP}.gitMajor={_MAJOR} -X {_STAMP}.gitMinor={_MINOR}"


@dataclass(frozen=True)
class Tool:
    """One program: the folder of its lock, its package, and whether Kubernetes' version is linked into it."""

    name: str
    lock: str
    package: str
    stamped: bool = False


TOOLS = (
    Tool("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    Tool("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    Tool("kwokctl", "kwok", "sigs.k8s.io/kwok/cmd/kwokctl"),
    Tool("kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", stamped=True),
    Tool("kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", stamped=True),
    Tool("kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", stamped=True),
    Tool("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl", stamped=True),
    Tool("kueue", "kueue", "sigs.k8s.io/kueue/cmd/kueue"),
)
KUEUE_OBJECTS, GATEWAY_CRDS = "kueue-objects.yaml", "gateway-crds.yaml"
GATEWAY_KINDS = ("gatewayclasses", "gateways", "httproutes", "referencegrants")


@dataclass(frozen=True)
class Built:
    """A finished folder of programs and of the objects that belong to them."""

    folder: Path

    def program(self, name: str) -> Path:
        return self.folder / "bin" / name

    @property
    def kueue_objects(self) -> Path:
        return self.folder / KUEUE_OBJECTS

    @property
    def gateway_crds(self) -> Path:
        return self.folder / GATEWAY_CRDS

    def missing(self) -> list[Tool]:
        return [tool for tool in TOOLS if not self.program(tool.name).exists()]

    @property
    def complete(self) -> bool:
        return not self.missing() and self.kueue_objects.exists() and self.gateway_crds.exists()


def cache() -> Path:
    """Where all builds of this person are."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "turno" / "control-plane"


def key() -> str:
    """The name of the build that belongs to this checkout."""
    digest = hashlib.sha256(f"go{NEEDED} {LINKED} {TOOLS}".encode())
    for lock in sorted({tool.lock for tool in TOOLS}):
        for name in ("go.mod", "go.sum"):
            digest.update((LOCKS / lock / name).read_bytes())
    return digest.hexdigest()[:16]


def build(say: Callable[[str], None]) -> Built:
    """This checkout's programs, built where they are not there yet. Refusal where that cannot be."""
    built = Built(cache() / key())
    if built.complete:
        return built
    compiler = go()
    built.program("").mkdir(parents=True, exist_ok=True)
    with _alone(built.folder, say):
        missing = built.missing()
        if missing:
            say(f"building {len(missing)} programs with {compiler}; on two cores the first time takes about 15 minutes")
        for number, tool in enumerate(missing, 1):
            began = time.monotonic()
            say(f"  {number}/{len(missing)} {tool.name} ...")
            _compile(compiler, tool, built.program(tool.name))
            say(f"  {number}/{len(missing)} {tool.name}: {time.monotonic() - began:.0f} s")
        _objects(compiler, built)
    return built


@contextmanager
def _alone(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """One builder per folder; the second waits, and finds the work done."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is building the same; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(compiler: Path, tool: Tool, target: Path) -> None:
    aside = target.with_suffix(".new")
    flags = ["-trimpath", "-ldflags", f"-s -w {LINKED}" if tool.stamped else "-s -w"]
    _go(compiler, tool.lock, "build", *flags, "-o", str(aside), tool.package)
    aside.replace(target)


def _objects(compiler: Path, built: Built) -> None:
    """Kueue's own objects, and Gateway API's kinds, from the modules that the locks name."""
    kueue = _module(compiler, "sigs.k8s.io/kueue")
    kustomize = [str(built.program("kubectl")), "kustomize", str(kueue / "config" / "default")]
    told = subprocess.run(kustomize, capture_output=True, text=True, check=False)
    if told.returncode:
        raise Refusal(f"Kueue's objects could not be put together: {told.stderr.strip()[-300:]}")
    _put(built.kueue_objects, told.stdout)
    kinds = _module(compiler, "sigs.k8s.io/gateway-api") / "config" / "crd" / "standard"
    files = [kinds / f"gateway.networking.k8s.io_{kind}.yaml" for kind in GATEWAY_KINDS]
    _put(built.gateway_crds, "---\n".join(file.read_text() for file in files))


def _module(compiler: Path, name: str) -> Path:
    """Where the module's files are; fetched where only its checksum was known."""
    _go(compiler, "kueue", "mod", "download", name)
    return Path(_go(compiler, "kueue", "list", "-m", "-f", "{{.Dir}}", name).strip())


def _put(target: Path, text: str) -> None:
    aside = target.with_suffix(".new")
    aside.write_text(text)
    aside.replace(target)


def _go(compiler: Path, lock: str, *arguments: str) -> str:
    """One call of Go in the folder of a lock; Refusal with its last words where it fails."""
    own = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off", "CGO_ENABLED": "0"}
    done = subprocess.run(
        [compiler, *arguments], cwd=LOCKS / lock, env={**os.environ, **own}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        words = "; ".join(done.stderr.strip().splitlines()[-3:])
        raise Refusal(f"go {' '.join(arguments[:2])} failed in {LOCKS / lock}: {words[-600:]}")
    return done.stdout


def forget_other_builds(kept: Built) -> None:
    """Removes the builds of other locks: each takes most of a gibibyte."""
    for folder in cache().iterdir():
        if folder != kept.folder and folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
