"""hivemind: open prompts, each answered several times; the score is how alike the answers to one prompt are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.jsonl import id_column, read_records, text_column
from sozo.data.prompts import fill, prompt
from sozo.data.schema import utf8_safe
from sozo.data.settings import Checked, rare_setting, setting
from sozo.scoring.distance import distance_to_others
from sozo.scoring.embeddings import DEFAULT_ENCODER, Encoder, WordVectors, make_encoder
from sozo.scoring.final_text import Ending, refuses
from sozo.scoring.measure import Measure
from sozo.suite.hivemind.run_result import FORMS, MEANS, HivemindRunResult
from sozo.tasks.held_out import fingerprint, refuse
from sozo.tasks.sat.gate import not_prose
from sozo.tasks.sat.score import TEXT_LIMIT, what_counts
from sozo.tasks.task import Answer, ChosenItems, Complete, Item, Row
from sozo.tasks.view import View

UNPAIRED = "unpaired"  # there is no other usable answer to its prompt, or an encoder has no vector for it


@dataclass(frozen=True)
class HivemindSettings(Checked):
    """What can be set about hivemind."""

    hivemind_prompts: str | None = setting(
        None,
        "JSONL file of prompts (column prompt, optional id; default: the 100 packaged ones).",
        affects_result=False,
    )
    hivemind_length: int = rare_setting(
        80, "Characters to which answers are cut; a shorter one has no score.", least=50
    )
    hivemind_embedding_model: str = setting(DEFAULT_ENCODER, "Encoder of the answers.")
    hivemind_second_encoder: str = setting(
        "e5", "Second encoder, which nobody trains on; empty for none."
    )


class Hivemind(ChosenItems):
    """Answer an open question in prose; a model that always says the same is a hivemind of one.

    >>> len(Hivemind().items())
    100
    """

    name = "hivemind"
    title = (
        "How alike the answers to one open prompt are (never run on a capable model)"
    )
    Settings = HivemindSettings
    measures = tuple(
        Measure(name, together=True, better=-1, scale=(-1, 1)) for name in FORMS
    )
    answers_per_item = 8
    result_type = HivemindRunResult
    view = View(__file__)
    settings: HivemindSettings

    def items(self) -> Sequence[Item]:
        return _read_prompts(self.settings.hivemind_prompts)

    @cached_property
    def encoders(self) -> tuple[Encoder, ...]:
        """One or two, loaded when first needed."""
        names = [
            self.settings.hivemind_embedding_model,
            *filter(None, [self.settings.hivemind_second_encoder]),
        ]
        return tuple(make_encoder(name, texts=True) for name in names)

    def describe(self) -> dict[str, Any]:
        return {
            f"encoder_{k}": WordVectors(encoder).describe()
            for k, encoder in enumerate(self.encoders, 1)
        }

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        """Why an answer cannot be compared with others, if it cannot; alone it has no value."""
        return [
            Row(reason=incomparable(answer.text, self.settings.hivemind_length))
            for answer in answers
        ]

    def score_together(
        self, item: Item, answers: Sequence[Answer], rows: Sequence[Row]
    ) -> list[Row]:
        """Mean cosine similarity of each answer to the others."""
        result = [Row(reason=UNPAIRED)] * len(rows)
        units = self.units([answer.text for answer in answers])
        places = np.flatnonzero(
            np.all([unit.any(axis=1) for unit in units.values()], axis=0)
        )
        if len(places) > 1:
            shares = {
                name: 1 - distance_to_others(unit, places[None])[0]
                for name, unit in units.items()
            }
            for number, place in enumerate(places):
                result[place] = Row(
                    {name: float(share[number]) for name, share in shares.items()}
                )
        return result

    def units(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Name in FORMS -> unit vectors of the texts, (texts, dimensions); zeros for a text that has none."""
        answers, units = [plain(text) for text in texts], {}
        for k, encoder in enumerate(self.encoders):
            # New each time: in a long training a cache would keep the vectors of all answers.
            vectors = WordVectors(encoder)
            for name, length in zip(
                FORMS[k::2], (self.settings.hivemind_length, TEXT_LIMIT), strict=True
            ):
                units[name] = vectors.unit([answer[:length] for answer in answers])
        return units

    def finish(self, run: Complete) -> dict[str, Any]:
        """Keep, for each prompt and form, the mean of its answers' unit vectors; zeros for a prompt without an answer.

        By these models are compared with each other (`HivemindRunResult.between`), without an encoder.
        """
        finished, means = self.written(run.folder), {}
        answers = [row for row in finished.scored if row.reason in (None, UNPAIRED)]
        own = [
            np.array([answer.item == item.id for answer in answers], bool)
            for item in self.items()
        ]
        for name, unit in self.units([answer.text for answer in answers]).items():
            means[name] = np.array(
                [unit[of_item].sum(axis=0) / max(1, of_item.sum()) for of_item in own],
                np.float32,
            )
        np.savez(run.folder / MEANS, **means)  # type: ignore[arg-type]
        return finished.summarised(self.measures, run.source)

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """The 100 packaged prompts: train on others, and measure on these."""
        held_out = {
            fingerprint(item.prompt.splitlines()[0]) for item in _read_prompts(None)
        }
        refuse(items, held_out, "prompts of hivemind")


def plain(text: str) -> str:
    """What of a model's text is its answer, in one line."""
    return " ".join(utf8_safe(what_counts(text)[0]).split())


def incomparable(text: str, length: int) -> str | None:
    """Why a text is no answer that can be compared; None if it is. It must be prose, and so must its beginning.

    >>> incomparable("申し訳ありませんが、それにはお答えできません。", 80), incomparable("短い。", 80)
    ('refusal', 'short')
    """
    answer = plain(text)
    refused = Ending.REFUSED if refuses(answer) else None
    short = "short" if len(answer) < length else None
    wrong = (
        what_counts(text)[1]
        or refused
        or short
        or not_prose(answer[:length])
        or not_prose(answer[:TEXT_LIMIT])
    )
    return wrong and str(wrong)


def _read_prompts(path: str | None) -> tuple[Item, ...]:
    packaged = str(files(__package__).joinpath("hivemind_ja.jsonl"))
    return read_records(
        Path(path or packaged), _item, "prompts", '{"id": "...", "prompt": "..."}'
    )


def _item(where: str, row: dict[str, Any]) -> Item:
    # Else its line
    name = id_column(row, "id", where, default=where.rpartition(" ")[2])
    return Item(
        name,
        fill(prompt("prompt", __package__), topic=text_column(row, "prompt", where)),
    )
