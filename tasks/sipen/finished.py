"""Finished SIPeN runs: answers with what is right, premise by premise."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any

from sozo.data.jsonl import read_objects
from sozo.scoring.measure import Measure
from sozo.tasks.finished import ITEMS, Finished
from sozo.tasks.sipen.items import CONTROL, FORMS, SipenItem, content_hash, trial_items
from sozo.tasks.sipen.tables import Reply

CONTROLS, IMPLICATURE, ENTAILMENT, UNPARSEABLE = (
    f"sipen/{name}" for name in ("controls", "implicature", "entailment", "unparseable")
)


def is_trial(settings: Mapping[str, Any]) -> bool:
    """Whether a run's items are sozo's own, which are not SIPeN."""
    return settings.get("items_sha256") == content_hash(trial_items())


class FinishedSipen(Finished):
    """Answers about hypotheses. What is resampled and paired are premises, for their hypotheses are not independent."""

    files = (ITEMS, "responses")
    same = ("items_sha256", "sipen_prompt", "sipen_context")

    @cached_property
    def asked(self) -> dict[str, SipenItem]:
        """The items, by id."""
        names = [field.name for field in fields(SipenItem)]
        rows = (row for _, row in read_objects(self.folder / ITEMS))
        return {row["id"]: SipenItem(**{name: row[name] for name in names}) for row in rows}

    @cached_property
    def replies(self) -> tuple[Reply, ...]:
        """What was answered."""
        form = FORMS[self.settings["sipen_prompt"]]
        return tuple(Reply(self.asked[answer.item], form.read(answer.text)) for answer in self.answers())

    def by_item(self, measure: Measure) -> Mapping[str, float | None]:
        """Premise -> mean over its answers with a value; of controls only where all three are answered."""
        sums: dict[str, list[float]] = {}
        controls: dict[str, set[str]] = {}
        for answer in self.answers():
            item = self.asked[answer.item]
            if measure.name in answer.values:
                sums.setdefault(item.premise_id, []).append(answer.values[measure.name])
                controls.setdefault(item.premise_id, set()).add(item.direction)
        whole = {name for name in sums if measure.name != CONTROLS or controls[name] == set(CONTROL)}
        means = {name: sum(values) / len(values) for name, values in sums.items() if name in whole}
        return {premise: means.get(premise) for premise in self._premises(measure)}

    def counts(self, measure: Measure) -> tuple[int, int]:
        """Premises with a value, among those that are asked about it."""
        values = self.by_item(measure)
        return sum(value is not None for value in values.values()), len(values)

    def _premises(self, measure: Measure) -> dict[str, None]:
        """Those with a hypothesis of the kind that the measure is about."""
        items = self.asked.values()
        if measure.name != UNPARSEABLE:
            items = [item for item in items if (item.direction in CONTROL) == (measure.name == CONTROLS)]  # type: ignore[assignment]
        return dict.fromkeys(item.premise_id for item in items)
