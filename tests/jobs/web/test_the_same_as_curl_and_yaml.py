"""The curl line and the YAML of a page stand for exactly what the form says."""

from __future__ import annotations

import json
import shlex

import yaml

from jobs.web import sameas

HARD = [
    "bash",
    "-c",
    "a | b > c 2>&1; echo 'single' \"double\" # x: y\t\\",
    '{"rope": {"factor": 2.0}}',
    "a",
    "b c",
    "",
    "line\nbreak",
    "ñ€🙂",
    "x" * 400,
]


def test_a_shell_reads_the_curl_line_as_the_same_request() -> None:
    body = {"tenant": "data", "name": "a", "args": HARD, "env": {"Q": "it's $HOME"}}
    words = shlex.split(sameas.curl("http://127.0.0.1:8000/api/v1/training-jobs/", body, "key-1"))
    assert words[:2] == ["curl", "--fail-with-body"]
    assert json.loads(words[words.index("--data-raw") + 1]) == body
    assert "http://127.0.0.1:8000/api/v1/training-jobs/" in words
    assert "Idempotency-Key: key-1" in words


def test_no_token_stands_in_the_curl_line() -> None:
    assert "Bearer $TURNO_TOKEN" in sameas.curl("http://x/", {}, "k")


def test_yaml_reads_back_as_the_same_objects() -> None:
    objects = [{"kind": "Job", "spec": {"args": HARD}}, {"kind": "Service", "spec": {"port": 1, "on": "yes"}}]
    assert list(yaml.safe_load_all(sameas.as_yaml(objects))) == objects


def test_a_long_word_is_never_folded() -> None:
    line = " ".join(["word"] * 200)
    assert line in sameas.as_yaml([{"args": [line]}])


def test_the_example_call_of_an_endpoint_is_one_shell_command() -> None:
    words = shlex.split(sameas.chat("http://127.0.0.1:8002/e/1/v1", "org/model name"))
    assert words[2] == "http://127.0.0.1:8002/e/1/v1/chat/completions"
    assert json.loads(words[-1])["model"] == "org/model name"
