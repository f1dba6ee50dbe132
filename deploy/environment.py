"""Builds .venv from hashed requirements: `python3 deploy/environment.py demo|test|dev`.

Standard library only, and readable by old Pythons, so that a wrong one gets one clear line. A finished environment
is known by a stamp, the hash of the requirements and of the Python that built it, and is used as it is.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
NEEDED = (3, 11)

# Each level holds the ones before it, with the same versions.
LEVELS = {"demo": "base.txt", "test": "test.txt", "dev": "dev.txt"}


def fail(message):
    sys.exit("turno: " + message)


def check_python():
    if sys.version_info < NEEDED:
        found = ".".join(str(part) for part in sys.version_info[:3])
        fail("Python 3.11 or newer is needed and {} is {}: name another with PYTHON=...".format(sys.executable, found))


def stamp_of(level):
    """The text that a finished environment of this level carries."""
    digest = hashlib.sha256((ROOT / "requirements" / LEVELS[level]).read_bytes()).hexdigest()
    return "{}.{} {}".format(sys.version_info[0], sys.version_info[1], digest)


def is_ready(level):
    stamp = VENV / ("turno-" + level)
    return stamp.is_file() and stamp.read_text() == stamp_of(level) and works()


def works():
    """False after the checkout was moved (scripts name the old place) or the system's Python was replaced."""
    python = VENV / "bin" / "python"
    if not python.exists():
        return False
    made = [line for line in (VENV / "pyvenv.cfg").read_text().splitlines() if line.startswith("command = ")]
    if made and not made[0].endswith(" " + str(VENV)):
        return False
    question = "import sys; print('{}.{}'.format(*sys.version_info[:2]))"
    answer = subprocess.run([str(python), "-c", question], capture_output=True, text=True, check=False)
    return answer.stdout.split() == ["{}.{}".format(*sys.version_info[:2])]


def create():
    if VENV.exists():
        shutil.rmtree(VENV)
    made = subprocess.run([sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True, check=False)
    if made.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        fail("no virtual environment could be made; on Debian: apt install python3-venv")


def install(level):
    requirements = ROOT / "requirements" / LEVELS[level]
    command = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--require-hashes", "--no-compile", "--quiet"]
    command += ["--disable-pip-version-check", "--no-input", "-r", str(requirements)]
    if subprocess.run(command, check=False).returncode:
        fail("the packages of requirements/{} could not be installed (see above)".format(LEVELS[level]))


def build(level):
    print("turno: building the environment in .venv ({})".format(LEVELS[level]), flush=True)
    if not works():
        create()
    install(level)
    for name in LEVELS:
        (VENV / ("turno-" + name)).write_text(stamp_of(name))
        if name == level:
            break


def main():
    check_python()
    level = sys.argv[1]
    lock_folder = ROOT / "var"
    lock_folder.mkdir(exist_ok=True)
    with (lock_folder / "environment.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_ready(level):
            build(level)


if __name__ == "__main__":
    main()
