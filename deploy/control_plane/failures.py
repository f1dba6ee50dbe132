"""Why the control plane cannot be built or started, in words for a person."""


class Refusal(Exception):
    """One line that says what is missing and what to do."""
