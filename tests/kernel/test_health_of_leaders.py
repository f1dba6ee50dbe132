"""`manage.py leads` tells a container whether its kind of process is at work."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from portal.kernel.leader import Leadership

pytestmark = pytest.mark.django_db


def test_an_office_that_is_held(capsys: pytest.CaptureFixture[str]) -> None:
    assert Leadership("watch:demo").hold()
    call_command("leads", "watch")
    assert capsys.readouterr().out == "watch has a leader\n"


def test_an_office_that_nobody_ever_held() -> None:
    assert Leadership("watch:demo").hold()
    with pytest.raises(CommandError, match="nobody leads logs"):
        call_command("leads", "logs")


def test_an_office_whose_holder_has_gone_silent() -> None:
    assert Leadership("logs:demo", ttl=timedelta(seconds=-1)).hold()
    with pytest.raises(CommandError, match="nobody leads logs"):
        call_command("leads", "logs")
