"""One report of fifty models with five tasks: seconds, and the size of the page. It must take less than 20 s.

    python benchmarks/reporting.py
    python benchmarks/reporting.py --models 3 --folder runs/bench

The models are made up: lists of random nouns, shuffled stories, 700 answers of 600 characters with made-up verdicts,
taken in as the files of nlp-waseda/JCQ-judge, options of SIPeN's trial, and PBIG's trial ideas graded by dice. No model
and no judge is asked.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterable, Mapping
from importlib.resources import files as packaged
from pathlib import Path
from typing import Any

from sozo.data.jumandic import load_nouns
from sozo.eval.evaluated import find_evaluated
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.run import score_answers
from sozo.scoring.endpoint.client import Reply
from sozo.suite.pbig.task import Pbig
from sozo.suite.sipen.task import Sipen
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.jcq.questions import CRITERIA, TASKS
from sozo.tasks.jcq.task import Jcq, JcqSettings
from sozo.tasks.jcq.verdict import write_verdict
from sozo.tasks.sat.stories import load_stories
from sozo.tasks.sat.task import Sat

QUESTIONS = 700


class Dice:
    """A judge that rolls dice."""

    name, concurrency, max_tokens, proven = "dice", 8, 200, True

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.parameters: dict[str, Any] = {"temperature": 0.0}

    def describe(self) -> dict[str, Any]:
        return {"model": self.name}

    async def ask(self, prompt: str) -> Reply:
        verdict = {
            "score": self.chance.randint(1, 4),
            "reason": "dice",
            "confidence": 90,
        }
        return Reply(json.dumps(verdict), False, "stop", "", 100, 20)

    async def close(self) -> None:
        """Nothing is open."""


def write(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """Rows as JSONL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
    )
    return path


def make(folder: Path, number: int) -> None:
    """The finished runs of one model."""
    chance, name, nouns = random.Random(number), f"model-{number}", load_nouns()
    files, runs = folder / "files" / name, folder / "runs" / name
    text = "".join(story.text for story in load_stories())
    lists = (
        "\n".join(f"{k}. {word}" for k, word in enumerate(chance.sample(nouns, 10), 1))
        for _ in range(200)
    )
    texts = write(files / "dat.jsonl", ({"text": words} for words in lists))
    score_answers(
        Dat(DatSettings(noun_checker="jumandic")), texts, runs / "dat", source=name
    )
    rewrites = [
        {"story_id": s.id, "text": "".join(chance.sample(s.text, len(s.text)))}
        for s in load_stories()
    ]
    score_answers(
        Sat(), write(files / "sat.jsonl", rewrites), runs / "sat", source=name
    )
    ids = range(1, QUESTIONS + 1)
    asked = write(
        folder / "files" / "questions.jsonl",
        ({"id": k, "task": TASKS[k % len(TASKS)], "question": f"質問{k}"} for k in ids),
    )
    starts = [chance.randrange(len(text) - 600) for _ in ids]
    answers = write(
        files / "answers.jsonl",
        (
            {"id": k, "question_id": k, "answer": text[at : at + 600]}
            for k, at in zip(ids, starts, strict=True)
        ),
    )
    verdicts = (
        write_verdict({criterion: chance.randint(1, 5) for criterion in CRITERIA})
        for _ in ids
    )
    judgements = write(
        files / "judgements.jsonl",
        (
            {"answer_id": k, "judgement": verdict}
            for k, verdict in zip(ids, verdicts, strict=True)
        ),
    )
    settings = JcqSettings(
        questions=str(asked), any_questions=True, judgements=str(judgements)
    )
    score_answers(Jcq(settings), answers, runs / "jcq", source=name)
    sipen, pbig = Sipen(), Pbig()
    options = ("はい", "いいえ", "どちらともいえない")
    chosen = ({"item": item.id, "text": chance.choice(options)} for item in sipen.asked)
    score_answers(
        sipen, write(files / "sipen.jsonl", chosen), runs / "sipen", source=name
    )
    pbig.judge = Dice(chance)
    ideas = Path(str(packaged("sozo.suite.pbig"))) / "trial" / "ideas.jsonl"
    score_answers(pbig, ideas, runs / "pbig", source=name)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument(
        "--folder", type=Path, help="keep everything there; it must be new"
    )
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp())
    for number in range(args.models):
        make(folder, number)
    start = time.perf_counter()
    page = folder / "report.html"
    write_evaluation(page, find_evaluated([str(folder / "runs")]))
    done = time.perf_counter()
    size = page.stat().st_size / 1e6
    print(
        f"{args.models} models: reported in {done - start:.1f} s; {size:.1f} MB ({page})"
    )


if __name__ == "__main__":
    main()
