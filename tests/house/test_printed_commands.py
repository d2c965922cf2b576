"""What README, docs and recipes print is run as printed, but for the substitutions of `printed_commands.yaml`.

A command is judged by its exit status and by what it prints. In `make test`: the READMEs' and one of each kind that pages
begin with; all in `make test-slow`.
"""

import csv
import os
import re
import shlex
import shutil
import sys
import threading
from itertools import chain
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

import warm
from documents import PAGES, ROOT, SCRIPTS, commands, name_of, usages
from finished_runs import dat_run, jcq_run, sat_run, write
from judge_server import JudgeServer, completion
from sozo.data.errors import one_line_errors
from sozo.data.jsonl import write_records
from sozo.data.schema import iter_tables
from sozo.eval.cli import make_app
from sozo.eval.flags import expand_flags
from sozo.models.tiny import ensure_tiny
from sozo.tasks import task_type
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.sat.stories import load_stories

pytestmark = pytest.mark.studies  # of the whole repository

TABLE = yaml.safe_load(
    (Path(__file__).parents[1] / "files/printed_commands.yaml").read_text("utf-8")
)
OPERATORS = ("&&", "&")
LINKED = (
    "recipes",
    "examples",
    "benchmarks",
    "Makefile",
    "pyproject.toml",
    "constraints.txt",
    "constraints-vllm.txt",
)


def split(words):
    """The commands of a line, each as one text; `NAME=VALUE` alone is kept before those of its page."""
    part = []
    for word in [*words, "&&"]:
        if word not in OPERATORS:
            part.append(word)
        elif part:
            yield shlex.join(part)
            part = []


def printed():
    """Page and command, each distinct command once, on the page that prints it first."""
    pages = [
        (name_of(page), list(chain.from_iterable(map(split, commands(page)))))
        for page in PAGES
    ]
    pages += [
        (name_of(path), list(chain.from_iterable(map(split, usages(path)))))
        for path in SCRIPTS
    ]
    seen = set()
    for page, lines in pages:
        for line in lines:
            if line not in seen and not re.match(TABLE["shell"], line):
                seen.add(line)
                yield page, line


def first_match(table, line):
    return next(
        (value for pattern, value in table.items() if re.match(pattern, line)), None
    )


def marked(page, line, begun):
    """The command as a test's parameter: slow, but for the READMEs' and a page's first one of a kind that is new."""
    reason = first_match(TABLE["not_run"], line)
    if reason:
        return pytest.param(
            line, id=f"{page}: {line}", marks=pytest.mark.skip(reason=reason)
        )
    kind = " ".join(line.split()[:2])
    of_docs = page.startswith(("docs/", "CONTRIB")) and not {page, kind} & begun
    begun.update((page, kind))
    slow = not (page.startswith("README") or of_docs)
    return pytest.param(
        line,
        id=f"{page}: {line}",
        marks=pytest.mark.slow if slow else pytest.mark.timeout(180),
    )


BEGUN = set()
PRINTED = [marked(page, line, BEGUN) for page, line in printed()]


