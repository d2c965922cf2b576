"""What README, CONTRIBUTING, docs/ and scripts say can be done: commands parse, Python runs, links lead somewhere."""

import ast
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

import house
from documents import PAGES, ROOT, SHELL, blocks, commands, name_of
from fakes import AXES, list_text
from shipped import METHODS, ON_CPU
from sozo.data.schema import write_columns
from sozo.eval.cli import make_app
from sozo.eval.draw import PAPER_ANSWERS, TRIALS
from sozo.eval.flags import expand_flags
from sozo.rewards.integrations.serve import MOST_COMPLETIONS
from sozo.scoring.endpoint.profile import Profile, read_profile
from sozo.tasks import task_type
from sozo.training.config import parse
from sozo.training.entries import read_entries

pytestmark = pytest.mark.studies  # of the whole repository

FOLDERS = (*house.ROOMS, "tests", "examples")
EXAMPLES = [
    path.read_text("utf-8") for path in sorted((ROOT / "examples").glob("*.py"))
]


# `NAME=VALUE sozo ...` or `accelerate launch ... -m sozo ...`: the word sozo behind others is no command.
SOZO = [
    words[words.index("sozo") + 1 :]
    for words in SHELL
    if "sozo" in words
    and (
        words[words.index("sozo") - 1] == "-m"
        or all("=" in word for word in words[: words.index("sozo")])
    )
]
EVAL = [words for words in SOZO if words[0] != "train"]
TRAINING = [words[1:] for words in SOZO if words[0] == "train"]
TRAINING += [
    [Path(word).name.removesuffix("_dat.py"), *words[k + 1 :]]
    for words in SHELL
    for k, word in enumerate(words)
    if re.fullmatch(r"recipes/\w+_dat\.py", word)
]
# README.md's runs from a wheel (tests/house/test_wheel.py).
PYTHON = [
    (name_of(path), block) for path in PAGES[1:] for block in blocks(path, "python")
]


def test_there_is_something_to_check():
    assert len(EVAL) > 20
    assert {method for method, *_ in TRAINING} == {"sft", "dpo", "grpo"}
    assert len(PYTHON) > 5


@pytest.mark.parametrize("words", EVAL, ids=" ".join)
def test_a_command_of_evaluation_parses(words, monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "examples.task.Acrostic")
    command = get_command(make_app())
    words = expand_flags(words, command)
    context = None
    while hasattr(command, "resolve_command"):
        context = command.make_context("eval", words, parent=context)
        name, command, words = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
    assert command.make_context(name, words, parent=context).params


@pytest.mark.parametrize("words", TRAINING, ids=" ".join)
def test_a_training_parses(words, monkeypatch):
    monkeypatch.chdir(ROOT)
    method, *words = words
    assert "--config" in words  # without it no YAML is read
    if "server" in words:  # vLLM as a server takes no weights without a GPU
        del words[(of := words.index("server")) - 1 : of + 1]
    words = [word for word in words if word != "--dry-run"]
    assert parse(*METHODS[method], [*words, *ON_CPU])


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_and_files_exist(path):
    text = path.read_text("utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text):
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)
            assert anchor in {
                re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
                for heading in headings
            }, anchor
    for words in commands(path):
        for word in words:
            if re.match(r"recipes/.*\.(py|yaml)$", word):
                assert (ROOT / word).is_file(), word
    for quoted in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", text):
        assert (ROOT / quoted).exists(), quoted


@pytest.mark.parametrize(
    ("page", "block"), PYTHON, ids=[f"{page}-{k}" for k, (page, _) in enumerate(PYTHON)]
)
def test_python_runs_or_is_quoted(page, block, monkeypatch, tmp_path):
    if any(block.strip() in example for example in EXAMPLES):
        return
    tree = ast.parse(block)
    if any(
        isinstance(node, ast.Constant) and node.value is ... for node in ast.walk(tree)
    ):
        # Something is left to the reader: what is imported must exist.
        tree.body = [
            node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)
        ]
    monkeypatch.chdir(tmp_path)
    texts = [
        list_text(AXES[k % 3 : k % 3 + 10]) + " " * k for k in range(2048)
    ]  # no two are equal
    columns = {
        "id": [f"{k:08d}" for k in range(2048)],
        "text": texts,
        "score": [k / 2048 for k in range(2048)],
    }
    write_columns(
        tmp_path / "runs" / "base" / "answers" / "part-00000.parquet", columns
    )
    exec(compile(tree, page, "exec"), {})


@pytest.mark.parametrize(
    "block", [block for path in PAGES for block in blocks(path, "yaml")]
)
def test_yaml_is_taken(block, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.jsonl").write_text(json.dumps({"prompt": "?"}), "utf-8")
    patents = [
        {"id": name, "title": "A pillow", "abstract": "It listens."} for name in "pq"
    ]
    (tmp_path / "patents.jsonl").write_text(
        "\n".join(map(json.dumps, patents)), "utf-8"
    )
    values = yaml.safe_load(block)
    if "arms" in values:  # a study's
        from sozo.studies.study.arms import Arm, complete
        from sozo.studies.study.claims import Claim, Difference, check_claims

        given = {name: Arm(**arm) for name, arm in values["arms"].items()}
        arms = complete(given, values["seeds"])
        exploratory = [Difference(**line) for line in values.get("exploratory", [])]
        check_claims(
            [Claim(**claim) for claim in values.get("claims", [])], exploratory, arms
        )
        return
    if values.keys() <= {field.name for field in fields(Profile)}:
        assert read_profile(values) == Profile(**values)
        return
    settings = (
        yaml.safe_load((ROOT / "recipes" / "tiny" / "grpo.yaml").read_text("utf-8"))
        | values
    )
    (tmp_path / "grpo.yaml").write_text(yaml.safe_dump(settings), "utf-8")
    script, *_ = parse(*METHODS["grpo"], ["--config", "grpo.yaml", *ON_CPU])
    for entry in read_entries(script.tasks):
        assert entry.rewards


@pytest.mark.suite
def test_pages_say_the_code_s_defaults():
    dat, jcq, sat, sipen = map(task_type, ("dat", "jcq", "sat", "sipen"))
    limits = [kind.max_new_tokens for kind in (dat, jcq, sat)]
    greedy = f"temperature {sipen.temperature:g} and stops after"
    for page, said in (
        ("measure.md", f"until {TRIALS} answers are"),
        ("measure.md", f"asks it {PAPER_ANSWERS:,} times"),
        ("measure.md", f"--num-answers {PAPER_ANSWERS}"),
        ("measure.md", f"{greedy} {sipen.max_new_tokens} tokens"),
        ("judges.md", "up to {:,}, {:,} and {:,} tokens".format(*limits)),
        ("judges.md", f"limit of {jcq.max_new_tokens:,} tokens"),
        ("integrations.md", f"{MOST_COMPLETIONS:,} completions"),
    ):
        assert said in (ROOT / "docs" / page).read_text("utf-8"), f"{page}: {said}"
