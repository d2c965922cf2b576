"""Finished SIPeN runs: answers with what is right, premise by premise."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from statistics import fmean
from typing import Any

from sozo.data.jsonl import read_objects
from sozo.data.schema import FAILED
from sozo.scoring.measure import Measure
from sozo.scoring.said import said
from sozo.tasks.finished import ITEMS, Finished
from sozo.tasks.sipen.items import CONTROL, FORMS, SipenItem, content_hash, trial_items
from sozo.tasks.sipen.tables import Reply

CONTROLS, IMPLICATURE, ENTAILMENT, NEITHER, UNPARSEABLE = (
    f"sipen/{name}" for name in ("controls", "implicature", "entailment", "neither", "unparseable")
)


def is_trial(settings: Mapping[str, Any]) -> bool:
    """Whether a run's items are sozo's own, which are not SIPeN."""
    return settings.get("items_sha256") == content_hash(trial_items())


class FinishedSipen(Finished):
    """Answers about hypotheses. What is resampled and paired are premises, for their hypotheses are not independent."""

    files = (ITEMS, "responses")
    same = ("items_sha256", "sipen_prompt", "sipen_context")

    def other_items(self) -> tuple[str, ...]:
        return (said("{n} trial items", n=self.metrics["num_items"]),) if is_trial(self.settings) else ()

    @cached_property
    def asked(self) -> dict[str, SipenItem]:
        """The items, by id."""
        names = [field.name for field in fields(SipenItem)]
        rows = (row for _, row in read_objects(self.folder / ITEMS))
        return {row["id"]: SipenItem(**{name: row[name] for name in names}) for row in rows}

    @cached_property
    def replies(self) -> tuple[Reply, ...]:
        """What was answered."""
        read, came = FORMS[self.settings["sipen_prompt"]].read, (a for a in self.answers() if a.reason != FAILED)
        return tuple(Reply(self.asked[answer.item], read(answer.text)) for answer in came)

    def by_item(self, measure: Measure) -> Mapping[str, float | None]:
        """Premise -> mean over its answers with a value; of controls only where all three are answered.

        A premise is there if it has a hypothesis of the kind that the measure is about.
        """
        values: dict[str, list[float]] = {}
        for item in self.asked.values():
            if measure.name == UNPARSEABLE or (item.direction in CONTROL) == (measure.name == CONTROLS):
                values[item.premise_id] = []
        directions: defaultdict[str, set[str]] = defaultdict(set)
        for answer in self.answers():
            item = self.asked[answer.item]
            if measure.name in answer.values:
                values[item.premise_id].append(answer.values[measure.name])
                directions[item.premise_id].add(item.direction)
        for premise in values:
            if measure.name == CONTROLS and directions[premise] != set(CONTROL):
                values[premise] = []
        return {premise: fmean(of_premise) if of_premise else None for premise, of_premise in values.items()}
