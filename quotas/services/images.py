"""The image catalogue: what an image needs to run under the restricted pod security standard."""

from __future__ import annotations

import re
from typing import Any

from django.utils.translation import gettext as _

from portal.kernel.actors import Actor
from portal.kernel.transaction import transaction
from quotas.models import Image
from quotas.services import rows
from tenants.policies import not_found

KINDS = ("notebook", "training", "endpoint")
MOST_ID = 2**31 - 1
PATH = re.compile(r"/[^\s:]*")
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def put_image(actor: Actor, *, name: str, **fields: Any) -> Image:
    """A new image of the catalogue, or changes to one. What runs keeps the image it started with.

    Raises Invalid or Denied.
    """
    rows.require(actor)
    _check(fields)
    with transaction():
        row = Image.objects.select_for_update().filter(name=name).first() or Image(name=name)
        return rows.put(actor, rows.Subject("image", name), row, fields).row


def delete_image(actor: Actor, *, name: str) -> None:
    """Nothing new can name it. NotFound where there is none."""
    rows.require(actor)
    with transaction():
        row = Image.objects.filter(name=name).first()
        if row is None:
            raise not_found()
        rows.remove(actor, rows.Subject("image", name), row)


def _check(fields: rows.Fields) -> None:
    reference = fields.get("reference", "x")
    if not isinstance(reference, str) or not reference.isprintable() or " " in reference or not reference:
        raise rows.refuse("reference", _("Give an image reference without blanks."))
    kinds = fields.get("kinds", KINDS)
    if not kinds or not set(kinds) <= set(KINDS):
        raise rows.refuse("kinds", _("Give one or more of notebook, training and endpoint."))
    for field in ("uid", "gid"):
        number = fields.get(field, 1)
        if type(number) is not int or not (1 if field == "uid" else 0) <= number <= MOST_ID:
            raise rows.refuse(field, _("Give a numeric id; work never runs as root."))
    _check_inside(fields)


def _check_inside(fields: rows.Fields) -> None:
    """What the container finds: paths, command and environment."""
    if not _is_path(fields.get("home", "/")):
        raise rows.refuse("home", _("Give an absolute path."))
    paths = fields.get("writable_paths", [])
    if not isinstance(paths, list) or not all(_is_path(path) for path in paths):
        raise rows.refuse("writable_paths", _("Give a list of absolute paths."))
    command = fields.get("command", [])
    if not isinstance(command, list) or not all(isinstance(part, str) for part in command):
        raise rows.refuse("command", _("Give a list of texts."))
    env = fields.get("env", {})
    if not isinstance(env, dict) or not all(_is_variable(key, value) for key, value in env.items()):
        raise rows.refuse("env", _("Give names and texts of environment variables."))


def _is_path(value: object) -> bool:
    return isinstance(value, str) and PATH.fullmatch(value) is not None and ".." not in value.split("/")


def _is_variable(key: object, value: object) -> bool:
    return isinstance(key, str) and isinstance(value, str) and ENV_NAME.fullmatch(key) is not None
