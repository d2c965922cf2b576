"""Finished SIPeN runs, and the names of their measures."""

from collections.abc import Mapping
from typing import Any

from sozo.scoring.translatable import translatable
from sozo.suite.sipen.items import trial_hash
from sozo.tasks.run_result import RunResult

CONTROLS, IMPLICATURE, ENTAILMENT, NEITHER, UNPARSEABLE = (
    f"sipen/{name}"
    for name in ("controls", "implicature", "entailment", "neither", "unparseable")
)


def is_trial(settings: Mapping[str, Any]) -> bool:
    """Whether a run's items are sozo's own, which are not SIPeN."""
    return settings.get("items_sha256") == trial_hash()


class SipenRunResult(RunResult):
    """Answers about hypotheses."""

    same = ("items_sha256", "sipen_prompt", "sipen_context")

    def formed(self, reason: str | None, facts: Mapping[str, Any]) -> bool:
        return facts.get("reply", "") is not None

    def other_items(self) -> tuple[str, ...]:
        return (
            (translatable("{n} trial items by sozo", n=self.metrics["num_items"]),)
            if is_trial(self.settings)
            else ()
        )
