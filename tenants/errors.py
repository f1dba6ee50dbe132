"""What this room says no with, beyond the kernel's kinds."""

from __future__ import annotations

from portal.kernel.errors import Conflict, Denied


class LastManager(Conflict):
    """The team would be left without a manager (409)."""

    code = "last_manager"


class NameTaken(Conflict):
    """A slug, username or membership that already exists (409)."""

    code = "name_taken"


class ScopeMissing(Denied):
    """The token does not carry the scope that this needs (403)."""

    code = "scope_missing"


class TenantSuspended(Denied):
    """The team is on hold: nothing new starts, what runs goes on (403)."""

    code = "tenant_suspended"


class TenantArchived(Denied):
    """The team is closed: nothing starts any more (403)."""

    code = "tenant_archived"
