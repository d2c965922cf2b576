"""Fixtures that several files of this room share."""

from once import model  # noqa: F401
from sheets import fake  # noqa: F401
