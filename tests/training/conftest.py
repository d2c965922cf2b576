"""Fixtures that several files of this room share."""

from sft_dpo_runs import answers, words  # noqa: F401
