"""The one exception for a user's mistake: entry points show its message as one line; anything else is a bug."""

from __future__ import annotations


class UserError(Exception):
    """What a user can fix: the message says what was wrong, where, and what to do, in one line."""
