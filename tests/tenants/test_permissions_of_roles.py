"""The permission table of the design, section 8."""

from tenants.roles import Permission, Role, allows


def test_nobody_without_a_role_may_anything() -> None:
    assert not any(allows(None, permission) for permission in Permission)


def test_a_viewer_only_reads() -> None:
    assert [p for p in Permission if allows(Role.VIEWER, p)] == [Permission.READ]


def test_each_role_may_what_the_weaker_ones_may() -> None:
    for weaker, stronger in ((Role.VIEWER, Role.MEMBER), (Role.MEMBER, Role.MANAGER)):
        for permission in Permission:
            assert allows(stronger, permission) or not allows(weaker, permission)


def test_only_a_manager_looks_after_members_and_machines() -> None:
    for permission in (Permission.MEMBERS, Permission.MACHINE_TOKENS, Permission.CHANGE_ALL, Permission.READ_AUDIT):
        assert [role for role in Role if allows(role, permission)] == [Role.MANAGER]
