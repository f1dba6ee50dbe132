"""The fields that all kinds share, each judged once. The kinds' own are in `kinds`."""

from __future__ import annotations

from typing import Any

from jobs.specs import images, quantities, words
from jobs.specs.context import FlavorFacts
from jobs.specs.reading import Reader
from jobs.states import gettext_noop as _

LONGEST_DESCRIPTION = 2000
LONGEST_DURATION = 366 * 86400
MOST_LABELS = 32
MOST_ENV_BYTES = 256 * 1024
HUGE = 2**53
LEAST_MEMORY = quantities.MIB
MOST_BYTES = 2**60
MOST_MILLICORES = 10_000_000

BAD_NAME = _("Use 1 to 63 lowercase letters, digits and hyphens, starting with a letter and not ending with a hyphen.")
BAD_PROJECT = _("Use letters, digits, hyphens, dots and underscores, starting and ending with a letter or digit.")
BAD_CPU = _("Use cores such as 4, 0.5 or 500m.")
BAD_BYTES = _("Use an amount such as %(example)s: a whole number of bytes with Ki, Mi, Gi, Ti or k, M, G, T.")
REFERENCE_FAULTS = {
    "length": _("The reference is too long."),
    "characters": _("The reference holds a character that does not belong there."),
    "registry": _("The reference must begin with a registry's host, such as registry.example/team/image:tag."),
    "port": _("The registry's port is not a port number."),
    "path": _("The path of the image must be lowercase words separated by slashes."),
    "tag": _("The tag of the image is not a tag."),
    "digest": _("The digest must be sha256: and 64 hexadecimal digits."),
}


def read_common(reader: Reader, kind: str) -> dict[str, Any]:
    """Everything shared, as values of the spec; faults are in the reader."""
    flavor = _flavor(reader)
    return {
        "name": reader.matching("name", words.NAME, BAD_NAME, required=True),
        "project": reader.matching("project", words.LABEL_VALUE, BAD_PROJECT),
        "description": _description(reader),
        "flavor": flavor.name if flavor else "",
        "gpus": _gpus(reader, flavor),
        "cpu": cpu(reader),
        "memory": memory(reader),
        "image": image(reader, kind),
        "env": env(reader),
        "priority": priority(reader),
        "max_duration": max_duration(reader),
        "labels": labels(reader),
    }


def _description(reader: Reader) -> str | None:
    value = reader.text("description", longest=LONGEST_DESCRIPTION)
    if value is not None and not words.is_line(value):
        reader.fault("description", _("It holds a character that cannot be kept."))
    return value


def _flavor(reader: Reader) -> FlavorFacts | None:
    name = reader.text("flavor", required=True)
    if name is None:
        return None
    found = reader.context.flavors.get(name)
    if found is None:
        known = ", ".join(one.name for one in reader.context.usable) or "–"
        reader.fault("flavor", _("The team has no flavor of this name. It has: %(known)s."), known=known)
    return found


def _gpus(reader: Reader, flavor: FlavorFacts | None) -> int:
    given = reader.data.get("gpus")
    if isinstance(given, float) and not given.is_integer():
        reader.read.add("gpus")
        parts = [one.name for one in reader.context.usable if one.mode in ("mig", "shared")]
        smaller = ", ".join(parts)
        if smaller:
            reader.fault(
                "gpus", _("Whole units only. For a part of a card take a flavor such as %(smaller)s."), smaller=smaller
            )
        else:
            reader.fault("gpus", _("Whole units only."))
        return 0
    count = reader.number("gpus", least=0, most=HUGE, required=True)
    if count is None or flavor is None:
        return 0
    if flavor.mode == "none" and count:
        reader.fault("gpus", _("Flavor %(flavor)s has no GPU: use 0."), flavor=flavor.name)
    elif flavor.mode != "none" and not count:
        reader.fault("gpus", _("Use at least 1; 0 only with a flavor without GPU."))
    elif flavor.mode == "shared" and count > 1:
        # The device plugin refuses such a pod for good, or hands out the same share of time.
        reader.fault("gpus", _("A pod gets one share of a card of flavor %(flavor)s: use 1."), flavor=flavor.name)
    elif flavor.max_per_node and count > flavor.max_per_node:
        message = _("No node has more than %(most)s of flavor %(flavor)s.")
        reader.fault("gpus", message, "exceeds_maximum", most=flavor.max_per_node, flavor=flavor.name)
    return count


def check_maximum(reader: Reader, flavor_name: str, gpus: int, pods: int) -> None:
    """More than an empty cohort could ever admit is refused at the field, before anything is written."""
    flavor = reader.context.flavors.get(flavor_name)
    noted = any(fault.field == "gpus" for fault in reader.faults)
    if flavor is None or flavor.maximum is None or flavor.mode == "none" or noted:
        return
    if gpus * pods > flavor.maximum:
        message = _(
            "Asks for %(asked)s of flavor %(flavor)s; the team can have at most %(most)s, borrowed ones included."
        )
        values = {"asked": gpus * pods, "flavor": flavor.name, "most": flavor.maximum}
        reader.fault("gpus", message, "exceeds_maximum", **values)


