"""The Celery application: wiring only. State lives in the database; a task carries an id and may be lost or doubled."""

import os

from celery import Celery, Task
from celery.signals import task_prerun, worker_init
from django.db import connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("portal")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@task_prerun.connect
def look_at_the_connection(sender: "Task[..., object]", **_: object) -> None:
    """Before each task: the connection of the last one is kept, unless it has died meanwhile.

    A new one for each task (what Celery does by itself) costs the database a process each time.
    """
    if sender.request.is_eager:
        return
    for one in connections.all(initialized_only=True):
        one.close_if_unusable_or_obsolete()
        pool = getattr(one, "pool", None)
        if pool is not None:
            pool.check()


@worker_init.connect
def share_no_connection(**_: object) -> None:
    """Before a worker's children are forked."""
    for one in connections.all(initialized_only=True):
        one.close()
        if hasattr(one, "close_pool"):
            one.close_pool()
