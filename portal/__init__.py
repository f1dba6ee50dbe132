"""Turno's own rooms below and above the apps; see CONTRIBUTING.md.

The Celery application is made here, so that every process that sends a wake sends it to the configured broker.
"""

from portal.celery import app as celery_app

__all__ = ["celery_app"]
