"""Finished SIPeN runs: answers with what is right, premise by premise."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any

from sozo.data.schema import FAILED
from sozo.scoring.said import said
from sozo.tasks.finished import Finished
from sozo.tasks.sipen.items import SipenItem, content_hash, trial_items
from sozo.tasks.sipen.tables import Reply

CONTROLS, IMPLICATURE, ENTAILMENT, NEITHER, UNPARSEABLE = (
    f"sipen/{name}" for name in ("controls", "implicature", "entailment", "neither", "unparseable")
)


def is_trial(settings: Mapping[str, Any]) -> bool:
    """Whether a run's items are sozo's own, which are not SIPeN."""
    return settings.get("items_sha256") == content_hash(trial_items())


class FinishedSipen(Finished):
    """Answers about hypotheses. What is resampled and paired are premises, for their hypotheses are not independent."""

    same = ("items_sha256", "sipen_prompt", "sipen_context")

    def other_items(self) -> tuple[str, ...]:
        return (said("{n} trial items", n=self.metrics["num_items"]),) if is_trial(self.settings) else ()

    @cached_property
    def asked(self) -> dict[str, SipenItem]:
        """The items, by id."""
        names = [field.name for field in fields(SipenItem)]
        return {key: SipenItem(**{name: row[name] for name in names}) for key, row in self.items.items()}

    @cached_property
    def replies(self) -> tuple[Reply, ...]:
        """What was answered."""
        return tuple(Reply(self.asked[a.item], a.facts["reply"]) for a in self.scored if a.reason != FAILED)
