"""The simulated notebook: a page that says what it is, with a live connection to its pod."""

from __future__ import annotations

import base64
import hmac
from html import escape

from portal.cluster.simulated.dataplane.messages import Incoming, Outgoing, as_json
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store

CHANNEL = "/api/kernels/simulated/channels"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
_SAFE = (
    ("content-security-policy", _POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
)

_STYLE = """\
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 .25rem; }
.note { border-left: .3rem solid #b45309; padding: .25rem .75rem; }
form { display: flex; gap: .5rem; flex-wrap: wrap; }
input { flex: 1 1 16rem; font: inherit; padding: .4rem .5rem; }
button { font: inherit; padding: .4rem 1rem; }
pre { overflow: auto; padding: .75rem; border: 1px solid; min-height: 6rem; white-space: pre-wrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
"""
_SCRIPT = """\
const state = document.getElementById("state");
const output = document.getElementById("output");
const scheme = location.protocol === "https:" ? "wss:" : "ws:";
const socket = new WebSocket(scheme + "//" + location.host + document.body.dataset.channel);
function show(line) { output.textContent += line + "\\n"; output.scrollTop = output.scrollHeight; }
socket.addEventListener("open", () => { state.textContent = "connected"; });
socket.addEventListener("close", (event) => {
  state.textContent = "closed" + (event.reason ? ": " + event.reason : "");
});
socket.addEventListener("message", (event) => show("Out: " + event.data));
document.getElementById("cell").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = document.getElementById("code");
  if (socket.readyState === WebSocket.OPEN && input.value) {
    show("In:  " + input.value);
    socket.send(input.value);
    input.value = "";
  }
});
"""
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="/static/notebook.css">
<script src="/static/notebook.js" defer></script>
</head>
<body data-channel="{channel}">
<main>
<h1>{title}</h1>
<p class="note">This is a simulated notebook. It runs no code: what you send comes back.</p>
<dl>
<dt>Pod</dt><dd>{pod}</dd>
<dt>Node</dt><dd>{node}</dd>
<dt>Connection</dt><dd id="state" role="status">connecting</dd>
</dl>
<form id="cell">
<label for="code">Cell</label>
<input id="code" autocomplete="off" placeholder="print(&quot;hello&quot;)">
<button type="submit">Run</button>
</form>
<h2>Output</h2>
<pre id="output" tabindex="0" aria-live="polite"></pre>
</main>
</body>
</html>
"""


def answer(store: Store, pod: Obj, route: Obj, request: Incoming) -> Outgoing:
    """One request to a ready notebook. As Jupyter does, it wants its token for everything but its version."""
    path = request.path
    if path == "/api":
        return as_json(200, {"version": "2.15.0-simulated"})
    if not is_authorized(store, [pod], request):
        return as_json(403, {"message": "Forbidden", "reason": None})
    if path == "/static/notebook.css":
        return Outgoing(200, _STYLE.encode(), "text/css; charset=utf-8", _SAFE)
    if path == "/static/notebook.js":
        return Outgoing(200, _SCRIPT.encode(), "text/javascript; charset=utf-8", _SAFE)
    if path == "/api/status":
        return as_json(200, {"connections": 0, "kernels": 0, "simulated": True})
    if path == "/api/request":
        seen = {name: value for name, value in request.headers if name != "authorization"}
        return as_json(200, {"method": request.method, "path": path, "headers": seen})
    if path in ("/", "/lab", "/lab/", "/tree"):
        return Outgoing(200, _page(pod, route).encode(), "text/html; charset=utf-8", _SAFE)
    return as_json(404, {"message": "Not found", "reason": None})


def is_authorized(store: Store, pods: list[Obj], request: Incoming) -> bool:
    """Whether the request brings the token that the pods were started with (JUPYTER_TOKEN), if they were with one."""
    for token in (_token(store, pod) for pod in pods):
        if token and not hmac.compare_digest(request.header("authorization").encode(), b"token " + token):
            return False
    return True


def _token(store: Store, pod: Obj) -> bytes:
    for variable in pod["spec"]["containers"][0].get("env") or []:
        source = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if variable["name"] == "JUPYTER_TOKEN" and source:
            secret = store.get("Secret", pod["metadata"]["namespace"], source["name"]) or {}
            return base64.b64decode((secret.get("data") or {}).get(source["key"], ""))
    return b""


def _page(pod: Obj, route: Obj) -> str:
    name = (route["metadata"].get("annotations") or {}).get("turno.dev/name") or route["metadata"]["name"]
    return _PAGE.format(
        channel=CHANNEL,
        title=f"Notebook {escape(name)}",
        pod=escape(pod["metadata"]["name"]),
        node=escape(pod["spec"].get("nodeName") or ""),
    )
