"""Draws the workload's states from the transition table into jobs/README.md: `python -m deploy.state_diagram`."""

from pathlib import Path

from jobs.states import TRANSITIONS

README = Path(__file__).resolve().parents[1] / "jobs" / "README.md"
BEGIN, END = "<!-- states: drawn by python -m deploy.state_diagram -->", "<!-- /states -->"


def diagram() -> str:
    """The table as a Mermaid state diagram, in the table's order."""
    order = list(TRANSITIONS)
    arrows = [
        f"    {origin} --> {target}"
        for origin, targets in TRANSITIONS.items()
        for target in sorted(targets, key=order.index)
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", f"    [*] --> {order[0]}", *arrows, "```"])


def drawn(text: str) -> str:
    """The text with the diagram between its marks. ValueError where the marks are missing."""
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"{README.name} has no place for the diagram ({BEGIN} ... {END})")
    return f"{before}{BEGIN}\n{diagram()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(drawn(README.read_text(encoding="utf-8")), encoding="utf-8")
