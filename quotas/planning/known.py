"""What one round of forecasts takes for known. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from quotas.planning.arrivals import NOBODY, Past
from quotas.planning.correction import AS_PLAYED, Correction
from quotas.planning.lengths import Length


@dataclass(frozen=True)
class Known:
    """How long the members of one cluster last, by the id of the workload behind them, who came before, and how bands
    are corrected."""

    by_workload: Mapping[UUID, Length]
    past: Past = NOBODY
    correction: Correction = AS_PLAYED
