"""One table, as narrow as the question allows."""

from django.db import models


class Thing(models.Model):
    """A named row of a team, listed newest first."""

    id = models.BigAutoField(primary_key=True)
    team = models.CharField(max_length=40)
    name = models.CharField(max_length=63)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "bare"
        indexes = [models.Index(fields=["team", "-id"], name="bare_newest")]

    def __str__(self) -> str:
        return self.name
