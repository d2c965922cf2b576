"""Fixtures that several files of this room share."""

from tiny_study import study  # noqa: F401
