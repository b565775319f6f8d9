"""The error that the builder shows to people."""


class FreezeError(Exception):
    """Something a person can put right; its text is one plain sentence."""
