"""Commands on teams, their members, policies and tokens, and on accounts. Each is one transaction."""

from tenants.services.accounts import (
    change_password,
    change_preferences,
    change_user,
    count_sign_in,
    create_user,
)
from tenants.services.members import add_member, change_role, remove_member
from tenants.services.policy import change_policy
from tenants.services.tenants import change_tenant, create_tenant
from tenants.services.tokens import create_token, issue_personal_token, revoke_token

__all__ = [
    "add_member",
    "change_password",
    "change_policy",
    "change_preferences",
    "change_role",
    "change_tenant",
    "change_user",
    "count_sign_in",
    "create_tenant",
    "create_token",
    "create_user",
    "issue_personal_token",
    "remove_member",
    "revoke_token",
]
