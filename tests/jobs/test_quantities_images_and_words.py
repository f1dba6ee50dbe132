"""Amounts, image references, variables and labels: exact, one parser each, nothing rounded or guessed."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.specs import images, quantities, words
from jobs.specs.context import PolicyFacts
from tests.jobs.requests import CONTEXT, OPEN, PREFIX, faults, judged, sentences


class TestAmounts:
    @pytest.mark.parametrize(
        ("text", "milli"),
        [("500m", 500), ("0.5", 500), (".5", 500), ("4", 4000), ("1e1", 10000), ("0.001", 1), ("1.25", 1250)],
    )
    def test_cpu(self, text: str, milli: int) -> None:
        assert quantities.millicores(text) == milli
        assert judged(cpu=text).cpu == text

    @pytest.mark.parametrize("text", ["0.0001", "4 cores", "0", "-1", "1.5m", "", "4c", "٤", "0x4", "1e", "NaN", "inf"])
    def test_cpu_that_is_none(self, text: str) -> None:
        assert set(faults(cpu=text)) == {"cpu"}

    @pytest.mark.parametrize(
        ("text", "count"),
        [("8Gi", 8 * 1024**3), ("8G", 8 * 10**9), ("1e10", 10**10), ("1.5Gi", 3 * 512 * 1024**2), ("1Mi", 1024**2)],
    )
    def test_memory(self, text: str, count: int) -> None:
        assert quantities.whole_bytes(text) == count
        assert judged(memory=text).memory == text

    @pytest.mark.parametrize("text", ["8GB", "8 Gi", "8gi", "8g", "0", "-8Gi", "8", "8000m", "Gi", "1.5.5Gi", "8Gib"])
    def test_memory_that_is_none(self, text: str) -> None:
        assert set(faults(memory=text)) == {"memory"}

    def test_a_forgotten_unit_is_said_to_be_one(self) -> None:
        assert "8 bytes" in sentences(memory="8")["memory"]
        assert "8Gi" in sentences(memory="8GB")["memory"]
        assert set(faults("notebook", storage="10")) == {"storage"}

    @pytest.mark.parametrize("value", [4, 4.0, True, None, ["4"]])
    def test_a_number_is_no_text(self, value: Any) -> None:
        assert set(faults(cpu=value, memory=value) if value is not None else faults(cpu=None, memory=None)) == {
            "cpu",
            "memory",
        }

    def test_more_than_the_queue_has_exceeds_the_maximum(self) -> None:
        assert faults(cpu="1001", memory="5Ti") == {"cpu": "exceeds_maximum", "memory": "exceeds_maximum"}
        assert faults(memory="9E") == {"memory": "exceeds_maximum"}

    @given(st.text(max_size=30))
    def test_any_text_is_an_amount_or_none(self, text: str) -> None:
        value = quantities.amount(text)
        assert value is None or value >= 0


class TestImages:
    @pytest.mark.parametrize(
        "tail", ["train", "train:v1", f"train@sha256:{'a' * 64}", f"train:v1@sha256:{'0' * 64}", "a/b_c/d-e.f:V_1.2"]
    )
    def test_allowed_references_stay_byte_for_byte(self, tail: str) -> None:
        assert judged(context=OPEN, image=PREFIX + tail).image == PREFIX + tail

    @pytest.mark.parametrize(
        ("reference", "part"),
        [
            (f"{PREFIX}train@sha256:abc", "digest"),
            ("registry.example:5000.evil.com/ml/x", "port"),
            ("user@registry.example:5000/ml/x", "registry"),
            ("[::1]:5000/ml/x", "registry"),
            ("REGISTRY.example:5000/ML/x", "registry"),
            (f"{PREFIX}ML/x", "path"),
            ("ml/train", "registry"),
            ("pytorch:latest", "registry"),
            ("registry.example:0/ml/x", "port"),
            ("registry.example:5000/ml/x:", "tag"),
            ("registry.example:5000/", "path"),
            (f"{PREFIX}x y", "characters"),
            (f"{PREFIX}ñ", "characters"),
            (f"{PREFIX}{'x' * 400}", "length"),
        ],
    )
    def test_everything_else_says_which_part(self, reference: str, part: str) -> None:
        with pytest.raises(images.BadReference) as refused:
            images.parse(reference)
        assert refused.value.part == part
        assert set(faults(context=OPEN, image=reference)) == {"image"}

    @pytest.mark.parametrize("reference", ["registry.example/ml/train", "other.example:5000/ml/x", f"{PREFIX[:-1]}2/x"])
    def test_other_registries_are_not_allowed(self, reference: str) -> None:
        assert faults(context=OPEN, image=reference) == {"image": "not_allowed"}

    def test_without_a_prefix_there_are_only_catalogue_images(self) -> None:
        assert faults(image=f"{PREFIX}train") == {"image": "not_allowed"}
        assert judged(context=OPEN).image == "pytorch"

    def test_a_policy_that_names_images_allows_these_alone(self) -> None:
        narrow = OPEN.__class__(**{**vars(CONTEXT), "policy": PolicyFacts(images=("vllm", PREFIX))})
        assert faults(context=narrow) == {"image": "not_allowed"}
        assert judged("endpoint", narrow).image == "vllm"
        assert judged(context=narrow, image=f"{PREFIX}train").image == f"{PREFIX}train"

    def test_a_catalogue_image_is_for_its_kinds(self) -> None:
        assert faults(image="vllm") == {"image": "not_allowed"}
        assert faults(image="nothing") == {"image": "invalid"}

    @given(st.text(alphabet="ab./:@[]-_A0 ", max_size=60))
    def test_whatever_is_parsed_is_put_together_again(self, text: str) -> None:
        try:
            found = images.parse(text)
        except images.BadReference:
            return
        tag, digest = f":{found.tag}" if found.tag else "", f"@{found.digest}" if found.digest else ""
        assert f"{found.host}/{found.path}{tag}{digest}" == text

    def test_a_hostile_reference_is_judged_at_once(self) -> None:
        started = time.perf_counter()
        for text in ("a." * 100_000, "a-" * 100_000 + "!", "registry.example/" + "a__" * 100_000):
            with pytest.raises(images.BadReference):
                images.parse(text)
        assert time.perf_counter() - started < 0.2


class TestEnvironment:
    GOOD = {
        "NL": "a\nb\n",
        "Q": 'it\'s "q"',
        "T": "a\tb",
        "D": "$HOME ${LIB} $(ls)",
        "E": "",
        "U": "ñ€🙂",
        "W": " lead and trail ",
        "PEM": "-----BEGIN X-----\n" + "A" * 4000,
        "TURNO_SIM_EXIT": "7",
        "TURNO_SIM_SECONDS": "3",
    }

    def test_values_stay_as_they_are(self) -> None:
        assert judged(env=self.GOOD).env == self.GOOD

    @pytest.mark.parametrize("name", ["1A", "A-B", "A B", "", "A=B", "ñ", "A.B", "x" * 256])
    def test_a_bad_name_is_named(self, name: str) -> None:
        assert set(faults(env={name: "x"})) == {f"env.{name}" if name else "env"}

    @pytest.mark.parametrize(
        "name",
        [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "NVIDIA_VISIBLE_DEVICES",
            "CUDA_VISIBLE_DEVICES",
            "KUBERNETES_SERVICE_HOST",
            "JUPYTER_TOKEN",
            "VLLM_API_KEY",
            "MASTER_ADDR",
            "PET_NNODES",
            "TURNO_TOKEN",
        ],
    )
    def test_names_of_the_platform_are_not_allowed(self, name: str) -> None:
        assert faults(env={name: "x"}) == {f"env.{name}": "not_allowed"}

    @pytest.mark.parametrize("value", [1, True, None, ["x"], {"a": "b"}])
    def test_a_value_is_text(self, value: Any) -> None:
        assert faults(env={"A": value}) == {"env.A": "invalid"}

    @pytest.mark.parametrize("value", ["/opt/x:$PATH", "${PATH}:/x", "$(PATH)"])
    def test_a_path_that_would_lose_what_it_had(self, value: str) -> None:
        assert faults(env={"PATH": value}) == {"env.PATH": "invalid"}
        assert judged(env={"OTHER": value}).env["OTHER"] == value

    @pytest.mark.parametrize("value", ["a\x00b", "\ud800"])
    def test_what_cannot_be_stored(self, value: str) -> None:
        assert faults(env={"A": value}) == {"env.A": "invalid"}

    def test_there_is_an_end_to_it(self) -> None:
        assert set(faults(env={f"A{n}": "x" for n in range(1001)})) == {"env"}
        assert set(faults(env={"A": "x" * 300_000})) == {"env"}
        assert len(judged(env={f"A{n}": "x" * 200 for n in range(1000)}).env) == 1000


class TestLabels:
    @pytest.mark.parametrize("key", ["cost", "example.com/cost", "A_b.c-d"])
    def test_the_tenants_own(self, key: str) -> None:
        assert judged(labels={key: "a-1"}).labels == {key: "a-1"}

    @pytest.mark.parametrize(
        "key",
        [
            "kueue.x-k8s.io/queue-name",
            "turno.dev/tenant",
            "x.turno.dev/y",
            "app.kubernetes.io/name",
            "pod-security.kubernetes.io/enforce",
            "k8s.io/x",
            "nvidia.com/mig.config",
            "job-name",
            "app",
        ],
    )
    def test_the_platforms_are_not_allowed(self, key: str) -> None:
        assert faults(labels={key: "x"}) == {f"labels.{key}": "not_allowed"}

    @pytest.mark.parametrize("key", ["-a", "a/", "a/b/c", "A.com/x", "x" * 64, "é"])
    def test_a_bad_key(self, key: str) -> None:
        assert faults(labels={key: "x"}) == {f"labels.{key}": "invalid"}

    @pytest.mark.parametrize("value", ["-a", "a b", "x" * 64, "é"])
    def test_a_bad_value(self, value: str) -> None:
        assert faults(labels={"cost": value}) == {"labels.cost": "invalid"}

    def test_at_most_so_many(self) -> None:
        assert set(faults(labels={f"l{n}": "x" for n in range(33)})) == {"labels"}


@pytest.mark.parametrize("text", ["a\nb\tc ñ", ""])
def test_descriptions_have_lines(text: str) -> None:
    assert judged(description=text).description == text


@pytest.mark.parametrize("text", ["a\x00", "a\x1b[31m", "x" * 2001])
def test_descriptions_have_no_control_characters(text: str) -> None:
    assert set(faults(description=text)) == {"description"}
    assert not (words.is_line(text) and len(text) <= 2000)
