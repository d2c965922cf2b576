"""What the product makes on fixed inputs: `python tests/freeze.py` writes it to tests/frozen.json, as it is now.

While the house is rebuilt, test_frozen.py compares it with what was written before: nothing that stays may change.
`python tests/freeze.py --names` takes over which entries came or went, and refuses if another one's value differs.
"""

import contextlib
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import MISSING, asdict, fields
from io import StringIO
from pathlib import Path
from random import Random
from typing import get_args
from unittest.mock import patch

TESTS = Path(__file__).parent
ROOT = TESTS.parent
FROZEN = TESTS / "frozen.json"
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "recipes")]

from fakes import FakeJudge, list_text  # noqa: E402
from sozo.data.nouns import tiny_nouns  # noqa: E402
from sozo.scoring.endpoint.client import Reply  # noqa: E402
from sozo.tasks import task_type  # noqa: E402
from sozo.tasks.task import Answer  # noqa: E402

LOCAL = {"noun_checker": "jumandic", "embedding_model": "ja-ginza"}
WORDS = {**LOCAL, "cue_nouns": "tiny", "num_items": 6}
# Of every task the settings with which all it needs is on this machine.
SETTINGS = {
    "dat": LOCAL,
    "jcq": {"judge_model": "j", "trial": True},
    "pbig": {"judge_model": "j", "pbig_embedding_model": "ja-ginza"},
    "cue_dat": WORDS,
    "kanji": {"num_items": 24},
}
TASKS = ("dat", "jcq", "sat", "sipen", "pbig", "cue_dat", "kanji", "hivemind")  # what stays
_TIMES = re.compile(r"seconds|runtime|per_second|step_time")
WHEN = {"time", "date", "at", "created", "elapsed"}


def digest(content):
    return hashlib.sha256(content if isinstance(content, bytes) else str(content).encode()).hexdigest()[:16]


def make(name, **more):
    """A task with its fixed settings."""
    kind = task_type(name)
    return kind(kind.Settings(**SETTINGS.get(name, {}), **more))


def rows_of(rows):
    return [[dict(row.values), row.reason] for row in rows]


