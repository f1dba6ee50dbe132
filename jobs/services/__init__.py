"""Commands on workloads: actor first, one transaction with its audit row. The cluster's part is the reconciler's."""

from jobs.services.changing import change
from jobs.services.connect import connect_allowed, connect_ticket, forget_old_tickets, trade_ticket
from jobs.services.ending import delete, over_deadline, stop, stop_by_deadline
from jobs.services.forecasting import forecast_all
from jobs.services.idling import idle_too_long, stop_idle
from jobs.services.leaving import in_archived_teams, stop_in_archived_team, tell_of_departure
from jobs.services.planning import DryRun, plan, preview
from jobs.services.rotating import rotate_key
from jobs.services.starting import accept, prepared, start, submit

__all__ = [
    "DryRun",
    "accept",
    "change",
    "connect_allowed",
    "connect_ticket",
    "delete",
    "forecast_all",
    "forget_old_tickets",
    "idle_too_long",
    "in_archived_teams",
    "over_deadline",
    "plan",
    "prepared",
    "preview",
    "rotate_key",
    "start",
    "stop",
    "stop_by_deadline",
    "stop_idle",
    "stop_in_archived_team",
    "submit",
    "tell_of_departure",
    "trade_ticket",
]
