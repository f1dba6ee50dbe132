"""What the API server refuses in a new or changed object, at the level that clients here meet: names, labels, pod
templates, selectors, fields that never change. Texts are those of Kubernetes 1.36."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from portal.cluster.simulated.errors import Cause, Invalid
from portal.cluster.simulated.objects import BY_KIND, Obj
from portal.cluster.simulated.validation_jobs import job_changes

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LABEL_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_DNS_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    " '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_LABEL_NAME_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_NAMES: dict[str, tuple[re.Pattern[str], str, int]] = {
    "Namespace": (_LABEL, _LABEL_TEXT, 63),
    "Service": (_DNS_1035, _DNS_1035_TEXT, 63),
}
_ANY_NAME = {"Role", "RoleBinding", "ClusterRole"}
_TEMPLATED = {"Job", "StatefulSet", "Deployment", "ReplicaSet"}
_STATEFUL_SET_MUTABLE = {
    "minReadySeconds",
    "ordinals",
    "persistentVolumeClaimRetentionPolicy",
    "replicas",
    "revisionHistoryLimit",
    "template",
    "updateStrategy",
}
_IMMUTABLE: dict[str, tuple[str, ...]] = {
    "Deployment": ("spec.selector",),
    "LocalQueue": ("spec.clusterQueue",),
    "ReplicaSet": ("spec.selector",),
    "Secret": ("type",),
    "Service": ("spec.clusterIP",),
}


def check_new(obj: Obj) -> None:
    """Raises Invalid with every fault found."""
    causes = [*_metadata(obj), *_content(obj)]
    if causes:
        raise Invalid(BY_KIND[obj["kind"]], obj["metadata"]["name"], causes)


def check_change(old: Obj, new: Obj) -> None:
    """Raises Invalid with every fault found, changes to what never changes among them."""
    causes = [*_references(new["metadata"]), *_content(new), *_changes(old, new)]
    if causes:
        raise Invalid(BY_KIND[new["kind"]], new["metadata"]["name"], causes)


def missing_name(kind: str) -> Invalid:
    """A create with neither name nor generateName."""
    fault = Cause("FieldValueRequired", "Required value: name or generateName is required", "metadata.name")
    return Invalid(BY_KIND[kind], "", [fault])


def _metadata(obj: Obj) -> Iterator[Cause]:
    name = obj["metadata"]["name"]
    pattern, text, longest = _NAMES.get(obj["kind"], (_SUBDOMAIN, _SUBDOMAIN_TEXT, 253))
    if obj["kind"] in _ANY_NAME:
        pattern, text = re.compile(r"[^/%]+"), "may not contain '/' or '%'"
    if len(name) > longest:
        yield _invalid("metadata.name", name, f"must be no more than {longest} characters")
    if not pattern.fullmatch(name):
        yield _invalid("metadata.name", name, text)
    yield from _references(obj["metadata"])


def _references(meta: Obj) -> Iterator[Cause]:
    yield from _label_faults(meta.get("labels"), "metadata.labels")
    for reference in meta.get("ownerReferences") or []:
        for name in ("apiVersion", "kind", "name", "uid"):
            if not reference.get(name):
                text = f"Invalid value: {compact(reference)}: {name} must not be empty"
                yield Cause("FieldValueInvalid", text, "metadata.ownerReferences")


def _label_faults(labels: Any, field: str) -> Iterator[Cause]:
    for name, value in (labels or {}).items():
        prefix, slash, last = name.rpartition("/")
        if slash and not _SUBDOMAIN.fullmatch(prefix):
            yield _invalid(field, name, f"prefix part {_SUBDOMAIN_TEXT}")
        if len(last) > 63:
            yield _invalid(field, name, "name part must be no more than 63 characters")
        if not _LABEL_NAME.fullmatch(last):
            yield _invalid(field, name, _LABEL_NAME_TEXT)
        if len(value) > 63:
            yield _invalid(field, value, "must be no more than 63 characters")
        if not _LABEL_VALUE.fullmatch(value):
            yield _invalid(field, value, _LABEL_VALUE_TEXT)


def _content(obj: Obj) -> Iterator[Cause]:
    kind, spec = obj["kind"], obj.get("spec") or {}
    if kind == "Pod":
        yield from _pod_spec(spec, "spec")
    if kind in _TEMPLATED:
        template = spec.get("template") or {}
        yield from _label_faults((template.get("metadata") or {}).get("labels"), "spec.template.labels")
        yield from _pod_spec(template.get("spec") or {}, "spec.template.spec")
    if kind in _TEMPLATED - {"Job"}:
        yield from _selector(spec)
    if kind == "ClusterQueue" and not spec.get("cohortName") and _borrows(spec):
        text = "Invalid value: borrowingLimit must be nil when cohort is empty"
        yield Cause("FieldValueInvalid", text, "spec")


def _pod_spec(spec: Obj, field: str) -> Iterator[Cause]:
    if not spec.get("containers"):
        yield _required(f"{field}.containers")
    names: set[str] = set()
    for part in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(part) or []):
            where = f"{field}.{part}[{index}]"
            name = container.get("name")
            if not name:
                yield _required(f"{where}.name")
            elif not _LABEL.fullmatch(name):
                yield _invalid(f"{where}.name", name, _LABEL_TEXT)
            elif name in names:
                yield Cause("FieldValueDuplicate", f'Duplicate value: "{name}"', f"{where}.name")
            names.add(name)
            if not container.get("image"):
                yield _required(f"{where}.image")


def _selector(spec: Obj) -> Iterator[Cause]:
    wanted = (spec.get("selector") or {}).get("matchLabels") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if not spec.get("selector"):
        yield _required("spec.selector")
    elif not wanted.items() <= labels.items():
        text = "`selector` does not match template `labels`"
        yield Cause("FieldValueInvalid", f"Invalid value: {compact(labels)}: {text}", "spec.template.metadata.labels")


def _borrows(spec: Obj) -> bool:
    return any(
        quota.get("borrowingLimit") is not None
        for group in spec.get("resourceGroups") or []
        for flavor in group.get("flavors") or []
        for quota in flavor.get("resources") or []
    )


def _changes(old: Obj, new: Obj) -> Iterator[Cause]:
    yield from _finalizer_changes(old["metadata"], new["metadata"])
    for field in _IMMUTABLE.get(new["kind"], ()):
        was, now = _at(old, field), _at(new, field)
        if was not in (None, now):
            yield Cause("FieldValueInvalid", f"Invalid value: {compact(now)}: field is immutable", field)
    checker = _CHANGE_CHECKS.get(new["kind"])
    if checker is not None:
        yield from checker(old, new)


def _finalizer_changes(old: Obj, new: Obj) -> Iterator[Cause]:
    extra = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if extra and "deletionTimestamp" in old:
        found = ", ".join(f'"{name}"' for name in extra)
        text = (
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers"
            f" []string{{{found}}}"
        )
        yield Cause("FieldValueForbidden", text, "metadata.finalizers")


def _stateful_set_changes(old: Obj, new: Obj) -> Iterator[Cause]:
    fixed = [{k: v for k, v in each["spec"].items() if k not in _STATEFUL_SET_MUTABLE} for each in (old, new)]
    if fixed[0] != fixed[1]:
        text = (
            "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template',"
            " 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds'"
            " are forbidden"
        )
        yield Cause("FieldValueForbidden", text, "spec")


def _claim_changes(old: Obj, new: Obj) -> Iterator[Cause]:
    # The volume's name is written once, by whoever binds the claim.
    fixed = [{k: v for k, v in each["spec"].items() if k != "resources"} for each in (old, new)]
    bound = {**fixed[0], "volumeName": fixed[1].get("volumeName")}
    if fixed[0] != fixed[1] and not ("volumeName" not in fixed[0] and bound == fixed[1]):
        text = (
            "Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for"
            " bound claims"
        )
        yield Cause("FieldValueForbidden", text, "spec")


def _role_binding_changes(old: Obj, new: Obj) -> Iterator[Cause]:
    if old.get("roleRef") != new.get("roleRef"):
        text = f"Invalid value: {compact(new.get('roleRef'))}: cannot change roleRef"
        yield Cause("FieldValueInvalid", text, "roleRef")


_CHANGE_CHECKS: dict[str, Callable[[Obj, Obj], Iterator[Cause]]] = {
    "Job": job_changes,
    "PersistentVolumeClaim": _claim_changes,
    "RoleBinding": _role_binding_changes,
    "StatefulSet": _stateful_set_changes,
}


def _at(obj: Obj, field: str) -> Any:
    value: Any = obj
    for name in field.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def compact(value: Any) -> str:
    """A value as error messages quote it."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _invalid(field: str, value: str, text: str) -> Cause:
    return Cause("FieldValueInvalid", f'Invalid value: "{value}": {text}', field)


def _required(field: str) -> Cause:
    return Cause("FieldValueRequired", "Required value", field)