def lists(n, nouns, seed=0):
    """`n` lists of ten, of which every fifth has something wrong with it."""
    draw, texts = Random(seed), []
    for k in range(n):
        words = draw.sample(nouns, 10)
        wrong = [words[:9], [words[0], *words[:9]], ["走る", *words[1:]], ["東京", *words[1:]]][k // 5 % 4]
        texts.append(list_text(wrong if k % 5 == 4 else words))
    return [*texts, "", "嫌です", f"はい。\n{texts[0]}", f"<think>犬</think>\n{texts[0]}", f"<think>{texts[0]}"]


def verdict(prompt):
    """A judge's four scores, or something else, by the prompt alone."""
    number = int(digest(prompt), 16)
    if number % 9 == 0:
        return Reply("採点できません", refused=True)
    scores = [(number >> shift) % 5 + 1 for shift in (8, 16, 24, 32)]
    names = ("流暢性", "柔軟性", "独創性", "精緻性")
    said = "\n".join(f"{name}: {score}" for name, score in zip(names, scores, strict=True))
    return "4かな" if number % 9 == 1 else said


def opinion(prompt):
    """A judge of one criterion, or of several where the prompt asks for all of them."""
    number = int(digest(prompt), 16)
    if number % 11 == 0:
        return "わかりません"
    return json.dumps({"score": number % 4 + 1, "reason": "r", "confidence": 50 + number % 50})


# The sections: each is what stays equal, by name.


def prompts(_):
    """The texts of prompts, and of every task its items."""
    from sozo.data.prompts import PromptName, prompt

    found = {"texts": {name: digest(prompt(name)) for name in get_args(PromptName)}}
    for name in TASKS:
        items = make(name).items()
        all_of_them = json.dumps([[item.id, item.prompt, dict(item.columns)] for item in items], ensure_ascii=False)
        found[name] = {"n": len(items), "first": items[0].prompt, "all": digest(all_of_them)}
    found["dat in English"] = task_type("dat")(task_type("dat").Settings(language="en")).items()[0].prompt
    return found


def scores(_):
    """Scores and reasons of tasks that need no judge."""
    from sozo.tasks.sat.stories import load_stories

    nouns, dat = list(tiny_nouns()), make("dat")
    texts = lists(60, nouns)
    found = {"dat": rows_of(dat.score(dat.items() * len(texts), [Answer("", "", text) for text in texts]))}
    cue = make("cue_dat")
    items = [item for item in cue.items() for _ in range(4)]
    answers = [
        Answer(f"{k}", item.id, text) for k, (item, text) in enumerate(zip(items, lists(24, nouns), strict=False))
    ]
    answers = [Answer(a.id, a.item, a.text.partition("\n")[2]) for a in answers]
    found["cue_dat"] = rows_of(cue.with_others(items, answers, cue.score(items, answers)))
    kanji = make("kanji")
    said = ["人", "人。", "人と思います", "", "大小"]
    answers = [
        Answer("", item.id, [*said, item.columns["solutions"][:1]][k % 6]) for k, item in enumerate(kanji.items())
    ]
    found["kanji"] = rows_of(kanji.score(kanji.items(), answers))
    hive = make("hivemind")
    items = [hive.items()[k // 3] for k in range(12)]
    stories = [story.text for story in load_stories()]
    answers = [Answer(f"{k}", item.id, stories[k] if k % 4 else "短い") for k, item in enumerate(items)]
    found["hivemind"] = rows_of(hive.with_others(items, answers, hive.score(items, answers)))
    return found


def english(_):
    """DAT in English."""
    dat = task_type("dat")(task_type("dat").Settings(language="en"))
    words = ["dog", "law", "sea", "physics", "shoe", "music", "illness", "desk", "weather", "holiday"]
    texts = [
        list_text(words),
        list_text(["running", *words[1:]]),
        list_text(words[:9]),
        list_text(["Tokyo", *words[1:]]),
    ]
    return rows_of(dat.score(dat.items() * 4, [Answer("", "", text) for text in texts]))


def runs(folder):
    """Whole runs of tasks with a judge or none: the rows, metrics.json, and what stands in the ledger."""
    from sozo.eval.run import score_answers
    from sozo.tasks.jcq.questions import trial_questions
    from sozo.tasks.pbig.ideas import trial_ideas
    from sozo.tasks.sat.stories import load_stories

    stories = load_stories()
    sipen = make("sipen")
    told = {
        "dat": [{"text": text} for text in lists(40, list(tiny_nouns()), seed=1)],
        "jcq": [{"id": f"{q.id}-0", "question_id": q.id, "answer": f"{q.id}への答え"} for q in trial_questions()],
        "sat": [{"story_id": s.id, "text": s.text[40:] + "現代の東京。" * (k % 3)} for k, s in enumerate(stories)],
        "sipen": [
            {"item": item.id, "text": ["はい", "いいえ", "どちらともいえない", "Yes, but"][k % 4]}
            for k, item in enumerate(sipen.items())
        ],
        "pbig": [asdict(idea) for idea in trial_ideas()],
    }
    found = {}
    for name, rows in told.items():
        for source in ("one", "two"):
            path = folder / f"{name}-{source}.jsonl"
            changed = rows if source == "one" else [*rows[len(rows) // 3 :], *rows[: len(rows) // 3]]
            if name in ("sat", "sipen") and source == "two":  # every text to another item
                keys = ("story_id", "item")
                changed = [
                    {key: value if key in keys else moved[key] for key, value in row.items()}
                    for row, moved in zip(rows, changed, strict=True)
                ]
            path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in changed), "utf-8")
            task = make(name)
            judge = None
            if task.judge_settings is not None:
                judge = FakeJudge(opinion if name == "pbig" else verdict, name="j", max_tokens=1024)
                task.judge = judge
            run = score_answers(task, path, folder / "runs" / source / name, source=source)
            answers = [[answer.id, dict(answer.values), answer.reason] for answer in run.result.answers()]
            if name == "sipen":
                answers = digest(json.dumps([answer[1:] for answer in answers]))
            if name == "sat":  # the others' means are in the metrics
                answers = [[i, {key: v[key] for key in ("sat", "sat/compliant") if key in v}, r] for i, v, r in answers]
            result = {"answers": answers, "metrics": run.metrics}
            if judge:
                ledger = [
                    json.loads(line) for line in (run.folder / "judgements.jsonl").read_text("utf-8").splitlines()
                ]
                kept = sorted(json.dumps({k: v for k, v in line.items() if k not in WHEN}) for line in ledger)
                result["ledger"] = {"n": len(kept), "fields": sorted(ledger[0]), "all": digest("\n".join(kept))}
                result["asked"] = {"n": len(judge.asked), "all": digest("\n".join(sorted(judge.asked)))}
            found[f"{name} of {source}"] = result
    return found


def tables(folder):
    """The numbers of every table of the page, and the files that a run and a report leave; after `runs`."""
    import csv

    from sozo.eval.compare import compare_models
    from sozo.eval.deliver.wandb_results import _values
    from sozo.eval.evaluated import find_evaluated
    from sozo.eval.outcome import outcomes
    from sozo.eval.report.evaluation_page import write_evaluation
    from sozo.eval.run import TaskRun
    from sozo.eval.second_encoder import second_gains
    from sozo.scoring.second_encoder import SecondEncoder

    models = find_evaluated([str(folder / "runs")])
    compared = compare_models(models, "one")
    write_evaluation(folder / "page.html", models, base="one", title="frozen")
    found = {"tables": {}}
    # What was run has dates and commits.
    for path in (path for path in sorted(folder.glob("page-tables/*.csv")) if "what-was-run" not in path.name):
        with path.open(encoding="utf-8-sig", newline="") as file:
            columns = zip(*csv.reader(file), strict=True)
            found["tables"][path.stem] = {name: [_number(cell) for cell in cells] for name, *cells in columns}
    found["words"] = [asdict(each) for each in outcomes(compared)]
    found["gains by e5"] = [asdict(each) for each in second_gains(compared, SecondEncoder("e5"))]
    found["wandb"] = {}
    for path in sorted((folder / "runs" / "one").iterdir()):
        run = TaskRun(make(path.name), path, json.loads((path / "metrics.json").read_text("utf-8")), True)
        found["wandb"][path.name] = {"values": _values(run)}
    return found


def _number(cell):
    try:
        return float(cell)
    except ValueError:
        return cell


def experts(folder):
    """A judge for each expert: of the trial's ratings, and of the trial's ideas."""
    from sozo.scoring.judges.protocol import JudgeSettings
    from sozo.studies.experts.histories import HISTORIES, Plan, conditions_of
    from sozo.studies.experts.rated import read_rated
    from sozo.studies.experts.run import judge_experts
    from sozo.studies.experts.settings import ExpertSettings
    from sozo.studies.rubric import load_rubric

    scale, judge = load_rubric("pbig"), FakeJudge(opinion, name="j", max_tokens=1024)
    plan = Plan(read_rated(None, None, None, scale), scale, conditions_of(HISTORIES, (1, 2)), 60)
    judge_experts(plan, [judge], folder / "experts", JudgeSettings(judge_model="j"), ExpertSettings())
    values = json.loads((folder / "experts" / "experts.json").read_text("utf-8"))
    predictions = (folder / "experts" / "predictions.jsonl").read_text("utf-8")
    asked = {"n": len(judge.asked), "all": digest("\n".join(sorted(judge.asked)))}
    return {"values": values, "predictions": digest(predictions), "asked": asked}


def verdicts(_):
    """What every recorded reply of a judge is read as."""
    from sozo.tasks.jcq.verdict import read_verdict
    from test_judge_verdict import written_replies

    read = {digest(text)[:8]: read_verdict(text) for _, text in written_replies()}
    return {key: v and f"{''.join(map(str, v.scores.values()))}{' prose' * v.in_prose}" for key, v in read.items()}


def rewards(folder):
    """What rewards pay and log; after `runs`."""
    from sozo.rewards import (
        idea_format_reward,
        make_dat_distance,
        make_dat_pairing,
        make_dat_rarity,
        make_dat_reward,
        make_dat_validity,
        make_idea_reward,
        make_judge_reward,
        make_sat_reward,
        make_task_reward,
    )
    from sozo.tasks.pbig.ideas import LIMITS, trial_ideas
    from sozo.tasks.sat.stories import load_stories

    nouns, stories = list(tiny_nouns()), [story.text for story in load_stories()]
    texts = lists(11, nouns, seed=2)
    texts += texts[:2]
    ideas = [json.dumps({name: getattr(i, name) for name in LIMITS}, ensure_ascii=False) for i in trial_ideas()[:6]]
    axes = ("specificity", "innovativeness")

    def idea_judge(prompt):
        number = int(digest(prompt), 16)
        return json.dumps({axis: (number >> 8 * k) % 4 + 1 for k, axis in enumerate(axes)})

    kanji = make("kanji").items()
    judged = {"judge": FakeJudge(verdict, name="j"), "ledger": folder / "reward.jsonl"}
    by_idea = {"judge": FakeJudge(idea_judge, name="j"), "ledger": folder / "ideas.jsonl", "axes": list(axes)}
    many = {"completions": texts}
    asked = {"prompts": ["問い一", "問い二"] * 3, "completions": list("甲乙丙丁戊己")}
    about = {"prompts": ["Patent: 聞く枕\nAbstract: 枕が聞く。"] * 7, "completions": [*ideas, "よい枕"]}
    told = {"completions": [stories[1], stories[0], stories[0][:20], stories[2]], "story": stories[:1] * 4}
    solved = {"completions": ["人"] * 6, **{key: [i.columns[key] for i in kanji[:6]] for key in kanji[0].columns}}
    cases = {
        "dat": (make_dat_reward(**LOCAL), many),
        "dat again": (make_dat_reward(scale=10.0, penalise_duplicates=False, **LOCAL), many),
        "validity": (make_dat_validity(**LOCAL), many),
        "distance": (make_dat_distance(**LOCAL), many),
        "pairing": (make_dat_pairing(reference=str(folder / "runs" / "one" / "dat"), **LOCAL), many),
        "rarity": (make_dat_rarity(**LOCAL), many),
        "sat": (make_sat_reward(), told),
        "judge": (make_judge_reward(**judged), asked),
        "ideas": (make_idea_reward(**by_idea), about),
        "ideas, ranks": (make_idea_reward(**{**by_idea, "ledger": folder / "ranks.jsonl"}, rank=True), about),
        "form of ideas": (idea_format_reward, {"completions": about["completions"]}),
        "kanji": (make_task_reward(task="kanji"), solved),
    }
    found = {}
    for name, (reward, columns) in cases.items():
        metrics = {}
        paid = reward(**columns, log_metric=metrics.__setitem__, log_extra=lambda *_: None)
        metrics = {key: value for key, value in metrics.items() if not _TIMES.search(key)}
        found[name] = {"name": reward.__name__, "paid": list(paid), "metrics": metrics}
    return found


def commands(folder):
    """Every command with its flags and their defaults; how wrong calls end."""
    import typer

    from sozo.eval import cli

    found = {}

    def walk(path, command):
        for name, each in getattr(command, "commands", {}).items():
            walk(f"{path} {name}", each)
        if not getattr(command, "commands", None):
            found[path] = {"/".join([*p.opts, *p.secondary_opts]): str(p.default) for p in command.params}

    walk("sozo", typer.main.get_command(cli.make_app()))
    (folder / "wrong.jsonl").write_text('{"text": "a"}\n{\n')
    ends = {}
    calls = ("--version", "--help", "nothing", "dat --model random", "dat --output x", "report none", "compare none",
             "score dat none.jsonl --output x", "score dat wrong.jsonl --output x", "sat --model random --output x",
             "score dat wrong.jsonl --noun-checker mecab --output x", "run --model tiny --benchmarks none --output x",
             "correlate none --output x", "agreement none.csv --output x", "experts", "experts --trial --dry-run",
             "frontier --output x --strengths -1", "serve nothing", "encoders")  # fmt: skip
    for call in calls:
        with (
            patch.object(sys, "argv", ["sozo", *call.split()]),
            redirect_stdout(StringIO()),
            redirect_stderr(StringIO()),
            contextlib.chdir(folder),
        ):
            try:
                cli.run_cli()
                ends[call] = 0
            except SystemExit as end:
                ends[call] = end.code or 0
    return {"flags": found, "exit codes": ends}


def studies(folder):
    """Every command that studies would run, and what each recipe's file says."""
    import yaml

    from sozo.eval import cli

    found, home = {}, folder / "study"
    for name in ("tiny/beyond", "tiny/reproduce", "tiny/second-training", "swallow-8b/reproduce"):
        file = f"recipes/{name}.yaml"
        out, words = StringIO(), ["sozo", "study", file, "--dry-run", "--output", str(home)]
        with (
            patch.object(sys, "argv", words),
            contextlib.suppress(SystemExit),
            redirect_stdout(out),
            redirect_stderr(StringIO()),
            contextlib.chdir(ROOT),
        ):
            cli.run_cli()
        lines = out.getvalue().replace(str(home), "HOME").replace(str(ROOT), "ROOT").splitlines()
        of_machine = ("# shared memory", "/lock: ")  # what is wrong with this one
        lines = [line for line in lines if line and not any(fault in line for fault in of_machine)]
        lines = [line.partition("; free now")[0] for line in lines]
        found[name] = [digest(line) if len(line) > 200 else line for line in lines]
    files = {}
    for path in sorted((ROOT / "recipes").glob("*/*.yaml")):
        files[str(path.relative_to(ROOT))] = digest(json.dumps(yaml.safe_load(path.read_text("utf-8")), default=str))
    return {"plans": found, "files": files}


def training(folder):
    """Losses, rewards and weights of a few steps of the embedded model by each method; the flags of each recipe."""
    from grpo_runs import history, recipe, run
    from sozo.training import sft_dpo
    from sozo.training.grpo import GrpoSettings

    found = {"settings": {}}
    for kind in (sft_dpo.SftSettings, sft_dpo.DpoSettings, GrpoSettings):
        found["settings"][kind.__name__] = {
            field.name: "" if field.default is MISSING else str(field.default) for field in fields(kind)
        }
    draw = [sys.executable, str(ROOT / "recipes" / "sample_dat.py"), "--model", "tiny", "--noun_checker", "jumandic"]
    done = run([*draw, "--num_responses", "256", "--output_dir", "table"], folder)
    assert done.returncode == 0, done.stderr
    table = ["--responses", "table"]
    methods = {"grpo": {"max_steps": 2}, "sft": {"top_k": 64, "max_steps": 3}, "dpo": {"num_pairs": 32, "max_steps": 3}}
    for method, settings in methods.items():
        done = run(recipe(*(table if method != "grpo" else ()), method=method, output_dir=method, **settings), folder)
        assert done.returncode == 0, done.stderr
        weights = (folder / method / "model.safetensors").read_bytes()
        log = [
            {key: value for key, value in entry.items() if not _TIMES.search(key)} for entry in history(folder / method)
        ]
        found[method] = {"log": log, "weights": digest(weights)}
    return found


FAST = (prompts, scores, english, runs, tables, experts, verdicts, rewards, commands, studies)
SLOW = (training,)


def cpu():
    """The processor: another one rounds otherwise."""
    info = Path("/proc/cpuinfo")
    lines = [line.partition(":") for line in info.read_text("utf-8").splitlines()] if info.exists() else []
    facts = {name.strip(): value.strip() for name, _, value in lines}
    return ", ".join(facts.get(name, "?") for name in ("model name", "cpu family", "model", "stepping"))


def plain(value):
    """As JSON has it, with twelve digits."""
    return json.loads(json.dumps(value, default=str), parse_float=lambda digits: float(f"{float(digits):.12g}"))


def differences(old, new, tolerance, place=""):
    """Where two values differ, a line each: numbers by more than `tolerance`, relative above 1."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            if key not in old or key not in new:
                yield f"{place}/{key}: only {'before' if key in old else 'now'}"
            elif key != "weights" or tolerance < 1e-6:
                yield from differences(old[key], new[key], tolerance, f"{place}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for k, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, tolerance, f"{place}/{k}")
    elif all(isinstance(value, int | float) for value in (old, new)):
        if not (old == new or abs(old - new) <= tolerance * max(1, abs(old)) or (old != old and new != new)):
            yield f"{place}: {old} before, {new} now"
    elif old != new:
        yield f"{place}: {old!r} before, {new!r} now"[:500]


def main():
    names = "--names" in sys.argv
    frozen = json.loads(FROZEN.read_text("utf-8")) if names else {}
    now = dict(frozen.get("made", {}))
    with tempfile.TemporaryDirectory() as folder:
        for section in FAST if names else (*FAST, *SLOW):  # training: its test says what differs
            now[section.__name__] = plain(section(Path(folder)))
    if names:
        found = list(differences(frozen["made"], now, 1e-9))
        changed = [line for line in found if not re.search(": only (before|now)$", line)]
        sys.stdout.write("".join(f"{line}\n" for line in found))
        if changed:
            raise SystemExit(f"values of {len(changed)} entries differ: nothing was written")
        frozen["made"] = now
    else:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
        frozen = {"commit": commit.stdout.strip(), "cpu": cpu(), "made": now}
    text = json.dumps(frozen, ensure_ascii=False, separators=(",", ":"))
    # A line for each entry, so that a difference can be read.
    FROZEN.write_text(re.sub(r'(?<=[}\]\w"]),(?="[^"]{2,60}":[\[{])', ",\n", text) + "\n", "utf-8")


if __name__ == "__main__":
    main()
