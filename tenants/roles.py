"""The permission table (design, section 8): roles are data in code, permissions an enum."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a member (or a team's machine) is in one tenant, weakest first."""

    VIEWER = "viewer"
    MEMBER = "member"
    MANAGER = "manager"


class Permission(StrEnum):
    """One thing that can be done in one tenant."""

    READ = "read"
    SUBMIT = "submit"
    CHANGE_OWN = "change_own"
    CONNECT_OWN = "connect_own"
    OWN_TOKENS = "own_tokens"
    CHANGE_ALL = "change_all"
    MEMBERS = "members"
    MACHINE_TOKENS = "machine_tokens"
    POLICY = "policy"
    PRIORITIES = "priorities"
    REQUEST_QUOTA = "request_quota"
    READ_AUDIT = "read_audit"


_VIEWER = frozenset({Permission.READ})
_MEMBER = _VIEWER | {Permission.SUBMIT, Permission.CHANGE_OWN, Permission.CONNECT_OWN, Permission.OWN_TOKENS}
_MANAGER = _MEMBER | {
    Permission.CHANGE_ALL,
    Permission.MEMBERS,
    Permission.MACHINE_TOKENS,
    Permission.POLICY,
    Permission.PRIORITIES,
    Permission.REQUEST_QUOTA,
    Permission.READ_AUDIT,
}
GRANTS: dict[Role, frozenset[Permission]] = {Role.VIEWER: _VIEWER, Role.MEMBER: _MEMBER, Role.MANAGER: _MANAGER}


def allows(role: Role | None, permission: Permission) -> bool:
    """Whether the role may; None (no role) may nothing."""
    return role is not None and permission in GRANTS[role]