@pytest.fixture(scope="module")
def judge():
    """A judge that gives every answer the same verdict, whatever the rubric."""

    def reply(request, headers):
        text = request["messages"][-1]["content"]
        return (
            200,
            {},
            completion(first_match(TABLE["verdicts"], text.replace("\n", " "))),
        )

    with JudgeServer(reply) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A folder with all that the commands read: finished runs, a model, files of answers, patents and ratings."""
    folder = tmp_path_factory.mktemp("lab")
    runs, trial = folder / "runs", ROOT / "suite" / "pbig" / "trial"
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    for seed, model in enumerate(("base", "grpo", "sft"), 1):
        dat_run(runs / "eval" / model / "dat", model, seed)
        jcq_run(
            runs / "eval" / model / "jcq",
            model,
            lambda q: q.id,
            lambda q, seed=seed: (seed, 3, 2, 4),
        )
        sat_run(
            runs / "eval" / model / "sat",
            model,
            lambda story, seed=seed: story.text[: 200 + seed],
        )
    for name in TABLE["dat_runs"]:
        shutil.copytree(runs / "eval" / "base" / "dat", runs / name)
    for name, models in TABLE["evaluations"].items():
        for seed, model in enumerate(models, 1):
            dat_run(runs / name / model / "dat", model, seed)
    for name in ("jcq", "jcq-again", "jcq-other"):
        shutil.copytree(runs / "eval" / "grpo" / "jcq", runs / "grpo" / name)
    shutil.copytree(runs / "eval" / "base", runs / "a")
    shutil.copytree(runs / "eval" / "grpo", runs / "b")
    texts = [
        row
        for table in iter_tables(runs / "eval" / "base" / "dat")
        for row in table["text"].to_pylist()
    ]
    write(folder / "answers.jsonl", [{"text": text} for text in texts])
    stories, questions = load_stories(), trial_questions()
    write(
        folder / "stories20.jsonl", [{"id": s.id, "text": s.text} for s in stories[:2]]
    )
    write(
        folder / "rewrites.jsonl",
        [{"story_id": s.id, "text": s.text[:300]} for s in stories],
    )
    ratings = [
        {
            "model": model,
            "item": q.id,
            "criterion": "fluency",
            "rater": rater,
            "score": 1 + len(q.question + rater) % 5,
        }
        for model in ("base", "grpo", "sft")
        for q in questions
        for rater in ("a", "bb")
    ]
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(ratings[0]))
        writer.writeheader()
        writer.writerows(ratings)
    for name in ("ideas.jsonl", "ratings.csv"):
        shutil.copy(trial / name, folder)
    shutil.copy(trial / "technologies.jsonl", folder / "patents.jsonl")
    for name, text in TABLE["files"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    answers = [
        {"id": f"{q.id}-0", "question_id": q.id, "answer": "傘を開く"}
        for q in questions
    ]
    write(folder / "data" / "answers" / "m.jsonl", answers)
    verdict = TABLE["verdicts"][".*流暢性"]
    judgements = [{"answer_id": row["id"], "judgement": verdict} for row in answers]
    write(folder / "data" / "judgements" / "m.jsonl", judgements)
    items = task_type("sipen")().items()
    from sozo.suite.sipen.items import trial_items  # make test-core collects this file

    write_records(folder / "items.jsonl", trial_items())
    write(
        folder / "sipen-answers.jsonl",
        [{"item": item.id, "text": "はい"} for item in items],
    )
    (runs / "gemma" / "base").symlink_to(ensure_tiny())
    return folder


def run_in_process(words, capsys):
    """`sozo ...` without the seconds that a new process takes to start: exit status, output, errors."""
    command = get_command(make_app())
    with pytest.raises(SystemExit) as ended, one_line_errors("sozo"):
        command(expand_flags(words, command), prog_name="sozo")
    captured = capsys.readouterr()
    return ended.value.code or 0, captured.out, captured.err


def run_as_process(words, environment):
    if words[0] == "accelerate":  # as its command does, but in a fork
        words = ["python", "-m", "accelerate.commands.launch", *words[2:]]
    if words[0] == "python":
        words = [sys.executable, *words[1:]]
    done = warm.run(words, env=os.environ | environment)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("line", PRINTED)
def test_a_printed_command_does_what_its_page_says(
    line, lab, judge, tmp_path, monkeypatch, capsys
):
    folder = tmp_path / "lab"
    shutil.copytree(lab, folder, symlinks=True)
    text = line
    for pattern, replacement in TABLE["replace"].items():
        text = re.sub(pattern, replacement, text)
    text = f"{text} {first_match(TABLE['append'], text) or ''}".replace(
        "URL", judge.url
    )
    variables = {
        "OPENAI_API_KEY": "none",
        "WANDB_MODE": "offline",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    variables["PATH"] = os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    if "acrostic" in text:
        variables["SOZO_TASKS"] = "examples.task.Acrostic"
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    before = (first_match(TABLE["before"], text) or "").replace("URL", judge.url)
    for command in filter(None, (before, text)):
        for output in re.findall(r"--output(?:_dir)? (\S+)", command):
            if (
                output not in before.split() or command == before
            ):  # what the command makes may stand in the lab
                shutil.rmtree(folder / output, ignore_errors=True)
        words = shlex.split(command)
        status, output, errors = (
            run_in_process(words[1:], capsys)
            if words[0] == "sozo"
            else run_as_process(words, variables)
        )
        # A dry run ends with 1 where something is missing, as a hub's model is here.
        lacking = "--dry-run" in words and "missing: " in output
        assert status == int(lacking), f"{command}\n{errors[-2000:]}"
    expected = first_match(TABLE["prints"], text)
    assert expected, (
        f"printed_commands.yaml does not say what this prints: {text}\n{output}"
    )
    assert re.search(expected, output), f"{text}\n{output[-2000:]}"


def test_every_line_of_the_table_is_used():
    lines = [line for _, line in printed()]
    unused = [
        pattern
        for pattern in TABLE["not_run"]
        if not any(re.match(pattern, line) for line in lines)
    ]
    assert unused == []
