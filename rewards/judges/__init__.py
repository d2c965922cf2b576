"""Judging answers: prompt -> judge -> verdict -> ledger. Every reply is kept, none becomes a score by guessing."""

from rewards.judges.endpoint import EndpointJudge
from rewards.judges.judgement import Judgement
from rewards.judges.ledger import Ledger, LedgerError, read_judgements
from rewards.judges.local import LocalJudge
from rewards.judges.price import Price
from rewards.judges.prompts import JCQ_PROMPTS, SAT_PROMPT, judge_prompt
from rewards.judges.protocol import Judge, JudgeError, Reply, Status
from rewards.judges.retry import RetryPolicy
from rewards.judges.run import Judging, judge_answers
from rewards.judges.verdict import Scores, parse_grade, parse_verdict

__all__ = [
    "JCQ_PROMPTS",
    "SAT_PROMPT",
    "EndpointJudge",
    "Judge",
    "JudgeError",
    "Judgement",
    "Judging",
    "Ledger",
    "LedgerError",
    "LocalJudge",
    "Price",
    "Reply",
    "RetryPolicy",
    "Scores",
    "Status",
    "judge_answers",
    "judge_prompt",
    "parse_grade",
    "parse_verdict",
    "read_judgements",
]
