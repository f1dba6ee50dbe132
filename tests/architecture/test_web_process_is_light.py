"""The web process never loads the cluster's client or the simulated cluster: it has no way to reach a cluster."""

import json
import subprocess
import sys

from tests.architecture.source import ROOT

LOOK = "import json, sys, portal.asgi, portal.urls; print(json.dumps(sorted(sys.modules)))"
KEPT_OUT = ("kubernetes", "portal.cluster.kube", "portal.cluster.factory", "portal.cluster.simulated")


def test_web_loads_no_cluster_client() -> None:
    answer = subprocess.run([sys.executable, "-c", LOOK], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = json.loads(answer.stdout.splitlines()[-1])
    assert "portal.urls" in loaded
    assert [name for name in loaded if name.startswith(KEPT_OUT)] == []
