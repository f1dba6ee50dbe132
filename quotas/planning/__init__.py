"""What admission would decide: the mirrored state in the model of `portal.admission`, and questions to it."""

from quotas.planning.calibration import figures
from quotas.planning.disagreements import disagrees_since, lasting, totals
from quotas.planning.forecast import Estimate
from quotas.planning.forecasts import Likely, Track, latest, track
from quotas.planning.lengths import Template
from quotas.planning.mirrored import standing
from quotas.planning.newcomers import foresee_request
from quotas.planning.outlook import Came, Survey
from quotas.planning.placing import Misfit, Room, room
from quotas.planning.preview import Asked, Preview, alternatives, preview
from quotas.planning.standing import Lines, Member, Standing
from quotas.planning.waiting import Wait, wait_of

__all__ = [
    "Asked",
    "Came",
    "Estimate",
    "Likely",
    "Lines",
    "Member",
    "Misfit",
    "Preview",
    "Room",
    "Standing",
    "Survey",
    "Template",
    "Track",
    "Wait",
    "alternatives",
    "disagrees_since",
    "figures",
    "foresee_request",
    "lasting",
    "latest",
    "preview",
    "room",
    "standing",
    "totals",
    "track",
    "wait_of",
]
