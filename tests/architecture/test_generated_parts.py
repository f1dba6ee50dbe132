"""What is generated from the code is what the code says now."""

from deploy.state_diagram import README, drawn


def test_state_diagram_is_the_transition_table() -> None:
    text = README.read_text(encoding="utf-8")
    assert drawn(text) == text, "draw it again: python -m deploy.state_diagram"
