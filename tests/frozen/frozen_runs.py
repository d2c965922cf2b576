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
from finished_runs import VERDICT, judged_run, scored, write
from run_files import change_config
from sozo.eval.run import TaskRun
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
        file = write(folder.with_suffix(".questions.jsonl"), lines)
        options = {"questions": str(file), "any_questions": True}
    return judged_run(folder, source, rows, reply, judge, trained_on, **options)


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


Made = tuple[Callable[..., TaskRun], str, dict[str, object]]
GOALS = {"before": None, "tuned": ["dat"], "merged": ["dat", "sat"]}


def seeds() -> list[Made]:
    """A base, and a method of five seeds."""
    return [(dat, "base", {"seed": 1})] + [
        (
            dat,
            name,
            {"seed": 10 + k, "words": 48 - 2 * k, "best_of": 2 + k % 3, "bad": 4 + k},
        )
        for k, name in enumerate(("SFT", "SFT@1", "SFT@2", "SFT@3", "SFT@4"))
    ]


def paired() -> list[Made]:
    """Three methods; two of them, seed by seed."""
    names = ("A@0", "A@1", "A@2", "B@0", "B@1", "B@2", "C@5", "C@6", "C@7")
    return [
        (
            dat,
            name,
            {
                "seed": 20 + k,
                "n": 60,
                "words": 56 - 3 * (k // 3),
                "best_of": 1 + k // 3,
            },
        )
        for k, name in enumerate(names)
    ]


def mixed() -> list[Made]:
    """Three models by four tasks, two of which were trained; drawn lists, and stories without one."""
    made: list[Made] = []
    for k, (name, goal) in enumerate(GOALS.items()):
        own, good = {"seed": 40 + k, "trained_on": goal}, 1 + 3 * k
        made += [
            (
                dat,
                f"{name}/dat",
                own | {"words": 64 - 12 * k, "best_of": good, "bad": 6 + 8 * k},
            ),
            (jcq, f"{name}/jcq", own | {"gain": 0.4 * k}),
            (sat, f"{name}/sat", own | {"best_of": good}),
            (sipen, f"{name}/sipen", own | {"right": 0.95 - 0.12 * k}),
        ]
    made.append((dat, "lists/dat", {"seed": 50, "n": 110, "model": "random"}))
    return [*made, (sat, "late/sat", {"seed": 51, "best_of": 2, "stories": 113})]


def again(place: str, **options: object) -> Made:
    """One model's answers, judged once more."""
    return jcq, place, {"seed": 1, "gain": 0.3, "source": "one", **options}


# Report -> what makes its runs: the task's function, where in the report's folder, and with what.
RUNS: dict[str, list[Made]] = {
    "dat": [
        (dat, "before", {"seed": 1}),
        (dat, "after", {"seed": 2, "words": 40, "best_of": 4, "bad": 20, "failed": 3}),
    ],
    "dat-seeds": seeds(),
    "dat-seeds-paired": paired(),
    "dat-encoders": [
        (dat, "before", {"seed": 31, "n": 125, "trials": 115}),
        (dat, "near", {"seed": 32, "n": 110, "words": 30, "best_of": 6}),
        (dat, "far", {"seed": 33, "best_of": 12, "trials": 105}),
    ],
    "dat-olson": [
        (dat, "drawn", {"seed": 60, "n": 45, "english": True, "model": "random"}),
        (dat, "one", {"seed": 61, "n": 40, "english": True}),
        (
            dat,
            "other",
            {"seed": 62, "n": 50, "words": 20, "best_of": 3, "english": True},
        ),
    ],
    "jcq": [
        (jcq, "base", {"seed": 1, "gain": 0.0, "questions": own_questions()}),
        (jcq, "other", {"seed": 2, "gain": 0.9, "questions": own_questions()}),
        (
            jcq,
            "third",
            {"seed": 3, "gain": 0.2, "questions": own_questions(), "answers": 1},
        ),
    ],
    "jcq-judges": [
        (jcq, "good", {"seed": 1, "gain": 1.0}),
        (jcq, "bad", {"seed": 2, "gain": 0.0, "judge": "judge-b"}),
    ],
    "jcq-trial": [
        again("one"),
        again("one-again", judged=1),
        again("one-again-too", judged=2),
        (jcq, "other", {"seed": 5, "gain": 1.0}),
    ],
    "sat": [
        (sat, "base", {"seed": 1, "best_of": 1}),
        (sat, "near", {"seed": 2, "best_of": 2}),
        (sat, "far", {"seed": 3, "best_of": 9}),
    ],
    "sipen": [
        (sipen, "base", {"seed": 1, "right": 0.95}),
        (sipen, "tuned", {"seed": 2, "right": 0.7}),
    ],
    "pbig": [(pbig, "one", {"seed": 0}), (pbig, "other", {"seed": 1})],
    "hivemind": [(hivemind, "one", {"own": 1}), (hivemind, "other", {"own": 4})],
    "mixed": mixed(),
}
BASES = {"dat-seeds": "base", "dat-seeds-paired": "A", "jcq-judges": "good"}
BASES |= {"jcq-trial": "one", "sat": "base", "sipen": "base", "pbig": "one"}
BASES |= {"hivemind": "one", "mixed": "before"}


def report(name: str, folder: Path) -> Report:
    """The runs of a report, made in a folder of its own."""
    runs = [
        make(folder / name / place, **{"source": place.partition("/")[0]} | options)
        for make, place, options in RUNS[name]
    ]
    places = [str(folder / name)]
    if name == "jcq-trial":  # what was judged again is called by its place
        places = [f"{run.folder.name}={run.folder}" for run in runs]
    second = name in ("dat-seeds", "dat-encoders", "mixed")
    return Report(places, runs, BASES.get(name), second)
