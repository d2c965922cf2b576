"""SIPeN as a task: items of the user's own copy of the paper's stories, of any file, or our Japanese trial set."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.schema import ERROR
from sozo.data.settings import rare_setting, setting
from sozo.scoring.measure import Measure
from sozo.suite.sipen.items import (
    CONTROL,
    FORMS,
    STRONGER,
    WEAKER,
    Form,
    SipenItem,
    content_hash,
    read_items,
    trial_items,
)
from sozo.suite.sipen.personabank import sipen_items
from sozo.suite.sipen.run_result import (
    CONTROLS,
    ENTAILMENT,
    IMPLICATURE,
    NEITHER,
    UNPARSEABLE,
    SipenRunResult,
)
from sozo.suite.sipen.tables import LABELS, SipenReply, tables
from sozo.suite.sipen.view import SipenView
from sozo.tasks.held_out import fingerprint, refuse
from sozo.tasks.task import Answer, Complete, Control, Item, Row, Task


@dataclass(frozen=True)
class SipenSettings:
    """Which items are asked, and how."""

    sipen_items: str | None = setting(
        None,
        "JSONL of items, as sipen-items makes them (default: sozo's Japanese trial set).",
        affects_result=False,
    )
    sipen_prompt: str | None = rare_setting(
        None,
        "sipen-v1, the paper's; sipen-ja-v1, it in Japanese; sipen-ja-v2, ours (default of the trial; else sipen-v1).",
    )
    sipen_context: str = rare_setting(
        "all", "all (the sentences before the premise) or none."
    )


class Sipen(Task):
    """Hypotheses about premises. On the paper's own hypotheses No is always the implicature: controls tell more."""

    name = "sipen"
    title = "Scalar implicatures"
    Settings = SipenSettings
    measures = (
        Measure(CONTROLS, share=True, kinds=tuple(CONTROL)),
        Measure(IMPLICATURE, share=True, better=0, kinds=(STRONGER, WEAKER)),
        Measure(ENTAILMENT, share=True, better=0, kinds=(STRONGER, WEAKER)),
        Measure(NEITHER, share=True, better=-1, kinds=(STRONGER, WEAKER)),
        Measure(UNPARSEABLE, share=True, better=-1, compared=False),
    )
    control = Control(measure=measures[0], chance=1 / 3, errors=measures[3])
    max_new_tokens = 16
    temperature = 1e-4
    result_type = SipenRunResult
    view = SipenView()
    commands = (sipen_items,)
    settings: SipenSettings

    @cached_property
    def asked(self) -> tuple[SipenItem, ...]:
        """What is asked."""
        path = self.settings.sipen_items
        return read_items(Path(path)) if path else trial_items()

    @cached_property
    def form_name(self) -> str:
        """Name of the prompt."""
        name = self.settings.sipen_prompt or (
            "sipen-v1" if self.settings.sipen_items else "sipen-ja-v2"
        )
        if name not in FORMS:
            raise UserError(
                f"sipen_prompt must be one of {', '.join(FORMS)}, not {name}"
            )
        return name

    @property
    def form(self) -> Form:
        """The prompt, with the words of its answers."""
        return FORMS[self.form_name]

    def items(self) -> Sequence[Item]:
        if (context := self.settings.sipen_context) not in ("all", "none"):
            raise UserError(f"sipen_context must be all or none, not {context}")
        asks = self.form.ask
        # What is resampled and paired are premises, for their hypotheses are not independent.
        return [
            Item(
                i.id,
                asks(i, context=context == "all"),
                _columns(i),
                group=i.direction,
                unit=i.premise_id,
            )
            for i in self.asked
        ]

    def deciding(self) -> dict[str, Any]:
        """The items' content, and how they are asked."""
        items = {"items_sha256": content_hash(self.asked)}
        return items | super().deciding() | {"sipen_prompt": self.form_name}

    def facts(self) -> dict[str, Any]:
        return {
            "items": self.settings.sipen_items
            or "sozo's Japanese trial set, which is not SIPeN"
        }

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        replies = [self.form.read(answer.text) for answer in answers]
        return [
            _row(str(item.columns["direction"]), reply)
            for item, reply in zip(items, replies, strict=True)
        ]

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """The trial's premises and hypotheses, in whatever prompt or column."""
        refuse(
            items,
            _held_out(),
            "premises of SIPeN's trial set",
            lambda text: [re.split("[:：]", line)[-1] for line in text.splitlines()],
        )

    def finish(self, run: Complete) -> dict[str, Any]:
        """Tables 4 to 6, controls, answers."""
        finished = self.written(run.folder)
        asked = {item.id: item for item in self.asked}
        metrics = finished.summarised(self.measures, run.source)
        came = (a for a in finished.scored if a.reason != ERROR)
        replies = [
            SipenReply(asked[answer.item], answer.facts["reply"]) for answer in came
        ]
        unparseable = sum(reply.answer is None for reply in replies)
        return {
            **metrics,
            "num_premises": len({item.premise_id for item in self.asked}),
            "usable": len(replies) - unparseable,
            "reasons": {
                "unparseable": unparseable,
                ERROR: metrics["num_answers"] - len(replies),
            },
            **tables(replies, self.asked),
        }


def _columns(item: SipenItem) -> dict[str, Any]:
    values = asdict(item)
    del values["id"]
    return values


def _row(direction: str, answer: str | None) -> Row:
    """An answer that is none of the options is wrong by every label."""
    values = {UNPARSEABLE: float(answer is None)}
    if direction in CONTROL:
        return Row(
            values | {CONTROLS: float(answer == CONTROL[direction])},
            facts={"reply": answer},
        )
    by_label = {
        f"sipen/{name}": float(answer == labels[direction])
        for name, labels in LABELS.items()
    }
    return Row(
        values | by_label | {NEITHER: float(not any(by_label.values()))},
        facts={"reply": answer},
    )


@cache
def _held_out() -> frozenset[str]:
    texts = ((i.premise, i.context + i.premise, i.hypothesis) for i in trial_items())
    return frozenset(fingerprint(text) for of_item in texts for text in of_item)
