"""Nothing is deleted, followed or written over that is not ours: a foreign file or link at any path survives."""

import json
import os
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from fakes import list_text
from grpo_runs import ROOT
from sentences import refused, says
from sozo.data.errors import UserError
from sozo.data.record import whole_folder, write_whole
from sozo.data.run_folder import RunFolder, lock, unlock
from sozo.eval.cli import make_app
from sozo.models.openai_endpoint import OpenAIGenerator
from sozo.scoring.judges.ledger import Ledger

L = list_text(["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"])
PRECIOUS = "precious"
JUMANDIC = ["--noun-checker", "jumandic"]


def sozo(*words):
    """A command in this process: a hundred of them would load everything a hundred times."""
    result = CliRunner().invoke(make_app(), list(map(str, words)))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return SimpleNamespace(returncode=result.exit_code, stderr=result.stderr)


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two finished runs."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_text(
            json.dumps({"text": L}) + "\n" + json.dumps({"text": name})
        )
        answers = folder / f"{name}.jsonl"
        sozo("score", "dat", answers, "--output", folder / name, *JUMANDIC)
    return folder


def commands(runs):
    return {
        "score": ["score", "dat", runs / "a.jsonl", *JUMANDIC],
        "correlate": ["correlate", runs / "a", runs / "b"],
    }


@pytest.mark.parametrize(
    ("name", "planted"),
    [
        ("score", "file"),
        pytest.param("correlate", "link", marks=pytest.mark.studies),
    ],
)
def test_each_path_that_a_command_writes(name, planted, runs, tmp_path):
    done = sozo(*commands(runs)[name], "--output", tmp_path / "once")
    written = ["config.json", "metrics.json", "_lock"]
    if done.returncode == 0:
        written = [*tree(tmp_path / "once"), "_lock"]
    for k, path in enumerate(written):
        _plant(commands(runs)[name], planted, tmp_path / str(k), path)


def _plant(command, planted, place, path):
    victim, output = place / "victim", place / "out"
    target = output / path
    target.parent.mkdir(parents=True)
    victim.write_text(PRECIOUS)
    if planted == "file":
        target.write_text(PRECIOUS)
    else:
        target.symlink_to(victim)
    done = sozo(*command, "--output", output)
    assert victim.read_text() == PRECIOUS, path
    assert target.is_symlink() == (planted == "link"), path
    assert target.read_text() == PRECIOUS, path
    assert done.returncode == 2, path


@pytest.mark.parametrize("inner", ["", "answers"])
def test_a_linked_folder_is_not_written_into(inner, runs, tmp_path):
    victim, output = tmp_path / "victim", tmp_path / "out"
    victim.mkdir()
    (output / inner).parent.mkdir(exist_ok=True)
    (output / inner).symlink_to(victim)
    done = sozo(*commands(runs)["score"], "--output", output)
    assert done.returncode == 2
    assert list(victim.iterdir()) == []


def test_a_report_is_written_over_a_report_only(runs, tmp_path):
    page = tmp_path / "r.html"
    for planted in (page, tmp_path / "r-tables"):
        planted.write_text(PRECIOUS)
        assert sozo("report", runs / "a", runs / "b", "--output", page).returncode == 2
        assert planted.read_text() == PRECIOUS
        planted.unlink()
    for _ in range(2):
        assert sozo("report", runs / "a", runs / "b", "--output", page).returncode == 0
    page.unlink()
    page.symlink_to(tmp_path / "victim")
    (tmp_path / "victim").write_text(PRECIOUS)
    assert sozo("report", runs / "a", runs / "b", "--output", page).returncode == 2
    assert (tmp_path / "victim").read_text() == PRECIOUS


