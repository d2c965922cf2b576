"""A task whose answers a judge scores."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from sozo.scoring.endpoint.bill import BILL, Bill, check_limit
from sozo.scoring.endpoint.client import Endpoint
from sozo.scoring.judges.protocol import Judge, JudgeSettings, Rubric
from sozo.scoring.judges.run import JudgeSession, Judging
from sozo.tasks.task import Answer, Complete, Item, Row, Task

LEDGER = "judgements.jsonl"


class JudgedTask(Task):
    """Base class of tasks that are scored all at once, by the judge that their settings name."""

    settings: JudgeSettings

    def __init__(self, settings: Any = None) -> None:
        super().__init__(settings)
        self.judge_settings = self.settings
        self.again = self.settings.retry_unjudged

    @cached_property
    def session(self) -> JudgeSession:
        """The judge, with a budget for all runs of a command together."""
        return JudgeSession(self.known_judge, self.settings, self.budget)

    def charge(self, folder: Path) -> None:
        """From now on what a judge behind an endpoint is asked stands on the bill of this run."""
        if isinstance(self.judge, Endpoint):
            how = self.settings.price(), self.judge.max_tokens, self.budget
            self.judge.bill = Bill(folder / BILL, "judge", *how)

    @property
    def asked_by(self) -> tuple[Rubric, ...]:
        """By which of its rubrics the judge is asked about an answer: once by each, at most."""
        return self.rubrics

    @property
    def known_judge(self) -> Judge:
        """The judge, which must be there before anybody is asked; so must both of its prices, or none and no budget."""
        price = self.settings.price()
        if self.judge is None:
            raise ValueError(
                "the task has no judge: set `judge` to one made of its `judge_settings`"
            )
        check_limit(self.settings.max_cost, "judge", price, self.judge.max_tokens)
        return self.judge

    def judged(
        self, items: Sequence[Item], answers: Sequence[Answer], ledger: Path
    ) -> tuple[list[Row], Judging]:
        """Have the answers judged, as far as the ledger lacks judgements: what each is worth, and what it took."""
        raise NotImplementedError

    def columns(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> dict[str, Any]:
        """None: nobody is asked before all answers are there."""
        return {}

    def finish(self, run: Complete) -> dict[str, Any]:
        """Who judged by which prompt, too, and how the judgements ended."""
        judge, judging = self.deciding()["judge"], run.judging or Judging()
        return super().finish(run) | {
            "judge": judge["model"],
            "prompt": judge["prompt"],
            "statuses": judging.statuses,
        }

    def facts(self) -> dict[str, Any]:
        return {"judge": self.settings.record(self.judge)} if self.judge else {}
