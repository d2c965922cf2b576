"""Judging answers: rubric -> prompt -> judge -> scores -> ledger. Every reply is kept; none is a score by guessing."""
