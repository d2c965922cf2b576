"""The student's command, shortened: the same seed gives the same table, and the page stands alone."""

import html
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest
import yaml
from typer.testing import CliRunner

from fakes import Answer, write_answer_table
from finished_runs import given_dat
from http_server import wait_until
from sozo.data.record import read_json, write_json
from sozo.eval.cli import make_app
from sozo.studies import quickstart


@pytest.fixture
def left(tmp_path):
    """What the quickstart leaves, without a model: five tables of answers, and two trainings."""
    folders = {name: tmp_path / step for name, step in quickstart.ROWS.items()}
    for name, path in folders.items():
        first, other = (
            tuple(f"語{k}" for k in range(start, start + 10)) for start in (0, 10)
        )
        again = first if name == "after GRPO" else other
        lists = [
            Answer("0", "m", 0, "", first, 0.5),
            Answer("1", "m", 0, "", again, 0.7),
        ]
        if name == "before":
            lists.append(Answer("2", "m", 0, "", None, None, "format"))
        given_dat(path, name, 0.6, usable=2)
        write_answer_table(path / "answers" / "part-00000.parquet", lists)
        model = {
            "random": "random",
            "wide lists": "frontier",
            "after GRPO": str(tmp_path / "grpo"),
        }.get(name, name)
        config = read_json(path / "config.json")
        config["settings"]["model"] = model
        write_json(path / "config.json", config)
    for training in ("grpo", "wide"):
        (tmp_path / training).mkdir()
        for name in ("config.json", "metrics.json"):  # a model's, and a training's
            write_json(
                tmp_path / training / name, {"model_type": "llama", "runtime": 1}
            )
    return folders


def test_the_page_says_what_was_aimed_at(left, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        quickstart, "find_spec", lambda _: None
    )  # two lists have no pairing
    monkeypatch.setenv("COLUMNS", "200")
    quickstart.show(tmp_path, left, 0.0)
    printed = capsys.readouterr().out
    (all_lists,) = re.findall(r"All lists: sozo (.*) --output lists\.csv", printed)
    run = CliRunner().invoke(
        make_app(), [*shlex.split(all_lists), "--output", str(tmp_path / "lists.csv")]
    )
    assert run.exit_code == 0, run.output
    assert "after wide" in (tmp_path / "lists.csv").read_text("utf-8")
    facts = printed[printed.index("Compared with before. ") :]
    assert facts.count("\n") < 10  # they come last
    assert re.search(
        r"after GRPO +0\.6000 +50\.0% +10\b", printed
    )  # ten words in two lists
    assert re.search(r"before +0\.6000 +50\.0% +20\b", printed)
    assert re.search(
        r"after GRPO: .*\n( .*\n)* not known: what it was trained on\n", facts
    )
    page = html.unescape((tmp_path / "report.html").read_text("utf-8"))
    for english, japanese in quickstart.NOTES:
        assert f'<span lang="en">{english}</span>' in page
        assert f'<span lang="ja">{japanese}</span>' in page


def test_both_trainings_end_with_the_quickstart(tmp_path):
    """Also where the signal reaches it alone."""
    command = [sys.executable, "-m", "sozo.studies.quickstart"]
    for ended_by in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen(
            command,
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            running = 0
            while running < 2:
                running += ": running" in next(process.stderr)
            process.send_signal(ended_by)
            process.stderr.read()  # to its end: nobody is left who could write
        assert process.returncode
        left = ["pgrep", "-s", str(process.pid)]
        wait_until(lambda left=left: subprocess.run(left, check=False).returncode)


SMALL = """
from pathlib import Path
import sys
from sozo.studies.quickstart import main
main(Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.mark.slow
def test_quickstart_twice_gives_the_same_table_and_page(tmp_path):
    values = yaml.safe_load(quickstart.STUDY.read_text("utf-8"))
    values |= {"num_answers": 256, "num_training_answers": 160, "top_k": 160}
    values["arms"]["GRPO"]["max_steps"] = 12
    for section in ("sampling", "training"):
        for key in {"launcher", "sft", "grpo"} & values[section].keys():
            path = quickstart.STUDY.parent / values[section][key]
            values[section][key] = str(path)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(values, sort_keys=False))

    def run(name):
        command = [sys.executable, "-c", SMALL, "small.yaml", name]
        own = {"SOZO_CACHE": str(tmp_path / f"{name}-cache"), "WANDB_MODE": "offline"}
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | own,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return re.findall(r"^(\S.*)\n((?:  \S.*\n)+)", done.stdout, re.M)

    table = run("one")
    scored = [row for row, values in table if "  score: " in values]
    assert [row.partition(",")[0] for row in scored] == [
        "before",
        "after GRPO",
        "after wide",
        "wide lists",
        "random",
    ]
    assert table == run("two")
    page = (tmp_path / "one" / "report.html").read_text("utf-8")
    assert "after wide" in page
    assert not re.search(r"""(?:src|href)=["']?https?:""", page)
