"""Finished runs whose numbers are equal on every machine (freeze.py): no model, no weights, no clock.

Chance is Python's `random()` and vectors have components of 0 and a quarter, so that each product is exact whatever
adds it up. Answers go through the real tasks: their scorers, judging, `metrics.json`. Nothing here is to be changed
while their findings are frozen: other inputs are other numbers.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import count
from pathlib import Path
from random import Random

import numpy as np

from fakes import FakeJudge, FakeNouns, list_text
from sozo.eval.run import TaskRun, score_answers
from sozo.scoring.endpoint.client import Reply
from sozo.suite.hivemind.task import Hivemind, HivemindSettings
from sozo.suite.pbig.ideas import trial_ideas
from sozo.suite.pbig.settings import PbigSettings
from sozo.suite.pbig.task import Pbig
from sozo.suite.rubrics import criteria_of
from sozo.suite.sipen.items import ANSWERS, CONTROL, FORMS, NO, STRONGER, YES
from sozo.suite.sipen.task import Sipen, SipenSettings
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.jcq.questions import TASKS, trial_questions
from sozo.tasks.jcq.task import Jcq, JcqSettings
from sozo.tasks.sat.score import SatScorer
from sozo.tasks.sat.stories import load_stories
from sozo.tasks.sat.task import Sat
from sozo.tasks.task import Complete

_JAPANESE = """
犬 猫 水 山 川 本 車 空 海 石 木 花 鳥 魚 雨 雪 火 土 森 星 月 道 橋 町 村 家 窓 机 紙 靴 服 鍋 皿 箱 鏡 傘 鍵 糸 針 布
米 豆 塩 茶 酒 薬 法律 数学 音楽 病気 天気 祝日 電話 新聞 工場 銀行 学校 神社 経済 科学 歴史 戦争 平和 自由
"""
_ENGLISH = """
algorithm feather priest volcano butter grammar ankle submarine jealousy carpet dog horse goat lion house river star
moon bread salt needle mirror bridge piano winter lawyer candle engine forest mercy
"""
NOUNS, ENGLISH = _JAPANESE.split(), _ENGLISH.split()
NEVER_CAME = {"text": "", "finish_reason": "error"}
NO_NOUNS = ("走る", "青い")


class ExactEncoder:
    """A vector for any text, by the text alone: sixteen of 64 components are a quarter, or minus a quarter."""

    revision = "1"

    def __init__(self, name: str, unknown: Sequence[str] = ()) -> None:
        self.name, self.unknown = name, set(unknown)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self._vector(text) for text in texts], np.float32)

    def _vector(self, text: str) -> list[float]:
        random, vector = Random(f"{self.name}:{text}"), [0.0] * 64
        if text not in self.unknown:
            for axis in sorted(range(64), key=lambda _: random.random())[:16]:
                vector[axis] = 0.25 if random.random() < 0.5 else -0.25
        return vector


OWN, SECOND, TEXTS = (
    ExactEncoder("own"),
    ExactEncoder("second", unknown=NOUNS[:2]),
    ExactEncoder("texts"),
)


@dataclass(frozen=True)
class Report:
    """What one report is of."""

    places: Sequence[str]
    runs: Sequence[TaskRun]
    base: str | None = None
    second: bool = False  # whether a second encoder is asked


def write(path: Path, rows: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def scored(
    task,
    folder: Path,
    source: str,
    rows: Sequence[object],
    trained_on: Sequence[str] | None = None,
) -> TaskRun:
    """A finished run of these answers; `trained_on`: the model was trained, for these tasks."""
    run = score_answers(
        task, write(folder.with_suffix(".answers"), rows), folder, source=source
    )
    if trained_on is not None:
        change_config(folder, "loaded", model_trained=True, trained_on=list(trained_on))
    return run


def change_config(folder: Path, part: str, **values: object) -> None:
    """As a run of a model that was trained, or of drawn nouns, would have written it."""
    file = folder / "config.json"
    config = json.loads(file.read_text("utf-8"))
    config[part] |= values
    file.write_text(json.dumps(config), "utf-8")


def shuffled(values: Sequence[str], random: Random) -> list[str]:
    return sorted(values, key=lambda _: random.random())


def dat(
    folder,
    source,
    seed,
    *,
    n=120,
    words=64,
    best_of=1,
    bad=6,
    failed=0,
    english=False,
    trials=None,
    model=None,
    trained_on=None,
) -> TaskRun:
    """`n` lists from so many nouns, each the farthest apart of `best_of`; `bad` more are unusable, in turn in four ways.

    `failed` more a server never wrote.

    `english` is by Olson's rules; `trials`: no more usable lists count; `model`: what the run says has written them.
    """
    random, rows, nouns = Random(f"dat:{seed}"), [], ENGLISH if english else NOUNS
    unit = dict(zip(nouns, OWN.encode(nouns), strict=True))
    for _ in range(n):
        drawn = [shuffled(nouns[:words], random)[:10] for _ in range(best_of)]
        rows.append(
            list_text(
                min(
                    drawn,
                    key=lambda ten: (
                        np.sum([unit[word] for word in ten], axis=0) ** 2
                    ).sum(),
                )
            )
        )
    for k in range(bad):
        ten = shuffled(nouns[:words], random)[:10]
        wrong = (
            ten[:9],
            [*ten[:9], ten[0]],
            [*ten[:9], NO_NOUNS[k % 2]],
            [" ".join(ten)],
        )[k % 4]
        rows.insert(random.randrange(len(rows)), list_text(wrong))
    settings = (
        DatSettings(language="en", olson=True)
        if english
        else DatSettings(noun_checker="jumandic")
    )
    task = Dat(settings)
    task.scorer = DatScorer(FakeNouns(nouns), OWN, task.settings)
    answers = [{"text": text, "finish_reason": "stop"} for text in rows] + [
        NEVER_CAME
    ] * failed
    run = scored(task, folder, source, answers, trained_on)
    if trials:
        metrics = task.finish(Complete(folder, source, trials)) | {"trials": trials}
        (folder / "metrics.json").write_text(json.dumps(metrics), "utf-8")
        run = replace(run, metrics=metrics)
    if model:
        change_config(folder, "settings", model=model)
    return run


VERDICT = "流暢性: {}\n柔軟性: {}\n独創性: {}\n精緻性: {}"


def jcq(
    folder,
    source,
    seed,
    gain,
    *,
    judge="judge-a",
    judged=0,
    questions=None,
    answers=2,
    trained_on=None,
) -> TaskRun:
    """Some questions have two answers, one of each ten is cut, refused, in prose or unreadable; `judged` is the try."""
    asked, rows, verdicts = questions or trial_questions(), [], {}
    for i, question in enumerate(asked):
        for k in range(1 + (answers > 1 and i % 3 == 0)):
            random = Random(f"jcq:{seed}:{i}:{k}")
            text = f"【{source}、{i}番の{k}】" + "案を述べる。" * (
                3 + int(20 * random.random())
            )
            rows.append(
                {"id": f"{question.id}-{k}", "question_id": question.id, "answer": text}
            )
            rows[-1]["finish_reason"] = (
                "length" if (7 * i + k + len(source)) % 10 == 3 else "stop"
            )
            if (i + 5 * seed) % 29 == 3:
                rows[-1] |= {"answer": "", "finish_reason": "error"}
            scores = [min(5, 1 + int(4 * random.random() + gain)) for _ in range(4)]
            again = Random(f"judged:{judge}:{judged}:{text}")
            if judged:
                scores = [
                    min(5, score + int((1 + judged) / 2 + again.random()))
                    for score in scores
                ]
            reply = VERDICT.format(*scores)
            if (i + seed) % 11 == 4:
                reply = "採点できません"
            elif (i + seed) % 11 == 9:
                reply = f"出力形式：\n{reply}"
            verdicts[text] = Reply(
                reply, (i + seed) % 17 == 6, "stop", f"{judge}-served", 90 + i, 20 + k
            )

    def reply(prompt):
        return next(verdict for text, verdict in verdicts.items() if text in prompt)

    options = {"trial": True}
    if questions:
        lines = [
            {"id": q.id, "task": q.task, "question": q.question} for q in questions
        ]
        options = {
            "questions": str(write(folder.with_suffix(".questions.jsonl"), lines)),
            "any_questions": True,
        }
    task = Jcq(JcqSettings(judge_model=judge, **options))
    task.judge = FakeJudge(reply, name=judge, max_tokens=1024)
    return scored(task, folder, source, rows, trained_on)


def own_questions() -> list:
    """Twelve questions for each task, which are not JCQ's and not the trial's."""
    kind = type(trial_questions()[0])
    number = count(1)
    return [
        kind(str(next(number)), task, f"{task}についての問い、その{k}。")
        for task in TASKS
        for k in range(12)
    ]


def sat(folder, source, seed, best_of, *, stories=113, trained_on=None) -> TaskRun:
    """Each rewrite the farthest of `best_of`; every fourth story is told twice, one of twenty tells nothing."""
    rows = []
    for i, story in enumerate(load_stories()[:stories]):
        for k in range(1 + (i % 4 == 0)):
            random = Random(f"sat:{seed}:{i}:{k}")
            size, tail = 10 + int(25 * random.random()), "\n" * (i % 9 == 2)
            copied = story.text[: 60 + i] if i % 13 == 5 else ""
            story_so_far = copied + "駅前の広場で待つ人がいた。" * size + tail
            drafts = [
                f"{story_so_far}{source}が語る{i}番の話、第{k}稿の{j}。"
                for j in range(best_of)
            ]
            text = min(
                drafts,
                key=lambda draft: float(np.dot(*TEXTS.encode([story.text, draft]))),
            )
            text = "" if (i + seed) % 20 == 7 else text
            rows.append({"id": f"{story.id}-{k}", "story_id": story.id, "text": text})
            if (i + seed) % 37 == 11:
                rows[-1] |= NEVER_CAME
    task = Sat()
    task.scorer = SatScorer(TEXTS)
    return scored(task, folder, source, rows, trained_on)


def sipen(folder, source, seed, right, *, trained_on=None) -> TaskRun:
    """Controls are right in this share; one answer of forty is none of the options."""
    task, rows = Sipen(SipenSettings()), []
    options = dict(zip(ANSWERS, FORMS[task.form_name].options, strict=True))
    for item in task.asked:
        random = Random(f"sipen:{seed}:{item.id}")
        no = random.random() < 0.2 + 0.3 * item.steps * (item.direction == STRONGER)
        answer = CONTROL.get(item.direction, NO if no else YES)
        if random.random() > right:
            answer = ANSWERS[int(3 * random.random())]
        text = "わからない" if random.random() < 0.025 else options[answer]
        rows.append({"id": f"{item.id}#0", "item": item.id, "text": text})
        if random.random() < 0.02:
            rows[-1] |= NEVER_CAME
    return scored(task, folder, source, rows, trained_on)


def pbig(folder, source, seed) -> TaskRun:
    """The trial's ideas by a judge whose scores hang on the idea's title and the criterion."""
    task, criteria, titles = (
        Pbig(PbigSettings()),
        criteria_of("pbig"),
        {idea.title for idea in trial_ideas()},
    )

    def reply(prompt):
        title = max((title for title in titles if title in prompt), key=len)
        name = next(c.name for c in criteria if f"Criterion: {c.title}\n" in prompt)
        most = 3 if "market" in name or "need" in name else 4
        score = min(most, 1 + int(4 * Random(f"pbig:{seed}:{title}:{name}").random()))
        reply = json.dumps({"score": score, "reason": "r", "confidence": 90})
        return Reply(reply, False, "stop", "judge-a-served", 100, 20)

    task.judge = FakeJudge(reply, name="judge-a")
    text = files("sozo.suite.pbig").joinpath("trial", "ideas.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    return scored(task, folder, source, rows[seed::3])


def hivemind(folder, source, own) -> TaskRun:
    """Six prompts with five answers, stories all; `own` of the five differ from prompt to prompt."""
    texts = [story.text for story in load_stories()]
    prompts = [
        {"id": f"p{i}", "prompt": f"問いその{i}に答えてください。"} for i in range(6)
    ]
    rows = [
        {
            "id": f"p{i}-{k}",
            "item": f"p{i}",
            "text": texts[(5 * i + k if k < own else k) % len(texts)],
        }
        for i in range(6)
        for k in range(5)
    ]
    file = write(folder.with_suffix(".prompts.jsonl"), prompts)
    task = Hivemind(HivemindSettings(hivemind_prompts=str(file)))
    task.encoders = (TEXTS, SECOND)
    return scored(task, folder, source, rows)


def reports(folder: Path) -> dict[str, Callable[[], Report]]:
    """Name -> what makes its runs, each in a folder of its own."""

    def of(name, runs, **options) -> Report:
        return Report([str(folder / name)], list(runs), **options)

    def places(name, *sources):
        return [folder / name / source for source in sources]

    def two():
        before, after = places("dat", "before", "after")
        return of(
            "dat",
            [
                dat(before, "before", 1),
                dat(after, "after", 2, words=40, best_of=4, bad=20, failed=3),
            ],
        )

    def seeds():
        base = dat(folder / "dat-seeds/base", "base", 1)
        rows = [
            dat(
                folder / "dat-seeds" / name,
                name,
                10 + k,
                words=48 - 2 * k,
                best_of=2 + k % 3,
                bad=4 + k,
            )
            for k, name in enumerate(("SFT", "SFT@1", "SFT@2", "SFT@3", "SFT@4"))
        ]
        return of("dat-seeds", [base, *rows], base="base", second=True)

    def paired():
        names = ["A@0", "A@1", "A@2", "B@0", "B@1", "B@2", "C@5", "C@6", "C@7"]
        rows = [
            dat(
                folder / "dat-seeds-paired" / name,
                name,
                20 + k,
                n=60,
                words=56 - 3 * (k // 3),
                best_of=1 + k // 3,
            )
            for k, name in enumerate(names)
        ]
        return of("dat-seeds-paired", rows, base="A")

    def encoders():
        before, near, far = places("dat-encoders", "before", "near", "far")
        rows = [
            dat(before, "before", 31, n=125, trials=115),
            dat(near, "near", 32, n=110, words=30, best_of=6),
            dat(far, "far", 33, best_of=12, trials=105),
        ]
        return of("dat-encoders", rows, second=True)

    def olson():
        drawn, one, other = places("dat-olson", "drawn", "one", "other")
        rows = [
            dat(drawn, "drawn", 60, n=45, english=True, model="random"),
            dat(one, "one", 61, n=40, english=True),
            dat(other, "other", 62, n=50, words=20, best_of=3, english=True),
        ]
        return of("dat-olson", rows)

    def judge():
        base, other, third = places("jcq", "base", "other", "third")
        own = own_questions()
        made = [
            jcq(base, "base", 1, 0.0, questions=own),
            jcq(other, "other", 2, 0.9, questions=own),
            jcq(third, "third", 3, 0.2, questions=own, answers=1),
        ]
        return of("jcq", made)

    def judges():
        good, bad = places("jcq-judges", "good", "bad")
        return of(
            "jcq-judges",
            [jcq(good, "good", 1, 1.0), jcq(bad, "bad", 2, 0.0, judge="judge-b")],
            base="good",
        )

    def trial():
        one, again, third, other = places(
            "jcq-trial", "one", "one-again", "one-again-too", "other"
        )
        made = [
            jcq(path, "one", 1, 0.3, judged=k)
            for k, path in enumerate((one, again, third))
        ]
        made.append(jcq(other, "other", 5, 1.0))
        return Report(
            [f"{path.name}={path}" for path in (one, again, third, other)],
            made,
            base="one",
        )

    def stories():
        base, near, far = places("sat", "base", "near", "far")
        return of(
            "sat",
            [sat(base, "base", 1, 1), sat(near, "near", 2, 2), sat(far, "far", 3, 9)],
            base="base",
        )

    def controls():
        base, tuned = places("sipen", "base", "tuned")
        return of(
            "sipen",
            [sipen(base, "base", 1, 0.95), sipen(tuned, "tuned", 2, 0.7)],
            base="base",
        )

    def ideas():
        one, other = places("pbig", "one", "other")
        return of("pbig", [pbig(one, "one", 0), pbig(other, "other", 1)], base="one")

    def alike():
        one, other = places("hivemind", "one", "other")
        return of(
            "hivemind",
            [hivemind(one, "one", 1), hivemind(other, "other", 4)],
            base="one",
        )

    def mixed():
        made, place = [], folder / "mixed"
        for k, (name, goal) in enumerate(
            {"before": None, "tuned": ["dat"], "merged": ["dat", "sat"]}.items()
        ):
            good = 1 + 3 * k
            made += [
                dat(
                    place / name / "dat",
                    name,
                    40 + k,
                    words=64 - 12 * k,
                    best_of=good,
                    bad=6 + 8 * k,
                    trained_on=goal,
                ),
                jcq(place / name / "jcq", name, 40 + k, 0.4 * k, trained_on=goal),
                sat(place / name / "sat", name, 40 + k, good, trained_on=goal),
                sipen(
                    place / name / "sipen",
                    name,
                    40 + k,
                    0.95 - 0.12 * k,
                    trained_on=goal,
                ),
            ]
        made.append(dat(place / "lists" / "dat", "lists", 50, n=110, model="random"))
        made.append(sat(place / "late" / "sat", "late", 51, 2, stories=113))
        return of("mixed", made, base="before", second=True)

    made = {
        "dat": two,
        "dat-seeds": seeds,
        "dat-seeds-paired": paired,
        "dat-encoders": encoders,
    }
    made |= {"dat-olson": olson, "jcq": judge}
    made |= {
        "jcq-judges": judges,
        "jcq-trial": trial,
        "sat": stories,
        "sipen": controls,
        "pbig": ideas,
    }
    return made | {"hivemind": alike, "mixed": mixed}


def sheet() -> tuple[str, str]:
    """What thirteen people wrote, two lists each but for one, as CSV; and the scores of a sample, for percentiles."""
    lines, random = ["participant,trial,answer"], Random("people")
    for person in range(13):
        pool = NOUNS[: 24 + 3 * person]
        for trial in (1, 2)[: 1 + (person != 5)]:
            words = shuffled(pool, random)[:10]
            if (person + trial) % 5 == 0:
                words[2:4] = [NO_NOUNS[0], words[0]]
            lines.append(
                f"p{person},{trial},{'、'.join(words[:5] if person == 7 else words)}"
            )
    norms = ["id,score", *(f"n{k},{0.8 + 0.01 * k}" for k in range(40))]
    return "\n".join(lines) + "\n", "\n".join(norms) + "\n"
