"""What a writer may require of the object it writes to: its uid and its resourceVersion."""

from __future__ import annotations

from portal.cluster.simulated.errors import Cause, Conflict, Invalid, PreconditionFailed
from portal.cluster.simulated.objects import BY_KIND, Obj, Resource


def check_version(resource: Resource, meta: Obj, old: Obj) -> None:
    """A write that names another uid is invalid, one that names another resourceVersion came too late."""
    name = old["name"]
    if meta.get("uid") not in (None, "", old["uid"]):
        fault = Cause("FieldValueInvalid", f'Invalid value: "{meta["uid"]}": field is immutable', "metadata.uid")
        raise Invalid(resource, name, [fault, fault])
    if meta.get("resourceVersion") not in (None, "", old["resourceVersion"]):
        raise Conflict(resource, name)


def check_preconditions(obj: Obj, uid: str | None, resource_version: str | None) -> None:
    """A delete's preconditions. Raises PreconditionFailed."""
    meta, resource = obj["metadata"], BY_KIND[obj["kind"]]
    if uid is not None and uid != meta["uid"]:
        text = f"the UID in the precondition ({uid}) does not match the UID in record ({meta['uid']})."
        text += " The object might have been deleted and then recreated"
        raise PreconditionFailed(resource, meta["name"], text)
    if resource_version is not None and resource_version != meta["resourceVersion"]:
        text = f"the ResourceVersion in the precondition ({resource_version}) does not match the ResourceVersion in"
        text += f" record ({meta['resourceVersion']}). The object might have been modified"
        raise PreconditionFailed(resource, meta["name"], text)
