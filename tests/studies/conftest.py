"""Fixtures that several files of this room share."""

from browser import browser  # noqa: F401
from tiny_study import study  # noqa: F401
