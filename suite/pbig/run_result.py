"""Finished PBIG runs: ideas with what their judges said."""

from dataclasses import asdict

from sozo.scoring.translatable import translatable
from sozo.suite.pbig.ideas import trial_patents
from sozo.suite.pbig.settings import digest
from sozo.tasks.run_result import RunResult


class PbigRunResult(RunResult):
    """Ideas with their scores."""

    same = ("patents_sha256", "pbig_language")
    wrong_form = ("no_json", "not_four_fields", "blank_field")

    @property
    def trial(self) -> bool:
        """Whether the patents are sozo's invented technologies."""
        return bool(
            self.settings["patents_sha256"] == digest(map(asdict, trial_patents()))
        )

    def other_items(self) -> tuple[str, ...]:
        return (
            (
                translatable(
                    "{n} trial technologies by sozo", n=self.metrics["num_items"]
                ),
            )
            if self.trial
            else ()
        )