def cpu(reader: Reader) -> str | None:
    """Cores per pod, as typed."""
    value = reader.text("cpu", required=True, longest=quantities.LONGEST)
    if value is None:
        return None
    asked = quantities.millicores(value)
    if asked is None:
        reader.fault("cpu", BAD_CPU)
        return None
    most = quantities.millicores(reader.context.cpu_maximum) if reader.context.cpu_maximum else None
    if asked > min(most or MOST_MILLICORES, MOST_MILLICORES):
        reader.fault(
            "cpu", _("The team's queue has %(most)s in all."), "exceeds_maximum", most=reader.context.cpu_maximum
        )
    return value


def memory(reader: Reader) -> str | None:
    """Bytes per pod, as typed. Below 1Mi a unit was forgotten."""
    return _bytes(reader, "memory", example="8Gi", most=reader.context.memory_maximum)


def storage(reader: Reader) -> str | None:
    """Bytes of a notebook's home, as typed."""
    return _bytes(reader, "storage", example="10Gi", most=None)


def _bytes(reader: Reader, field: str, *, example: str, most: str | None) -> str | None:
    value = reader.text(field, required=True, longest=quantities.LONGEST)
    if value is None:
        return None
    asked = quantities.whole_bytes(value)
    if asked is None:
        reader.fault(field, BAD_BYTES, example=example)
        return None
    if asked < LEAST_MEMORY:
        message = _("%(value)s is %(bytes)s bytes, less than 1Mi. Was %(example)s meant?")
        reader.fault(field, message, value=value, bytes=asked, example=example)
        return None
    limit = quantities.whole_bytes(most) if most else None
    if asked > min(limit or MOST_BYTES, MOST_BYTES):
        reader.fault(field, _("There is %(most)s in all."), "exceeds_maximum", most=most or "1Ei")
    return value


def image(reader: Reader, kind: str) -> str | None:
    """A catalogue name, or a reference where the policy allows its beginning."""
    value = reader.text("image", required=True, longest=images.LONGEST)
    if value is None:
        return None
    if images.is_reference(value):
        return _reference(reader, value)
    policy, found = reader.context.policy, reader.context.images.get(value)
    if found is None:
        reader.fault("image", _("The catalogue has no image of this name."))
    elif policy.image_names and value not in policy.image_names:
        reader.fault("image", _("The team's policy does not allow this image."), "not_allowed")
    elif kind not in found.kinds:
        reader.fault("image", _("This image is not for this kind of workload."), "not_allowed")
    return value


def _reference(reader: Reader, value: str) -> str:
    try:
        images.parse(value)
    except images.BadReference as fault:
        reader.fault("image", REFERENCE_FAULTS[fault.part])
        return value
    if not value.startswith(reader.context.policy.image_prefixes):
        allowed = ", ".join(reader.context.policy.image_prefixes)
        if allowed:
            reader.fault("image", _("References must begin with %(allowed)s."), "not_allowed", allowed=allowed)
        else:
            reader.fault("image", _("The team's policy allows catalogue images only."), "not_allowed")
    return value


def env(reader: Reader) -> dict[str, str]:
    """NAME -> text, byte for byte; names of the platform's own are refused."""
    found = reader.mapping("env")
    for name, value in found.items():
        field = f"env.{name}" if name else "env"
        if not words.ENV_NAME.fullmatch(name):
            message = _("“%(name)s” is no name of a variable: use letters, digits and underscores, not first a digit.")
            reader.fault(field, message, name=name[:80])
        elif words.is_reserved_env(name):
            reader.fault(field, _("The platform sets %(name)s itself."), "not_allowed", name=name)
        elif words.expands_itself(name, value):
            reader.fault(field, _("Nothing expands $%(name)s here: write the whole value."), name=name)
    if sum(len(name.encode()) + len(value.encode()) for name, value in found.items()) > MOST_ENV_BYTES:
        reader.fault("env", _("All variables together may have at most 256 KiB."))
    return found


def labels(reader: Reader) -> dict[str, str]:
    """Labels of the tenant's own, at the top of each object."""
    found = reader.mapping("labels")
    if len(found) > MOST_LABELS:
        reader.fault("labels", _("Use at most %(most)s entries."), most=MOST_LABELS)
    for key, value in found.items():
        field = f"labels.{key}" if key else "labels"
        if not words.is_label_key(key):
            reader.fault(field, _("This is no label name."))
        elif words.is_reserved_label(key):
            reader.fault(field, _("Labels of this name belong to the platform."), "not_allowed")
        elif not words.LABEL_VALUE.fullmatch(value):
            reader.fault(field, _("A label's value has at most 63 letters, digits, hyphens, dots and underscores."))
    return found


def priority(reader: Reader) -> str | None:
    """A priority of the cluster; the default one where none is named."""
    context = reader.context
    value = reader.text("priority", default=context.default_priority)
    if not value:
        return value
    if value not in context.priorities:
        reader.fault(
            "priority", _("There is no such priority. There are: %(known)s."), known=", ".join(context.priorities)
        )
    elif context.priorities[value] and not context.is_manager:
        reader.fault("priority", _("Only a manager of the team may use this priority."), "not_allowed")
    return value


def max_duration(reader: Reader) -> int | None:
    """Seconds; the policy's default where missing, never more than the policy's longest."""
    policy = reader.context.policy
    default = policy.default_max_duration or policy.longest_max_duration
    value = reader.number("max_duration", least=1, most=LONGEST_DURATION, default=default)
    if value is not None and policy.longest_max_duration is not None and value > policy.longest_max_duration:
        message = _("The team's policy allows at most %(most)s seconds.")
        reader.fault("max_duration", message, "not_allowed", most=policy.longest_max_duration)
    return value
