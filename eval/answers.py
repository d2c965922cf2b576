"""Answers to many prompts, JCQ's questions or SAT's stories, as the same table of parts that DAT responses go to.

A row's id is the item's id and the answer's number. A part depends on (seed, its number) alone, so a killed call is
repeated to go on, and any number of processes can share the work (`eval.responses` does the same for one prompt).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from data.parts import Columns, is_there, parts_of, write_missing
from data.processes import Processes
from data.run_folder import RunFolder
from data.schema import iter_tables, part_paths, utf8_safe
from eval.options import AnsweringOptions
from eval.start_run import start_run
from generate.load import GeneratorSettings
from generate.openai_endpoint import public_url
from generate.protocol import Answerer

_SEPARATOR = "#"


@dataclass(frozen=True, slots=True)
class Item:
    """What is asked: an id that is unique among its kind, and the whole prompt."""

    id: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to an item.

    Args:
        item: The item's id.
        number: Which of its answers, from 0.
        text: What was written.
        finish_reason: `stop` or `length`, if known.
    """

    item: str
    number: int
    text: str
    finish_reason: str | None = None


def answer_items(
    generator: Answerer,
    items: Sequence[Item],
    folder: Path,
    *,
    num_answers: int,
    seed: int,
    batch_size: int,
    processes: Processes | None = None,
) -> None:
    """Let `generator` answer each item `num_answers` times, one part per batch, into `folder`.

    Args:
        generator: Answers batch k as a function of (seed, k) and its prompts.
        items: At least one, each id once.
        folder: Where the parts go; the caller vouches that it belongs to these settings.
        num_answers: Answers to each item, at least 1.
        seed: The run's seed.
        batch_size: Answers per batch.
        processes: Process r of w takes the batches with number % w == r; None takes all.

    Raises:
        ValueError: A number is out of range, an id comes twice, or a part is there that cannot be used.
        OSError: The generator fails, or a part cannot be written.
    """
    if len({item.id for item in items}) < len(items):
        raise ValueError("an item's id comes twice; make ids unique")
    asked = [(item, number) for item in items for number in range(num_answers)]
    parts = parts_of(folder, len(asked), batch_size)

    def draw(batch: int) -> Columns:
        rows = asked[batch * batch_size :][: parts[batch].rows]
        drawn = generator.answer([item.prompt for item, _ in rows], seed, batch)
        return {
            "id": [f"{item.id}{_SEPARATOR}{number}" for item, number in rows],
            "source": [generator.name] * len(rows),
            "seed": [seed] * len(rows),
            "temperature": [generator.temperature] * len(rows),
            "finish_reason": [completion.finish_reason for completion in drawn],
            "text": [utf8_safe(completion.text) for completion in drawn],
        }

    write_missing(parts, draw, f"answers of {generator.name}", processes or Processes())


def answering_settings(generator: GeneratorSettings, answering: AnsweringOptions) -> dict[str, Any]:
    """All of a run's settings that decide what its answers are.

    Raises:
        ValueError: The generator writes random nouns.
    """
    if generator.backend == "random":
        raise ValueError("random nouns answer no question; give a language model as --model")
    decides = {
        name: value for name, value in asdict(generator).items() if name not in ("concurrency", "slots", "nouns")
    }
    if generator.base_url:
        decides["base_url"] = public_url(generator.base_url)
    return {**decides, **asdict(answering)}


def answer_into(
    generator: GeneratorSettings,
    answering: AnsweringOptions,
    items: Sequence[Item],
    folder: RunFolder,
    processes: Processes,
    loaded: dict[str, Any],
    facts: dict[str, Any] | None = None,
) -> list[Answer]:
    """The answers of a model to `items` in a run's folder, drawn as far as they are missing; all processes call this.

    Args:
        generator: Settled settings.
        answering: How many answers, and the seed.
        items: What is asked.
        folder: The run's folder.
        processes: Each draws its share.
        loaded: What else config.json must record (see `eval.start_run`). `facts` likewise.
        facts: What it records beside that.

    Raises:
        OSError: The model cannot be used, or a part cannot be written.
        ValueError: See `answer_items`.
    """
    parts = parts_of(folder.responses, len(items) * answering.num_answers, answering.batch_size)
    if not (folder.begun and all(is_there(part) for part in parts)):  # else no model needs to be loaded
        writer = start_run(generator, folder, processes, {**loaded, "seed": answering.seed}, facts, own_prompts=True)
        options = asdict(answering)
        answer_items(cast(Answerer, writer), items, folder.responses, processes=processes, **options)
        processes.wait()
    return read_answers(folder.responses)


def read_answers(folder: Path) -> list[Answer]:
    """The answers of a table, in order.

    Raises:
        FileNotFoundError: There is no table.
        ValueError: A part cannot be read, or a row's id is no answer's.
    """
    answers = []
    for part in part_paths(folder):
        for table in iter_tables(part, ("id", "text", "finish_reason")):
            for row in table.to_pylist():
                item, separator, number = row["id"].rpartition(_SEPARATOR)
                if not separator or not number.isdecimal():
                    raise ValueError(f"{part}: the id {row['id']!r} is no answer's; give a folder of answers")
                answers.append(Answer(item, int(number), row["text"], row["finish_reason"]))
    return answers
