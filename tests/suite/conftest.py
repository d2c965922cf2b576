"""Fixtures that several files of this room share."""

from browser import browser  # noqa: F401
from once import model  # noqa: F401
from sheets import fake  # noqa: F401
