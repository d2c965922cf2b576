"""Judges 700 answers, as a process that a test can kill: `python judge_worker.py URL LEDGER SUMMARY`."""

import json
import sys
from pathlib import Path

from sozo.scoring.endpoint.pace import RetryPolicy
from sozo.scoring.judges.endpoint import EndpointJudge
from sozo.scoring.judges.protocol import JudgeSettings, ToJudge
from sozo.scoring.judges.run import judge_answers
from sozo.tasks.jcq.rubric import JCQ_V1

ANSWERS = [ToJudge(f"a{k}", str(k), f"問い{k}番", f"答え{k}") for k in range(700)]

if __name__ == "__main__":
    url, ledger, summary = sys.argv[1:]
    retry = RetryPolicy(retries=40, first_wait=0.02, longest_wait=0.5, patience=60)
    judge = EndpointJudge(
        "judge", base_url=url, concurrency=20, timeout=1.5, retry=retry
    )
    done = judge_answers(
        judge,
        JCQ_V1,
        ANSWERS,
        Path(ledger),
        JudgeSettings(judge_price_in=1.0, judge_price_out=2.0),
    )
    facts = {
        "statuses": done.statuses,
        "requests": done.requests,
        "cost": done.cost,
        "unknown": done.unknown_cost,
    }
    tokens = {
        "prompt_tokens": done.prompt_tokens,
        "completion_tokens": done.completion_tokens,
    }
    Path(summary).write_text(json.dumps({**facts, **tokens}))
