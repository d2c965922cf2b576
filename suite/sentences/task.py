"""sentences: one sentence with two given nouns; what is usable and what is new is counted, without encoder or judge."""

import csv
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

from sozo.data.errors import UserError
from sozo.data.prompts import fill, prompt
from sozo.data.schema import iter_tables, part_paths, write_columns
from sozo.data.settings import Checked, rare_setting, setting
from sozo.models.likelihood import bits_per_character
from sozo.models.weights import load_model
from sozo.scoring.final_text import final_text
from sozo.scoring.measure import Measure
from sozo.suite.sentences.sentence import LENGTHS, read_sentence
from sozo.tasks.held_out import fingerprint, refuse
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Answer, ChosenItems, Complete, Item, Row, known_columns
from sozo.tasks.view import View

SPLITS = TRAIN, CHOOSE, TEST = "train", "choose", "test"
_NEW = "sentences"
_USABLE = "sentences/usable"
_SENTENCES = "sentences/different_sentences"
_WORDS = "sentences/content_words"
_BITS = "sentences/bits_per_character"
_NOTHING = dict.fromkeys((_NEW, _USABLE, _SENTENCES, _WORDS), 0.0)


@dataclass(frozen=True)
class SentencesSettings(Checked):
    """Which pairs are asked."""

    sentences_language: str = setting("ja", "ja or en.")
    sentences_split: str = setting(
        TEST, "test, choose (for settings and checkpoints) or train; no noun is in two."
    )
    sentences_items: int = setting(256, "Pairs of nouns at most.", least=1)
    fluency_model: str | None = rare_setting(
        None,
        "Model, untrained here, that says how likely usable sentences are (default: none).",
    )


class SentencesRunResult(RunResult):
    """Sentences, each with why it is none."""

    wrong_form = ("prompt_again", "decorated", "no_end", "not_one", "other_language")


