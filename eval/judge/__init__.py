"""Judging answers: prompt -> judge -> verdict -> ledger. Every reply is kept, none becomes a score by guessing."""

from eval.judge.endpoint import EndpointJudge
from eval.judge.judgement import Judgement
from eval.judge.ledger import Ledger, LedgerError, read_judgements
from eval.judge.local import LocalJudge
from eval.judge.price import Price
from eval.judge.prompts import JCQ_PROMPTS, SAT_PROMPT, judge_prompt
from eval.judge.protocol import Judge, JudgeError, Reply, Status
from eval.judge.retry import RetryPolicy
from eval.judge.run import Judging, judge_answers
from eval.judge.verdict import Scores, parse_grade, parse_verdict

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
