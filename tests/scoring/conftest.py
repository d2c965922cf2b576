"""Fixtures that several files of this room share."""

from small_encoders import endpoint, tiny_bert  # noqa: F401
