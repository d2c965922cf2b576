"""PBIG with a judge for each expert, who is shown what she gave to ideas for other patents: no person's rating."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from sozo.scoring.judges.protocol import ToJudge
from sozo.scoring.judges.run import Judging
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.statistics import mean_interval
from sozo.scoring.table import Cell
from sozo.studies.experts.histories import Expert
from sozo.suite.pbig.rows import WORTH, values_of
from sozo.suite.pbig.run_result import PbigRunResult
from sozo.suite.pbig.settings import PbigSettings, digest
from sozo.suite.pbig.stages import Opinion, judge_in_stages
from sozo.suite.pbig.task import Opinions, Pbig
from sozo.suite.pbig.view import PbigView
from sozo.tasks.task import Complete
from sozo.tasks.view import TERMINAL, RunColumn


class _View(PbigView):
    """What ideas are worth to each expert's judge, too."""

    def columns(
        self, measures: Sequence[Measure], runs: Sequence[PbigRunResult]
    ) -> list[RunColumn]:
        """Those of any run, and one for each expert."""
        experts = dict.fromkeys(name for run in runs for name in run.metrics["experts"])
        columns = super().columns(measures, runs)
        return columns + [
            RunColumn(f"worth to {name}", partial(_worth_to, name), shown=TERMINAL)
            for name in experts
        ]


def _worth_to(expert: str, run: PbigRunResult) -> Cell:
    worth = Estimate(**run.metrics["experts"][expert])
    return Cell(worth, Measure(WORTH, 3), of=run.metrics["num_answers"])


class PbigAsExperts(Pbig):
    """Each value of an idea is the mean over the experts' judges that have it."""

    view = _View()

    def __init__(self, settings: PbigSettings, experts: Sequence[Expert]) -> None:
        super().__init__(settings)
        self.experts = experts
        self._worth: dict[
            str, list[float]
        ] = {}  # by expert, of the ideas that have one

    def deciding(self) -> dict[str, Any]:
        """Whose history the judges are shown, too."""
        deciding = super().deciding()
        imitated = {
            "experts": [expert.name for expert in self.experts],
            "history_sha256": digest(map(asdict, self.experts)),
        }
        return deciding | {"judge": deciding["judge"] | imitated}

    def opinions(
        self, ideas: Sequence[ToJudge], ledger: Path
    ) -> tuple[Opinions, Judging]:
        """What each expert's judge says, its criteria after her name, and the means."""
        total, opinions = Judging(), {idea.id: Opinion() for idea in ideas}
        self._worth = {expert.name: [] for expert in self.experts}
        values: dict[str, defaultdict[str, list[float]]] = {
            idea.id: defaultdict(list) for idea in ideas
        }
        for expert in self.experts:
            asked = [
                replace(idea, id=f"{idea.id} {expert.name}", group=expert.name)
                for idea in ideas
            ]
            own, judging = judge_in_stages(
                self.session, asked, ledger, expert.criteria, expert.examples
            )
            total.add(judging)
            for idea, opinion in zip(ideas, own.values(), strict=True):
                for name, value in values_of(opinion.scores, expert.criteria).items():
                    values[idea.id][name].append(value)
                    if name == WORTH:
                        self._worth[expert.name].append(value)
                for name in ("scores", "notes", "failed"):
                    said = {
                        f"{expert.name}, {criterion}": what
                        for criterion, what in getattr(opinion, name).items()
                    }
                    getattr(opinions[idea.id], name).update(said)
        means = {
            idea: {name: fmean(each) for name, each in of_idea.items()}
            for idea, of_idea in values.items()
        }
        return {
            idea: (means[idea], opinion) for idea, opinion in opinions.items()
        }, total

    def finish(self, run: Complete) -> dict[str, Any]:
        """What ideas are worth to each expert's judge, too."""
        means = {name: mean_interval(worth) for name, worth in self._worth.items()}
        return super().finish(run) | {
            "experts": {name: mean.to_json() for name, mean in means.items()}
        }
