"""Words of a shell."""


def quote(s: str) -> str:
    """A text as one word of a shell."""