def test_a_page_needs_a_name(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = sozo("report", runs / "a", "--output", ".")
    assert done.returncode == 2
    assert says("report: a page without a name", done.stderr)


def test_answers_that_are_kept_follow_no_link(tmp_path):
    generator = OpenAIGenerator.__new__(OpenAIGenerator)
    (tmp_path / "victim").write_text(PRECIOUS)
    (tmp_path / "kept").symlink_to(tmp_path / "victim")
    generator._file = lambda batch: tmp_path / "kept"
    with refused("record: answers that are a link"):
        generator.answer([], seed=0, batch=0)
    assert (tmp_path / "victim").read_text() == PRECIOUS


def test_a_whole_file_follows_no_link(tmp_path):
    (tmp_path / "victim").write_text(PRECIOUS)
    (tmp_path / "x").symlink_to(tmp_path / "victim")
    (tmp_path / f".y.{os.getpid()}.tmp").symlink_to(tmp_path / "victim")
    with refused("record: a file that is a link"):
        write_whole(tmp_path / "x", b"ours")
    write_whole(tmp_path / "y", b"ours")
    assert (tmp_path / "victim").read_text() == PRECIOUS
    assert (tmp_path / "x").is_symlink()
    assert (tmp_path / "y").read_bytes() == b"ours"
    assert len(list(tmp_path.iterdir())) == 4


def test_a_whole_folder(tmp_path):
    output = tmp_path / "model"
    for name in ("model.partial", f"model.{os.getpid()}"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").write_text(PRECIOUS)
    with whole_folder(output) as partial:
        assert str(os.getpid()) in partial.name
        (partial / "weights").write_text("w")
        with refused("record: a folder that is being written"), whole_folder(output):
            pass
    assert tree(output) == {"weights": b"w"}
    with refused("record: a folder that exists"), whole_folder(output):
        pass
    with pytest.raises(RuntimeError), whole_folder(tmp_path / "other") as partial:  # noqa: PT012
        (partial / "half").write_text("h")
        raise RuntimeError
    assert not (tmp_path / "other").exists()
    (tmp_path / "empty").mkdir()  # what a kill leaves
    with whole_folder(tmp_path / "empty") as partial:
        (partial / "weights").write_text("w")
    assert tree(tmp_path / "empty") == {"weights": b"w"}
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UserError), whole_folder(tmp_path / "link"):
        pass
    kept = {
        "model.partial/mine",
        f"model.{os.getpid()}/mine",
        "model/weights",
        "empty/weights",
    }
    assert set(tree(tmp_path)) == kept


def test_what_a_killed_process_left_of_a_folder_is_removed_and_nothing_else(tmp_path):
    left = tmp_path / ".base.123-0123abcd.tmp"
    others = [
        ".base.v2.123-0123abcd.tmp",
        ".base.12.3-0123abcd.tmp",
        ".base.tmp",
        "base.123-0123abcd.tmp",
        ".based.1-0123abcd.tmp",
    ]
    for name in (left.name, *others):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_text(PRECIOUS)
    (tmp_path / ".base.124-0123abcd.tmp").write_text(PRECIOUS)  # a file is no folder's
    with whole_folder(tmp_path / "base") as partial:
        assert not left.exists()
        (partial / "weights").write_text("w")
    kept = {f"{name}/weights" for name in others} | {
        ".base.124-0123abcd.tmp",
        "base/weights",
    }
    assert set(tree(tmp_path)) == kept


def test_something_that_came_meanwhile_is_kept(tmp_path):
    with pytest.raises(UserError), whole_folder(tmp_path / "model") as partial:  # noqa: PT012
        (partial / "weights").write_text("w")
        (tmp_path / "model" / "mine").write_text(PRECIOUS)
    assert tree(tmp_path) == {"model/mine": PRECIOUS.encode()}


@pytest.mark.parametrize(
    ("name", "use"),
    [("_lock", lambda path: lock(path.parent)), ("j", lambda path: Ledger(path, ()))],
)
@pytest.mark.parametrize("content", [PRECIOUS, "line\nprecious"])
def test_a_lock_and_a_ledger_that_are_not_ours(name, use, content, tmp_path):
    (tmp_path / "victim").write_text(content)
    (tmp_path / name).write_text(content)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / name).symlink_to(tmp_path / "victim")
    for path in (tmp_path / name, tmp_path / "linked" / name):
        with pytest.raises(UserError):
            use(path)
        assert path.read_text() == content


def test_a_run_begins_in_a_folder_of_its_own(tmp_path):
    (tmp_path / "mine").write_text(PRECIOUS)
    with refused("run_folder: holds another's file"):
        RunFolder(tmp_path, {"seed": 1})
    assert tree(tmp_path) == {"mine": PRECIOUS.encode()}


@pytest.mark.studies
def test_a_study_begins_in_a_folder_of_its_own(tmp_path):
    output = tmp_path / "out"
    output.mkdir()
    (output / "study.txt").write_text(PRECIOUS)
    done = sozo("study", ROOT / "recipes/tiny/reproduce.yaml", "--output", output)
    assert done.returncode == 2
    assert says("run_folder: holds study.txt", done.stderr)
    unlock(output)
    assert tree(output) == {"study.txt": PRECIOUS.encode()}
