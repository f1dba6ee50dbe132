"""A small cast for the demo's supervisor: `python -m tests.tooling.stage FOLDER PORT [SCENE]` supervises it.

`web` answers /readyz; `parent` starts a child of its own and ignores SIGTERM in the scene `deaf`; in the scene
`broken` a program that always fails stands for web; a step fails in the scene `step`. Every process carries FOLDER
in its arguments.
"""

import sys
from pathlib import Path

from deploy.demo.places import Places, Ports
from deploy.demo.preflight import Refusal
from deploy.demo.programs import Program, Stage, Step
from deploy.demo.supervisor import Supervisor, say

WEB = """
import http.server, sys
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *arguments):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Ready).serve_forever()
"""
PARENT = """
import signal, subprocess, sys, time
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", *sys.argv[1:2], "grand" + "child"])
time.sleep(600)
"""
FAIL = "import sys; sys.exit('the reason why')"


def program(name: str, code: str, *arguments: str, stage: Stage = Stage.REST) -> Program:
    return Program(name, (sys.executable, "-c", code, *arguments), stage)


def main(folder: str, port: str, scene: str = "plain") -> int:
    number = int(port)
    cast = [
        program("web", WEB, folder, port, stage=Stage.WEB),
        program("parent", PARENT, folder, scene, stage=Stage.GROUND),
    ]
    if scene == "broken":
        cast[0] = program("broken", FAIL, folder, stage=Stage.WEB)
    steps = [Step("prepare", (sys.executable, "-c", FAIL if scene == "step" else "", folder), "prepared")]
    places = Places(Path(folder))
    places.create()
    try:
        Supervisor(places, Ports(number, number, number, number), cast, steps).run()
    except Refusal as refusal:
        say(f"refused: {refusal}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
