"""Requests of all kinds: what is required, unknown, out of range; every fault at once, at its field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.specs import Endpoint, FlavorFacts, Notebook, PolicyFacts, Training, from_json, parse, to_json
from portal.kernel.errors import Invalid
from tests.factories import jobs
from tests.jobs.requests import CONTEXT, faults, judged, sentences


@pytest.mark.parametrize(("kind", "shape"), [("notebook", Notebook), ("training", Training), ("endpoint", Endpoint)])
def test_the_plain_request_of_each_kind_is_taken_and_kept_whole(kind: str, shape: type) -> None:
    spec = judged(kind)
    assert isinstance(spec, shape)
    assert from_json(kind, to_json(spec)) == spec
    assert spec.priority == "normal"


@pytest.mark.parametrize("field", ["name", "flavor", "gpus", "cpu", "memory", "image"])
def test_what_is_required_is_asked_for(field: str) -> None:
    assert faults(**{field: None})[field] == "required"


def test_a_kinds_own_required_fields() -> None:
    assert faults("notebook", storage=None) == {"storage": "required"}
    assert faults("endpoint", model=None) == {"model": "required"}


def test_every_fault_is_told_at_once() -> None:
    assert faults(name="Nope", cpu="4 cores", memory="8GB", gpus=True, state="running") == {
        "name": "invalid",
        "cpu": "invalid",
        "memory": "invalid",
        "gpus": "invalid",
        "state": "unknown_field",
    }


@pytest.mark.parametrize("field", ["state", "owner", "id", "is_admin", "nodeSelector", "command"])
def test_fields_of_other_kinds_or_of_nobody_are_refused(field: str) -> None:
    assert faults("notebook", **{field: "x"}) == {field: "unknown_field"}


class TestName:
    @pytest.mark.parametrize("name", ["n", "n" + "x" * 62, "a-b", "a1"])
    def test_dns_labels_that_begin_with_a_letter(self, name: str) -> None:
        assert judged(name=name).name == name

    @pytest.mark.parametrize(
        "name", ["", "n" * 64, "1a", "a-", "-a", "A", "a.b", "a_b", "a b", "ñandú", "а", "a\n", "../x", "a\x00"]
    )
    def test_nothing_else(self, name: str) -> None:
        assert set(faults(name=name)) == {"name"}

    @pytest.mark.parametrize("name", [None, 1, True, [], {}])
    def test_it_is_text(self, name: Any) -> None:
        body = {**jobs.request(), "name": name}
        with pytest.raises(Invalid) as refused:
            parse("training", body, CONTEXT)
        assert [fault.field for fault in refused.value.errors] == ["name"]


class TestGpus:
    @pytest.mark.parametrize("value", [1, 1.0])
    def test_a_whole_number_is_kept_as_one(self, value: float) -> None:
        gpus = judged(gpus=value).gpus
        assert gpus == 1
        assert isinstance(gpus, int)

    @pytest.mark.parametrize("value", ["1", "1 GPU", True, -1, None, 0.5, [], {}, "0"])
    def test_everything_else_is_refused_and_nothing_rounded(self, value: Any) -> None:
        body = {**jobs.request(), "gpus": value}
        with pytest.raises(Invalid) as refused:
            parse("training", body, CONTEXT)
        assert {fault.field for fault in refused.value.errors} == {"gpus"}

    def test_a_part_of_a_card_points_to_the_teams_slices(self) -> None:
        assert "h100-1g" in sentences(flavor="h100", gpus=0.5)["gpus"]

    def test_a_huge_number_exceeds_the_maximum(self) -> None:
        assert faults(gpus=99999999999) == {"gpus": "exceeds_maximum"}
        assert faults(gpus=10**30) == {"gpus": "invalid"}

    def test_zero_is_for_flavors_without_gpu_alone(self) -> None:
        assert judged(flavor="cpu", gpus=0).gpus == 0
        assert faults(flavor="cpu", gpus=1) == {"gpus": "invalid"}
        assert faults(flavor="h100", gpus=0) == {"gpus": "invalid"}

    def test_slices_may_be_several_and_a_share_of_time_is_one(self) -> None:
        shared = FlavorFacts("h100-shared", "shared", "nvidia.com/gpu.shared", 81559, 4, 4)
        context = replace(CONTEXT, flavors={**CONTEXT.flavors, "h100-shared": shared})
        assert judged(flavor="h100-1g", gpus=2).gpus == 2
        assert judged(context=context, flavor="h100-shared", gpus=1).gpus == 1
        assert faults(context=context, flavor="h100-shared", gpus=2) == {"gpus": "invalid"}
        assert "one share" in sentences(context=context, flavor="h100-shared", gpus=2)["gpus"]

    def test_all_pods_together_count(self) -> None:
        assert judged(framework="indexed", nodes=4).units == 4
        assert faults(framework="indexed", nodes=5) == {"gpus": "exceeds_maximum"}
        assert faults("endpoint", min_replicas=5) == {"gpus": "exceeds_maximum"}

    def test_no_node_has_more_than_its_own(self) -> None:
        few = {"h100": replace(CONTEXT.flavors["h100"], max_per_node=2)}
        assert faults(context=replace(CONTEXT, flavors=few), flavor="h100", gpus=3) == {"gpus": "exceeds_maximum"}


class TestFlavorPriorityAndVariant:
    def test_an_unknown_flavor_names_those_there_are(self) -> None:
        assert "h100-1g" in sentences(flavor="a100")["flavor"]

    def test_a_managers_priority(self) -> None:
        assert faults(priority="high") == {"priority": "not_allowed"}
        assert judged(context=replace(CONTEXT, is_manager=True), priority="high").priority == "high"
        assert faults(priority="urgent") == {"priority": "invalid"}

    @pytest.mark.parametrize(
        ("kind", "field", "value"),
        [("notebook", "ide", "code-server"), ("training", "framework", "pytorch"), ("endpoint", "runtime", "vllm")],
    )
    def test_what_is_not_offered_says_why(self, kind: str, field: str, value: str) -> None:
        assert faults(kind, **{field: value}) == {field: "variant_unavailable"}
        assert sentences(kind, **{field: value}) == {field: "Not here."}
        assert faults(kind, **{field: "magic"}) == {field: "invalid"}


class TestDuration:
    def test_the_policy_gives_the_default_and_the_limit(self) -> None:
        context = replace(CONTEXT, policy=PolicyFacts(default_max_duration=60, longest_max_duration=3600))
        assert judged(context=context).max_duration == 60
        assert judged(context=context, max_duration=3600).max_duration == 3600
        assert faults(context=context, max_duration=3601) == {"max_duration": "not_allowed"}

    @pytest.mark.parametrize("value", [0, -1, "60", 1.5, True, 10**12])
    def test_whole_seconds(self, value: Any) -> None:
        assert faults(max_duration=value) == {"max_duration": "invalid"}

    def test_a_notebooks_idle_limit(self) -> None:
        context = replace(CONTEXT, policy=PolicyFacts(idle_timeout=1800))
        spec = judged("notebook", context)
        assert isinstance(spec, Notebook)
        assert spec.idle_timeout == 1800
        assert faults("notebook", context, idle_timeout=3600) == {"idle_timeout": "not_allowed"}


class TestTraining:
    def test_one_pod_has_one_node(self) -> None:
        assert faults(nodes=2) == {"nodes": "invalid"}

    def test_fewer_nodes_than_asked_at_most(self) -> None:
        assert faults(framework="indexed", nodes=2, min_nodes=3) == {"min_nodes": "invalid"}

    @pytest.mark.parametrize("value", [-1, 601, "30", True])
    def test_grace(self, value: Any) -> None:
        assert faults(grace_period=value) == {"grace_period": "invalid"}

    @pytest.mark.parametrize("path", ["checkpoints", "/a/../b", "/a\n"])
    def test_an_absolute_path(self, path: str) -> None:
        assert faults(checkpoint_path=path) == {"checkpoint_path": "invalid"}

    def test_words_stay_words(self) -> None:
        line = "a | b > c 2>&1; 'x' \"y\" # z: w \t\\" + "x" * 400
        spec = judged(command=["bash", "-c"], args=[line, "", "b c"])
        assert isinstance(spec, Training)
        assert spec.args == (line, "", "b c")

    @pytest.mark.parametrize("words", ["python train.py", [1], [None], {"a": "b"}, ["a\x00"], "", None])
    def test_a_command_is_a_list_of_texts(self, words: Any) -> None:
        body = {**jobs.request(), "command": words}
        with pytest.raises(Invalid) as refused:
            parse("training", body, CONTEXT)
        assert {fault.field.partition(".")[0] for fault in refused.value.errors} == {"command"}


class TestEndpoint:
    def test_replicas_are_fixed(self) -> None:
        spec = judged("endpoint", min_replicas=2)
        assert isinstance(spec, Endpoint)
        assert (spec.min_replicas, spec.max_replicas) == (2, 2)
        assert faults("endpoint", min_replicas=1, max_replicas=3) == {"max_replicas": "not_allowed"}
        assert faults("endpoint", min_replicas=2, max_replicas=1) == {"max_replicas": "invalid"}
        assert set(faults("endpoint", min_replicas=0)) == {"min_replicas"}
        assert faults("endpoint", scale_to_zero_after=600) == {"scale_to_zero_after": "not_allowed"}

    @pytest.mark.parametrize("flag", ["--port", "--port=9000", "--api-key", "--host=0.0.0.0"])
    def test_flags_of_the_platform_are_refused(self, flag: str) -> None:
        assert faults("endpoint", args=["--dtype", "auto", flag]) == {"args.2": "not_allowed"}

    def test_other_arguments_stay_as_they_are(self) -> None:
        args = ["--hf-overrides", '{"rope": {"factor": 2.0}}', "--served-model-name", "a", "b c", ""]
        spec = judged("endpoint", args=args)
        assert isinstance(spec, Endpoint)
        assert list(spec.args) == args

    @pytest.mark.parametrize("model", ["-x", " a", "a\n", ""])
    def test_a_model_is_no_flag(self, model: str) -> None:
        assert set(faults("endpoint", model=model)) == {"model"}


def test_sentences_are_in_the_readers_language() -> None:
    shouting = replace(CONTEXT, translate=str.upper)
    assert sentences(context=shouting, cpu="x")["cpu"].isupper()


@pytest.mark.parametrize("data", [{}, {"name": None}, {"env": 5}, {"labels": []}, {"args": {}}, {"gpus": {}}])
def test_no_shape_of_json_breaks_it(data: dict[str, Any]) -> None:
    for kind in ("notebook", "training", "endpoint"):
        with pytest.raises(Invalid):
            parse(kind, data, CONTEXT)
