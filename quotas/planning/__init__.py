"""What admission would decide: the mirrored state in the model of `portal.admission`, and questions to it."""

from quotas.planning.forecasts import Likely, latest
from quotas.planning.lengths import Template
from quotas.planning.preview import Asked, Preview, alternatives, preview
from quotas.planning.standing import Member, Standing, standing
from quotas.planning.waiting import Wait, wait_of

__all__ = [
    "Asked",
    "Likely",
    "Member",
    "Preview",
    "Standing",
    "Template",
    "Wait",
    "alternatives",
    "latest",
    "preview",
    "standing",
    "wait_of",
]