class Sentences(ChosenItems):
    """Write one sentence with two nouns; of 16 answers to a pair those count that are usable and new.

    >>> Sentences().items()[0].prompt
    '「算盤」と「黒板」の両方の語を使って、15字から120字の文を一つ書いてください。'
    """

    name = "sentences"
    title = "One sentence with two nouns"
    Settings = SentencesSettings
    measures = (
        Measure(_NEW, together=True, scale=(0, 1)),
        Measure(_USABLE, share=True, together=True),
        Measure(_SENTENCES, together=True, scale=(0, 1)),
        Measure(_WORDS, 2, unit="words", together=True),
        Measure(_BITS, 3, unit="bits", better=0),
    )
    unusable_is_0 = measures[:4]
    curve = measures[1], measures[0]
    only_if_named = False
    answers_per_item = 16
    max_new_tokens = 256
    result_type = SentencesRunResult
    view = View(__file__)
    settings: SentencesSettings

    @classmethod
    def beside(cls) -> tuple[Measure, ...]:
        """Usable answers, and different content words."""
        return cls.measures[1], cls.measures[3]

    def items(self) -> Sequence[Item]:
        asked = self.settings
        if (
            asked.sentences_language not in LENGTHS
            or asked.sentences_split not in SPLITS
        ):
            raise UserError(
                f"sentences_language must be one of {', '.join(LENGTHS)} and sentences_split one of "
                f"{', '.join(SPLITS)}, not {asked.sentences_language} and {asked.sentences_split}"
            )
        own = _pairs(asked.sentences_language, asked.sentences_split)
        return own[: asked.sentences_items]

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        """Why an answer is not usable by itself; what it is worth shows among others."""
        rows = []
        for item, answer in zip(items, answers, strict=True):
            pair = item.columns["first"], item.columns["second"]
            reason, read = read_sentence(
                answer.text, item.prompt, pair, item.columns["language"]
            )
            facts = {"frame": read.frame, "words": read.words} if read else {}
            rows.append(Row(dict(_NOTHING) if reason else {}, reason, facts))
        return rows

    def with_others(
        self, items: Sequence[Item], answers: Sequence[Answer], rows: Sequence[Row]
    ) -> list[Row]:
        """What usable answers are worth among all of these: frames are counted over all items, the rest within each."""
        result = list(rows)
        usable = [k for k, row in enumerate(rows) if row.reason is None]
        askers = defaultdict(set)
        for k in usable:
            askers[rows[k].facts["frame"]].add(items[k].id)
        half = len({item.id for item in items}) / 2
        for k in usable:
            if len(askers[rows[k].facts["frame"]]) > max(1, half):
                result[k] = Row(_NOTHING, "shared_frame", rows[k].facts)
        new = [k for k in usable if result[k].reason is None]
        facts = [rows[k].facts for k in new]
        ids = [items[k].id for k in new]
        texts = [final_text(answers[k].text) for k in new]
        values = zip(
            portions([[own["frame"]] for own in facts]),
            portions([[pair] for pair in zip(ids, texts, strict=True)]),
            portions(
                [
                    [(name, word) for word in own["words"]]
                    for name, own in zip(ids, facts, strict=True)
                ]
            ),
            strict=True,
        )
        for k, (frame, text, words) in zip(new, values, strict=True):
            worth = {_NEW: frame, _USABLE: 1.0, _SENTENCES: text, _WORDS: words}
            result[k] = Row(worth, None, rows[k].facts)
        return result

    def finish(self, run: Complete) -> dict[str, Any]:
        """What answers are worth among those of the whole run: parts were scored as they came."""
        paths = part_paths(run.folder)
        names = [field.name for field in fields(Answer)]
        parts = [table.to_pylist() for table in iter_tables(run.folder, names)]
        answers = [Answer(**row) for part in parts for row in part]
        items = {item.id: item for item in self.items()}
        asked = [items[answer.item] for answer in answers]
        columns = known_columns(answers) | self.columns(asked, answers)
        if name := self.settings.fluency_model:
            usable = [k for k, reason in enumerate(columns["reason"]) if reason is None]
            texts = [final_text(answers[k].text) or "" for k in usable]
            bits = bits_per_character(*load_model(name), texts)
            for k, of_text in zip(usable, bits, strict=True):
                columns["values"][k] |= {} if of_text is None else {_BITS: of_text}
        start = 0
        for path, part in zip(paths, parts, strict=True):
            own = slice(start, start + len(part))
            write_columns(path, {name: values[own] for name, values in columns.items()})
            start = own.stop
        return super().finish(run)

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """Pairs that are not for training, in the prompt's words."""
        held_out = {
            fingerprint(item.prompt)
            for language in LENGTHS
            for split in (CHOOSE, TEST)
            for item in _pairs(language, split)
        }
        refuse(items, held_out, "pairs of sentences that are not of its split train")


def portions(answers: Sequence[Sequence[Hashable]]) -> list[float]:
    """Of each answer its portion of what is different: 1/k for each thing of it that k answers have.

    They add up to the number of different things, the Hill number of order 0.

    >>> portions([["犬", "海"], ["海"], ["海", "川"]])
    [1.3333333333333333, 0.3333333333333333, 1.3333333333333333]
    """
    counts = Counter(thing for things in answers for thing in things)
    return [sum(1 / counts[thing] for thing in things) for things in answers]


@cache
def _pairs(language: str, split: str) -> tuple[Item, ...]:
    table = files(__package__).joinpath("pairs.csv").read_text("utf-8").splitlines()
    asks = prompt(f"prompt_{language}", __package__)
    items = []
    for row in csv.DictReader(table):
        band = row.pop("band")
        if (row.pop("split"), row["language"]) == (split, language):
            asked = fill(asks, first=row["first"], second=row["second"])
            name = f"{row['first']}-{row['second']}"
            items.append(Item(name, asked, row, group=band))
    return tuple(items)
