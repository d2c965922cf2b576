"""Small stand-ins at the scorer's two seams and the judge's, and the text that a model should write."""

from dataclasses import dataclass, fields

import numpy as np

from sozo.data.schema import iter_tables, utf8_safe, write_columns
from sozo.models import processes
from sozo.scoring.endpoint.client import Reply
from sozo.scoring.final_text import completion_text
from sozo.scoring.nouns import NounVerdict


def list_text(words):
    """The words as the list that the DAT prompt asks for."""
    return "\n".join(f"{k}. {word}" for k, word in enumerate(words, 1))


def characters(completions, **kwargs):
    """A reward that differs between nearly any two answers: how many different characters each has."""
    return [float(len(set(completion_text(completion)))) for completion in completions]


class FakeNouns:
    """A noun checker that knows its nouns by name; `representatives` maps a word to its 代表表記."""

    name = "fake nouns"

    def __init__(self, nouns, proper=(), wikipedia=(), representatives=None):
        self.nouns, self.proper, self.wikipedia = (
            set(nouns),
            set(proper),
            set(wikipedia),
        )
        self.representatives = representatives or {}
        self.asked = []

    def check(self, words):
        self.asked += words
        return [
            NounVerdict(
                True,
                w in self.proper,
                w in self.wikipedia,
                self.representatives.get(w, w),
            )
            if w in self.nouns
            else NounVerdict(False)
            for w in words
        ]


class FakeEncoder:
    """An encoder with the vectors given; a word it does not know gets zeros. Remembers its batches."""

    def __init__(self, vectors, name="fake encoder", revision="1"):
        self.vectors = {
            word: np.asarray(vector, np.float32) for word, vector in vectors.items()
        }
        self.name, self.revision = name, revision
        self.batches = []

    @property
    def calls(self):
        return len(self.batches)

    def encode(self, words):
        self.batches.append(list(words))
        zero = np.zeros(len(next(iter(self.vectors.values()))), np.float32)
        return np.stack([self.vectors.get(word, zero) for word in words])


# One word per axis: the distance of any two is exactly 1, so a list of ten different ones scores exactly 1.
AXES = tuple("犬猫水山川本車空海石木花")


def axis_encoder(words=AXES, **kwargs):
    return FakeEncoder(dict(zip(words, np.eye(len(words)), strict=True)), **kwargs)


class FakeJudge:
    """A judge that takes its replies from `reply(prompt)`: texts, `Reply`s or exceptions. Remembers its prompts."""

    def __init__(self, reply, name="fake judge", concurrency=4, max_tokens=50):
        self.reply, self.name, self.concurrency, self.max_tokens = (
            reply,
            name,
            concurrency,
            max_tokens,
        )
        self.parameters = {"temperature": 0.0}
        self.asked, self.closed = [], 0

    async def ask(self, prompt):
        self.asked.append(prompt)
        reply = self.reply(prompt)
        if isinstance(reply, Exception):
            raise reply
        return (
            reply
            if isinstance(reply, Reply)
            else Reply(reply, False, "stop", "r", 100, 20)
        )

    async def close(self):
        self.closed += 1

    def describe(self):
        return {"model": self.name, **self.parameters}


@dataclass(frozen=True, slots=True)
class Answer:
    """A row of a table of DAT."""

    id: str  # unique inside a table
    source: str  # who wrote it: a model's name, `random`, or a file
    seed: int | None  # of the run that drew it; None when somebody else generated it
    text: str  # as it was written, but for lone surrogates (`utf8_safe`)
    words: tuple[str, ...] | None = (
        None  # the ten words; None when the text is no list of ten
    )
    score: float | None = None  # DAT score, 0 to 2; None when unusable
    reason: str | None = None  # a `Reason` value; None when usable
    temperature: float | None = None  # of the sampling, if known
    finish_reason: str | None = None  # `stop` or `length`, if known


def write_answer_table(path, answers):
    """Write rows as one parquet part (see `write_columns`)."""
    names = [field.name for field in fields(Answer)]
    columns = {name: [getattr(r, name) for r in answers] for name in names}
    columns["text"] = [utf8_safe(t) for t in columns["text"]]
    columns["words"] = [w and [utf8_safe(x) for x in w] for w in columns["words"]]
    write_columns(path, columns)


def read_answer_table(path):
    """Every row of a table of DAT, in order; see `part_paths`."""
    for table in iter_tables(path, [field.name for field in fields(Answer)]):
        for row in table.to_pylist():
            words = row.pop("words")
            yield Answer(words=None if words is None else tuple(words), **row)


def merge(adapter, folder, dtype):
    """Merge a LoRA adapter as the command of `sozo.models.weights` does."""
    words = str(adapter), str(folder), dtype
    processes.run_module("sozo.models.weights", *words, failure="not merged")
