"""Judges World W over HTTP, for tests that kill it: `python expert_worker.py URL FOLDER [--retry-unjudged]`."""

import sys
from pathlib import Path

from expert_world import RUBRIC, world
from sozo.scoring.endpoint.pace import RetryPolicy
from sozo.scoring.endpoint.profile import Profile
from sozo.scoring.judges.endpoint import EndpointJudge
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.studies.experts.histories import Plan, conditions_of
from sozo.studies.experts.run import judge_experts
from sozo.studies.experts.settings import ExpertSettings

CONDITIONS = conditions_of(["zero", "same"], [2])
RATINGS = [rating for rating in world(1, 0.3) if rating.rater in ("r0", "r4", "r8")]
PLAN = Plan(RATINGS, RUBRIC, CONDITIONS)

if __name__ == "__main__":
    url, folder, *retry = sys.argv[1:]
    policy = RetryPolicy(retries=40, first_wait=0.02, longest_wait=0.3, patience=60)
    judges = [
        EndpointJudge(
            "judge",
            base_url=url,
            concurrency=16,
            timeout=2.0,
            retry=policy,
            profile=Profile(
                server="stand-in", temperature=0.7, extra_body={"seed": seed}
            ),
        )
        for seed in range(3)
    ]
    settings = JudgeSettings(
        judge_model="judge",
        judge_price_in=1.0,
        judge_price_out=2.0,
        retry_unjudged=bool(retry),
    )
    judge_experts(PLAN, judges, Path(folder), settings, ExpertSettings())
