"""What 2,000 completions are paid by each reward, and 500 texts by each door."""

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

from frozen_answers import FRAMES

from fakes import FakeJudge, list_text
from finished_runs import dat_run
from http_server import Running, score
from integration_texts import FREE, SETTINGS
from integrations.texts import NOUNS, cases
from sozo.rewards import (
    make_dat_distance,
    make_dat_pairing,
    make_dat_rarity,
    make_dat_reward,
    make_dat_usable,
    make_diverse_reward,
    make_judge_reward,
    make_placebo,
    make_sat_reward,
    make_task_reward,
)
from sozo.rewards.integrations import lm_eval, openrlhf, verl
from sozo.rewards.integrations.core import Integration
from sozo.suite.sentences.task import Sentences
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.sat.stories import load_stories

GROUP, STEP = 8, 200
VERDICT = "流暢性: {}\n柔軟性: {}\n独創性: {}\n精緻性: {}"


def length(completions, **columns):
    """A reward of one's own: no number for an empty text, a penalty for a long one."""
    return [len(t) / 10 - 2 * (len(t) > 80) if t else None for t in completions]


def texts_of_lists() -> list[str]:
    """2,000 lists of few nouns, as a model would draw them that repeats itself; one of four is spoilt."""
    random, texts = Random("rewards"), []
    for _ in range(2000):
        words = random.sample(NOUNS[: random.choice((11, 20, 50))], 10)
        if random.random() < 0.25:
            words[random.randrange(10)] = random.choice(("走る", words[0], "cat", ""))
        texts.append(list_text(words if random.random() < 0.7 else NOUNS[:10]))
    return texts


def paid(
    reward: Callable[..., Any],
    texts: list[str],
    columns: Mapping[str, list[str]] = MappingProxyType({}),
) -> Any:
    """Payments and logged numbers of one step after the other, groups of eight to a prompt."""
    steps = []
    for start in range(0, len(texts), STEP):
        logged: dict[str, float] = {}
        own = {key: values[start : start + STEP] for key, values in columns.items()}
        prompts = own.pop("prompts", [f"問い{k // GROUP}" for k in range(STEP)])
        given = texts[start : start + STEP]
        numbers = reward(
            prompts=prompts[: len(given)],
            completions=given,
            log_metric=logged.__setitem__,
            **own,
        )
        kept = {key: logged[key] for key in sorted(logged) if "seconds" not in key}
        parts = [list(c.parts) for c in getattr(reward, "last", ())[:GROUP]]
        steps.append([[n if n is None else round(n, 7) for n in numbers], kept, parts])
    return steps


def rewards(folder: Path) -> Mapping[str, Any]:
    """Reward -> what it paid and logged in ten steps, whose history of duplicates is one."""
    lists, reference = texts_of_lists(), folder / "reference"
    dat_run(reference, "base", seed=1)
    dat = {
        "dat": make_dat_reward(**SETTINGS),
        "dat set": make_dat_reward(seen_as="set", **SETTINGS),
        "usable": make_dat_usable(**SETTINGS),
        "distance": make_dat_distance(**SETTINGS),
        "pairing": make_dat_pairing(reference=reference, **SETTINGS),
        "rarity": make_dat_rarity(**SETTINGS),
        "placebo": make_placebo(make_dat_reward(**SETTINGS), seed=3),
        "times text": make_diverse_reward(
            make_dat_reward(**FREE), how="times", alike="text"
        ),
        "divide ngram": make_diverse_reward(
            make_dat_reward(**FREE), how="divide", alike="ngram"
        ),
        "divide embedding": make_diverse_reward(
            length, how="divide", alike="embedding", embedding_model="ja-ginza"
        ),
        "own placebo": make_placebo(length, seed=4),
    }
    values = {name: paid(reward, lists) for name, reward in dat.items()}
    values["sat"] = paid(make_sat_reward(min_length=20), *rewrites())
    values["sentences"] = paid(make_task_reward("sentences"), *pairs())
    values["judge"] = paid(judge(folder / "ledger.jsonl"), *questions())
    return values


def rewrites() -> tuple[list[str], dict[str, list[str]]]:
    """Rewrites of 25 stories, some copied, some short, some said twice."""
    random, stories = Random("rewrites"), [story.text for story in load_stories()[:25]]
    asked = [story for story in stories for _ in range(GROUP)]
    ways = (
        lambda s: s[:60],
        lambda s: (
            f"駅前の広場で、{s[40:70]}と言う人が待っていた。夜になっても誰も来なかった。"
            * 4
        ),
        lambda s: (
            "空を飛ぶ魚が町を渡り、子供たちは網を持って屋根に上った。"
            * random.randrange(1, 9)
        ),
        lambda s: "",
    )
    return [random.choice(ways)(story) for story in asked], {"story": asked}


def pairs() -> tuple[list[str], dict[str, list[str]]]:
    """Sentences with the nouns of 25 pairs, of few frames."""
    random, texts = Random("pairs"), []
    asked = [i for i in Sentences().items()[:25] for _ in range(GROUP)]
    for item in asked:
        nouns = item.columns["first"], item.columns["second"]
        texts.append(random.choice((*FRAMES["ja"], "{}")).format(*nouns))
    columns = {key: [item.columns[key] for item in asked] for key in asked[0].columns}
    return texts, columns | {"prompts": [item.prompt for item in asked]}


def questions() -> tuple[list[str], dict[str, list[str]]]:
    """Answers to the trial's questions, of which some are empty and some the same."""
    random = Random("questions")
    asked = [q.question for q in trial_questions()[:25] for _ in range(GROUP)]
    texts = [f"案{random.randrange(30)}を述べる。" * random.randrange(4) for _ in asked]
    return texts, {"prompts": asked}


def judge(ledger: Path) -> Callable[..., Any]:
    """The reward of a judge whose scores hang on what it is asked, and who refuses some."""

    def reply(prompt: str) -> str:
        drawn = Random(prompt)
        scores = [drawn.randrange(1, 6) for _ in range(4)]
        told = VERDICT.format(*scores)
        return drawn.choice((told, told, told, "採点できません"))

    return make_judge_reward("jcq-v1", ledger=ledger, judge=FakeJudge(reply))


def doors(folder: Path) -> Mapping[str, Any]:
    """Text -> what each door pays, scores and says."""
    drawn = cases(500, seed=19)
    core = Integration("dat", **FREE).pay([case.output for case in drawn])
    by_openrlhf = openrlhf.make_reward_func("dat", **FREE)(
        [case.query for case in drawn],
        [case.prompt for case in drawn],
        [""] * len(drawn),
    )
    doc = lm_eval.documents("dat", 1, SETTINGS)["test"][0]
    with Running(Integration("dat", **FREE)) as client:
        by_http = score(client, completions=[case.output for case in drawn])
    trl = make_dat_reward(**FREE)(completions=[case.answer for case in drawn])
    values = {}
    for k, case in enumerate(drawn):
        by_verl = verl.compute_score(
            "x", case.output, "", {"index": k}, task="dat", **FREE
        )
        values[str(k)] = {
            "trl": trl[k],
            "core": [core[k].reward, core[k].score, core[k].reason],
            "openrlhf": [
                by_openrlhf[key][k] for key in ("rewards", "scores", "reasons")
            ],
            "http": [by_http[key][k] for key in ("rewards", "scores", "reasons")],
            # JSON has no NaN.
            "verl": {k: None if v != v else v for k, v in by_verl.items()},
            "lm_eval": lm_eval.process_results(doc, [case.output]),
        }
    return values


PARTS = {"rewards": rewards, "doors": doors}
