"""Judging answers: rubric -> prompt -> judge -> scores -> ledger. Every reply is kept; none is a score by guessing."""

from rewards.endpoint.retry import RetryPolicy
from rewards.judges.endpoint import EndpointJudge
from rewards.judges.judgement import Judgement
from rewards.judges.ledger import Ledger, read_judgements
from rewards.judges.local import LocalJudge
from rewards.judges.price import Price
from rewards.judges.protocol import Judge, Reply, Status
from rewards.judges.rubric import Asked, Rubric, Scores
from rewards.judges.run import Judging, judge_answers

__all__ = [
    "Asked",
    "EndpointJudge",
    "Judge",
    "Judgement",
    "Judging",
    "Ledger",
    "LocalJudge",
    "Price",
    "Reply",
    "RetryPolicy",
    "Rubric",
    "Scores",
    "Status",
    "judge_answers",
    "read_judgements",
]
