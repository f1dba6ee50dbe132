"""Commands of administrators on the catalogue and on quotas; and the intervals of the ledger."""

from quotas.services.allocations import Holder, close_allocation, open_allocation
from quotas.services.cells import delete_quota, ensure_queue, put_queue, put_quota
from quotas.services.clusters import FIRST, put_cluster, settle_first
from quotas.services.cohorts import delete_cohort, put_cohort
from quotas.services.flavors import delete_flavor, put_flavor, put_price
from quotas.services.images import delete_image, put_image
from quotas.services.policies import change_policy
from quotas.services.priorities import delete_priority, put_priority

__all__ = [
    "FIRST",
    "Holder",
    "change_policy",
    "close_allocation",
    "delete_cohort",
    "delete_flavor",
    "delete_image",
    "delete_priority",
    "delete_quota",
    "ensure_queue",
    "open_allocation",
    "put_cluster",
    "put_cohort",
    "put_flavor",
    "put_image",
    "put_price",
    "put_priority",
    "put_queue",
    "put_quota",
    "settle_first",
]
