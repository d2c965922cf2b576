"""The user's own command, and what it rests on: the file check, the parts, the run's folder."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from command_line import here, sozo
from fakes import list_text, read_answer_table
from run_files import config_of, metrics_of
from sentences import refused, says
from sozo.data.run_folder import RunFolder
from sozo.data.settings import rare_setting, setting
from sozo.eval.flags import add_command, with_flags
from sozo.eval.run import score_answers
from sozo.tasks.answer_files import read_answers_file
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat

WORDS = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]


def write_jsonl(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text(
        "".join(
            (row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows
        ),
        "utf-8",
    )
    return path


def run_eval(*words: object) -> subprocess.CompletedProcess[str]:
    return sozo(None, *words)


# The command


def test_dat_scores_a_file_then_says_it_is_finished_then_refuses_other_settings(
    tmp_path: Path,
) -> None:
    file = write_jsonl(
        tmp_path / "mine.jsonl",
        [
            {"text": list_text(WORDS), "id": "x", "more": 1},
            {"text": "no list"},
            "",
            {"text": list_text(["走る", *WORDS[1:]])},
        ],
    )
    command = ("score", "dat", file, "--noun-checker", "jumandic")
    command += ("--output", tmp_path / "run")
    first = run_eval(*command)
    assert (first.returncode, first.stderr) == (0, "")
    usable = "33.3% [0.8, 90.6], 1 of 3"
    assert usable in first.stdout
    assert str(tmp_path / "run" / "metrics.json") in first.stdout

    config = config_of(tmp_path / "run")
    assert config["loaded"]["scorer"]["embedding_model"] == "ja-ginza"
    assert config["settings"]["noun_checker"] == "jumandic"
    assert "numpy" in config["environment"]["packages"]
    rows = list(read_answer_table(tmp_path / "run"))
    assert [row.id for row in rows] == ["x", "00000001", "00000003"]
    assert [row.reason for row in rows] == [None, "format", "not_noun"]
    assert {row.source for row in rows} == {"mine.jsonl"}
    metrics = metrics_of(tmp_path / "run")
    assert metrics["measures"]["dat"]["value"] == pytest.approx(rows[0].score)

    part = tmp_path / "run" / "answers" / "part-00000.parquet"
    written = part.stat().st_ino
    again = run_eval(*command)
    assert again.returncode == 0
    assert "finished before" in again.stdout
    assert usable in again.stdout
    assert part.stat().st_ino == written  # not written again

    done = run_eval(*command, "--reject-glued")
    assert (done.returncode, done.stdout) == (2, "")
    assert says("score: another rule", done.stderr)
    with refused("score: another source"):
        here(*command, "--source", "me")
    file.write_text('{"text": "other"}\n' * 3)
    with refused("score: other answers"):
        here(*command)


def test_a_file_for_a_folder_and_an_encoder_that_is_not_there(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "good.jsonl", [{"text": "a"}])
    with refused("score: a file for a folder"):
        here("score", "dat", file, "--output", file)
    gone = ("--noun-checker", "jumandic", "--embedding-model", tmp_path / "gone")
    with refused("score: no such encoder"):
        here("score", "dat", file, "--output", tmp_path / "run", *gone)
    assert not (tmp_path / "run").exists()


def test_usage_errors_name_the_option(tmp_path: Path) -> None:
    done = run_eval("dat", "--model", "random")
    assert done.returncode == 2
    assert "--output" in done.stderr
    assert "Traceback" not in done.stderr
    common = ("dat", "--output", tmp_path / "x")
    with refused("dat: no model"):
        here(*common)
    with refused("dat: two counts"):
        here(*common, "--model", "random", "--num-usable", 5, "--num-answers", 5)
    with refused("dat: no such folder"):
        here(*common, "--model", "./none", "--num-usable", 5)
    assert not (tmp_path / "x").exists()


def test_dat_samples_a_model_then_says_it_is_finished_then_refuses_other_settings(
    tmp_path: Path,
) -> None:
    # A flag may have underscores, as in a recipe.
    command = ("dat", "--model", "random", "--num_usable", 30)
    command += ("--noun_checker=jumandic", "--output", tmp_path / "run")
    first = run_eval(*command)
    assert (first.returncode, first.stderr) == (0, "")
    config = config_of(tmp_path / "run")
    metrics = metrics_of(tmp_path / "run")
    assert (
        config["settings"]["model"],
        config["settings"]["num_usable"],
        config["settings"]["seed"],
    ) == (
        "random",
        30,
        0,
    )
    assert config["loaded"]["decoder"] == {
        "temperature": None,
        "generator": "random",
        "nouns": 22128,
        "usable_only": True,
    }
    rows = list(read_answer_table(tmp_path / "run"))
    scores = [row.score for row in rows if row.score is not None][:30]
    assert metrics["measures"]["dat"]["value"] == pytest.approx(sum(scores) / 30)
    assert (metrics["usable"], metrics["trials"], metrics["drawn"]) == (
        30,
        30,
        len(rows),
    )
    of = metrics["num_answers"]
    usable = rf"Usable {3000 / of:.1f}% \[\d+\.\d, \d+\.\d\], 30 of {of}\b"
    assert re.search(usable, " ".join(first.stdout.split()))

    again = run_eval(*command)
    assert "finished before" in again.stdout
    assert re.search(usable, " ".join(again.stdout.split()))
    with refused("dat: another seed"):
        here(*command, "--seed", 1)
    with refused("dat: a temperature of random"):
        here(*command, "--sampling", "temperature=0.5")


# The file


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ("answers: no object", "[1]"),
        ("answers: no JSON", "{'text': 1}"),
        ("answers: deep JSON", "[" * 100_000),
        ("answers: a number for a text", '{"text": 1}'),
        ("answers: no text", '{"txt": "a"}'),
        ("answers: an odd id", '{"text": "a", "id": 1.5}'),
        ("answers: an odd id", '{"text": "a", "id": true}'),
        ("answers: an id twice", '{"text": "a", "id": "00000000"}'),
    ],
)
def test_a_bad_line_is_named(row: str, line: str, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "f.jsonl", [{"text": "a"}, "", line])
    with refused(row):
        list(read_answers_file(file))


def test_not_utf8_and_empty_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "sjis.jsonl").write_bytes('{"text": "犬"}\n'.encode("cp932"))
    with refused("answers: not UTF-8"):
        list(read_answers_file(tmp_path / "sjis.jsonl"))
    with refused("answers: none"):
        list(read_answers_file(write_jsonl(tmp_path / "empty.jsonl", ["", "  "])))
    with refused("answers: a folder"):
        list(read_answers_file(tmp_path))


def test_ids_marks_and_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(
        b'\xef\xbb\xbf{"text": "a\xe2\x80\xa8b"}\r\n\r\n{"text": "c", "id": 7}\r\n{"text": "d", "id": null}'
    )
    assert [(row.id, row.item, row.text) for row in read_answers_file(file)] == [
        ("00000000", "", "a\u2028b"),
        ("7", "", "c"),
        ("00000003", "", "d"),
    ]


# The parts


def test_lone_surrogates_are_stored_and_scored(tmp_path: Path) -> None:
    broken = list_text([*WORDS[:9], "犬\ud800"])
    file = write_jsonl(tmp_path / "f.jsonl", [{"text": broken, "id": "\udfff"}])
    score_answers(Dat(DatSettings(noun_checker="jumandic")), file, tmp_path / "run")
    (row,) = read_answer_table(tmp_path / "run")
    assert (row.id, row.reason, row.words and row.words[9]) == (
        "\\udfff",
        "symbol",
        "犬\\ud800",
    )
    assert row.text.endswith("犬\\ud800")


# The folder


def test_folder_refuses_what_it_cannot_account_for(tmp_path: Path) -> None:
    (tmp_path / "a" / "answers").mkdir(parents=True)
    with refused("run folder: no config.json"):
        RunFolder(tmp_path / "a", {})
    (tmp_path / "config.json").write_text("{")
    with refused("run folder: broken config.json"):
        RunFolder(tmp_path, {})
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with refused("run folder: another's config.json"):
        RunFolder(tmp_path, {})


def test_folder_resumes_the_same_run_and_names_the_first_difference(
    tmp_path: Path,
) -> None:
    settings = {"seed": 1, "rules": {"olson": False}, "sizes": (1, 2)}
    RunFolder(tmp_path, settings).start({"encoder": "e@1"}, {"file": "there"})
    before = (tmp_path / "config.json").read_bytes()
    folder = RunFolder(tmp_path, settings)
    assert folder.metrics() is None
    folder.start({"encoder": "e@1"}, {"file": "elsewhere"})
    assert (tmp_path / "config.json").read_bytes() == before
    with refused("run folder: another encoder"):
        folder.start({"encoder": "e@2"}, {})
    with refused("run folder: no seed"):
        RunFolder(
            tmp_path, {key: value for key, value in settings.items() if key != "seed"}
        )
    with refused("run folder: 0 for false"):
        RunFolder(tmp_path, {**settings, "rules": {"olson": 0}})
    other = RunFolder(tmp_path / "model", {})
    loaded = {"model_sha256": "0" * 64, "glove": "300d-" + "0" * 64}
    loaded |= {"selection": {"sha256": "0" * 64}}
    other.start(loaded, {})
    for row, change in (
        ("run folder: another model", {"model_sha256": "1" * 64}),
        ("run folder: another glove", {"glove": "300d-" + "1" * 64}),
        ("run folder: another selection", {"selection": {"sha256": None}}),
    ):
        with refused(row):
            other.start(loaded | change, {})
    folder.finish({"usable": 0})
    assert RunFolder(tmp_path, settings).metrics() == {"usable": 0}


# The help


def flags_of(text: str) -> list[str]:
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)


def test_help_has_panels_and_rare_flags_only_on_request() -> None:
    short, long = run_eval("run", "-h").stdout, run_eval("run", "--help-all").stdout
    panels = re.findall(r"^(\S.*):$", short, re.MULTILINE)
    assert panels == ["Options", "Model", "Cost", "Sampling", "Output"]
    assert len(flags_of(short)) <= 25
    jcq = run_eval("run", "--tasks", "jcq", "sat", "-h").stdout
    own = set(flags_of(jcq)) - set(flags_of(short))
    assert {"--questions", "--stories", "--retry-unjudged"} < own
    assert "--olson" not in own
    often = set(flags_of(short)) - {"--help-all"}
    assert often < set(flags_of(long))
    rare = set(flags_of(long)) - often
    assert {
        "--slots",
        "--judge-concurrency",
        "--reject-numerals",
        "--sat-embedding-cache",
    } <= rare
    assert f"Rarer flags, too: {len(rare)} more." in short
    assert {"--olson", "--questions"} < rare
    # One flag of a base class stands in the panel of that class, whatever task inherits it.
    judge = long.partition("\nJudge:\n")[2].partition("\n\n")[0]
    assert {"--judge-model", "--retry-unjudged"} <= set(flags_of(judge))


def test_a_setting_of_ones_own_falls_in_a_panel_by_itself() -> None:
    @dataclass(frozen=True)
    class Shared:
        panel = "Shared"
        often: int = setting(1, "Often.")

    @dataclass(frozen=True)
    class Own(Shared):
        own: int = setting(2, "Own.")
        seldom: bool = rare_setting(False, "Seldom.")

    def command(plain: int = 3, **settings: Any) -> None:
        """Say it."""
        typer.echo(f"{plain} {settings['rhymes']}")

    app = typer.Typer(rich_markup_mode=None)
    add_command(app, "say", with_flags(command, {"rhymes": Own}))
    said = CliRunner().invoke(app, ["--help"]).stdout
    assert re.findall(r"^(\w+):\n  (--\w+)", said, re.MULTILINE) == [
        ("Options", "--plain"),
        ("Shared", "--often"),
        ("rhymes", "--own"),
    ]
    assert "Rarer flags, too: 1 more." in said
    assert "--seldom" not in said
    assert "--seldom" in CliRunner().invoke(app, ["--help-all"]).stdout
    assert (
        ".Own(often=1, own=2, seldom=True)"
        in CliRunner().invoke(app, ["--seldom"]).stdout
    )


def test_a_command_that_is_none_is_refused() -> None:
    done = run_eval("repot")
    assert (done.returncode, "Did you mean 'report'?" in done.stderr) == (2, True)


def test_what_is_for_a_paper_stands_behind_the_daily_commands() -> None:
    lines = run_eval("--help").stdout.partition("Commands:")[2].splitlines()
    names = [line.split()[0] for line in lines if line[2:3].strip()]
    daily = {"run", "dat", "report", "answers", "compare", "train"}
    assert daily < set(names[: names.index("agreement")])


def test_questions_that_cannot_be_had_are_said_once_before_a_model_is_loaded(
    tmp_path: Path,
) -> None:
    words = ("run", "--model", "tiny", "random", "--tasks", "dat", "jcq")
    offline = {"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none"}
    done = sozo(tmp_path, *words, "--output", "out", **offline)
    assert (done.returncode, done.stdout) == (2, "")
    assert says("run: no questions of JCQ", done.stderr)
    assert not (tmp_path / "out").exists()
