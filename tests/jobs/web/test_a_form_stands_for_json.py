"""What a person types becomes the JSON that a pipeline would send; nothing is judged, rounded or trimmed on the way."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from jobs.web import fields
from jobs.web.forms import ENDPOINT, FORMS, NOTEBOOK, TRAINING


def posted(**values: str | list[str]) -> QueryDict:
    query = QueryDict(mutable=True)
    for name, value in values.items():
        query.setlist(name, value if isinstance(value, list) else [value])
    return query


@pytest.mark.parametrize(
    ("typed", "json"),
    [
        ("2", 2),
        (" 2 ", 2),
        ("0", 0),
        ("-1", -1),
        ("0.5", 0.5),
        ("1.0", 1.0),
        ("1e0", 1.0),
        ("99999999999", 99999999999),
        ("1 GPU", "1 GPU"),
        ("two", "two"),
        ("007", "007"),
        ("1,5", "1,5"),
        ("NaN", "NaN"),
        ("0x10", "0x10"),
    ],
)
def test_a_number_is_one_only_where_json_would_read_it(typed: str, json: object) -> None:
    found = fields.body(NOTEBOOK.fields, posted(gpus=typed))["gpus"]
    assert (found, type(found)) == (json, type(json))


def test_quantities_stay_what_was_typed() -> None:
    found = fields.body(NOTEBOOK.fields, posted(cpu="500m", memory="8G", storage="10Gi"))
    assert found == {"cpu": "500m", "memory": "8G", "storage": "10Gi"}


def test_fields_left_empty_are_not_sent() -> None:
    assert fields.body(TRAINING.fields, posted(name="", retries="", description="  ")) == {}


@pytest.mark.parametrize(
    ("amount", "unit", "json"),
    [("90", "60", 5400), ("1.5", "3600", 5400), ("2", "86400", 172800), ("soon", "60", "soon"), ("0.001", "60", 0.06)],
)
def test_a_duration_becomes_seconds(amount: str, unit: str, json: object) -> None:
    assert fields.body(TRAINING.fields, posted(max_duration=amount, max_duration_unit=unit))["max_duration"] == json


@pytest.mark.parametrize(
    ("typed", "argv"),
    [
        ("python train.py --epochs 3", ["python", "train.py", "--epochs", "3"]),
        ("bash -c 'a | b > c; d && e $HOME'", ["bash", "-c", "a | b > c; d && e $HOME"]),
        ('--x "" y', ["--x", "", "y"]),
        ('--hf "{\\"rope\\": 2.0}"', ["--hf", '{"rope": 2.0}']),
        ("one\r\ntwo", ["one", "two"]),
        ("a\\ b", ["a b"]),
        ("echo #not-a-comment", ["echo", "#not-a-comment"]),
    ],
)
def test_a_command_is_split_into_words_without_a_shell(typed: str, argv: list[str]) -> None:
    assert fields.body(TRAINING.fields, posted(command=typed))["command"] == argv


def test_a_quotation_mark_that_never_closes_is_a_fault_of_its_field() -> None:
    with pytest.raises(fields.FormFault) as caught:
        fields.body(TRAINING.fields, posted(args="--name 'x"))
    assert caught.value.field_name == "args"


def test_environment_values_arrive_byte_for_byte() -> None:
    values = {
        "NL": "a\nb\n",
        "Q": 'it\'s "q"',
        "T": "a\tb",
        "D": "$HOME ${LIB} $(ls)",
        "E": "",
        "U": "ñ€🙂",
        "W": " lead and trail ",
    }
    sent = [value.replace("\n", "\r\n") for value in values.values()]
    found = fields.body(ENDPOINT.fields, posted(env_name=list(values), env_value=sent))
    assert found["env"] == values


def test_an_empty_row_is_no_variable() -> None:
    assert fields.body(NOTEBOOK.fields, posted(env_name=["A", ""], env_value=["1", ""]))["env"] == {"A": "1"}


def test_a_value_without_a_name_is_kept_for_the_request_to_refuse() -> None:
    assert fields.body(NOTEBOOK.fields, posted(env_name=[""], env_value=["1"]))["env"] == {"": "1"}


def test_a_name_given_twice_is_a_fault() -> None:
    with pytest.raises(fields.FormFault) as caught:
        fields.body(NOTEBOOK.fields, posted(env_name=["A", "B", "A"], env_value=["1", "2", "3"]))
    assert caught.value.field_name == "env.A"


def test_another_image_is_the_reference_as_typed() -> None:
    reference = "registry.example:5000/ml/train@sha256:" + "0" * 64
    found = fields.body(TRAINING.fields, posted(image="other", image_other=f" {reference} "))
    assert found["image"] == reference


@pytest.mark.parametrize("kind", FORMS)
def test_every_field_of_a_form_has_its_own_name(kind: str) -> None:
    names = [one.name for one in FORMS[kind].labelled]
    assert len(names) == len(set(names))
