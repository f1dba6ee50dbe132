"""The three forms, field by field, in the words of the REST contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from jobs.web.fields import Field, Text

WHAT = (
    Field(
        "description",
        _("What is it for?"),
        _("Free text. A name is proposed from it."),
        example=_("Fine-tune the invoice model"),
        attributes={"maxlength": "500"},
    ),
    Field(
        "name",
        _("Name"),
        _("Lowercase letters, digits and hyphens, at most 63, starting with a letter. It does not change later."),
        required=True,
        attributes={
            "maxlength": "63",
            "data-name-from": "id_description",
            "autocapitalize": "none",
            "spellcheck": "false",
        },
    ),
)
TEAM = Field("tenant", _("Team"), required=True)
FLAVOR = Field("flavor", _("Card"), _("What your team may use."), "flavor", required=True)
SIZE = (
    Field(
        "gpus",
        _("GPUs per node"),
        _("Whole units of the chosen card or slice; 0 only for CPU."),
        "number",
        required=True,
        initial="1",
        short=True,
    ),
    Field("cpu", _("CPU"), _("Cores: 4, or 500m for half a core."), required=True, initial="4", short=True),
    Field(
        "memory",
        _("Memory"),
        _("For example 16Gi. Gi is 1024³ bytes, G is 1000³."),
        required=True,
        initial="16Gi",
        short=True,
    ),
)
ENV = Field(
    "env",
    _("Environment variables"),
    _(
        "Everybody who may see this workload can read them: no passwords here. "
        "Values are passed exactly as typed; $NAME is not expanded."
    ),
    "rows",
)
MORE = (
    Field(
        "project", _("Project"), _("Your team's own label for accounting."), more=True, attributes={"maxlength": "63"}
    ),
    Field("priority", _("Priority"), _("Higher goes first in your team's queue."), "priority", more=True),
    Field("labels", _("Labels"), _("Names and values for your own searches."), "rows", more=True),
)
DEADLINE = Field(
    "max_duration",
    _("Longest run"),
    _("It is stopped after this time. Empty: your team's default."),
    "duration",
    more=True,
)
ARGS = Field(
    "args", _("Arguments"), _("Added after the command. Quotes group words; no shell runs them."), "words", more=True
)


@dataclass(frozen=True)
class Form:
    """One page: `path` is the API's collection, `groups` are shown in order, `more` folded below them."""

    kind: str
    path: str
    title: Text
    lead: Text
    action: Text
    main: tuple[Field, ...]
    more: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return (*WHAT, FLAVOR, *SIZE, *self.main, ENV, *self.more)

    @property
    def labelled(self) -> tuple[Field, ...]:
        """Everything that a refusal may name."""
        return (TEAM, *self.fields)


IMAGE = Field("image", _("Image"), _("What is installed in it."), "image", required=True)
NOTEBOOK = Form(
    kind="notebook",
    path="notebooks",
    title=_("New notebook"),
    lead=_("An editor in your browser, with its own disk and, if you like, a GPU."),
    action=_("Start the notebook"),
    main=(
        Field(
            "ide",
            _("Editor"),
            widget="choice",
            required=True,
            initial="jupyterlab",
            choices=(("jupyterlab", "JupyterLab"),),
        ),
        IMAGE,
        Field(
            "storage",
            _("Disk"),
            _("Your home folder. It stays when the notebook stops."),
            required=True,
            initial="20Gi",
        ),
    ),
    more=(
        Field(
            "idle_timeout",
            _("Stop when idle for"),
            _("Gives the GPU back when nobody has it open in a browser for so long, even if it computes."),
            "duration",
            more=True,
        ),
        DEADLINE,
        *MORE,
    ),
)
TRAINING = Form(
    kind="training",
    path="training-jobs",
    title=_("New training job"),
    lead=_("Runs a command to its end on one node or on several, and keeps its logs."),
    action=_("Submit the job"),
    main=(
        Field(
            "framework",
            _("How it runs"),
            widget="choice",
            required=True,
            initial="job",
            choices=(("job", _("One pod")), ("indexed", _("Several nodes that know each other"))),
        ),
        Field(
            "nodes",
            _("Nodes"),
            _("Pods that start together, each with the GPUs above."),
            "number",
            initial="1",
            short=True,
        ),
        IMAGE,
        Field(
            "command",
            _("Command"),
            _(
                "Words as you would type them; quotes group. "
                "No shell runs it, so no pipes and no $NAME, unless you write bash -c '…'."
            ),
            "words",
            example="python train.py --epochs 3",
        ),
    ),
    more=(
        ARGS,
        DEADLINE,
        Field("retries", _("Retries"), _("How often a failed run is started again."), "number", more=True, initial="0"),
        Field(
            "grace_period",
            _("Time to save"),
            _("How long it may write its checkpoint when it is told to go; at most 10 minutes."),
            "duration",
            more=True,
            unit=60,
        ),
        Field(
            "checkpoint_path",
            _("Checkpoint folder"),
            _(
                "Where it keeps its progress, so that a new run can go on. A line “turno: checkpoint” in its log "
                "whenever it has saved lets Turno say how much work a preemption cost."
            ),
            more=True,
            example="/checkpoints",
        ),
        *MORE,
    ),
)
ENDPOINT = Form(
    kind="endpoint",
    path="endpoints",
    title=_("New endpoint"),
    lead=_("Serves a model at an address of its own, with a key, in the OpenAI API's form."),
    action=_("Serve the model"),
    main=(
        Field(
            "model",
            _("Model"),
            _("A name on the model hub, or a folder inside the image."),
            required=True,
            example="Qwen/Qwen2.5-7B-Instruct",
        ),
        Field(
            "runtime",
            _("Server"),
            widget="choice",
            required=True,
            initial="vllm-plain",
            choices=(("vllm-plain", "vLLM"),),
        ),
        IMAGE,
        Field("min_replicas", _("Copies"), _("How many run at the same time."), "number", initial="1"),
    ),
    more=(
        Field(
            "args",
            _("Arguments of the server"),
            _("Quotes group words; no shell runs them."),
            "words",
            more=True,
            example="--max-model-len 8192",
        ),
        DEADLINE,
        *MORE,
    ),
)
FORMS: Mapping[str, Form] = {form.kind: form for form in (NOTEBOOK, TRAINING, ENDPOINT)}
