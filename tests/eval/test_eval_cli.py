"""The user's own command in a subprocess, and what it rests on: the file check, the parts, the run's folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import warm
from fakes import read_answer_table
from sampling_worker import dat_by
from sozo.data.errors import UserError
from sozo.data.run_folder import RunFolder
from sozo.data.settings import rare_setting, setting
from sozo.eval.answered import read_answers, score_parts
from sozo.eval.cli import make_app
from sozo.eval.flags import add_command, with_flags
from sozo.eval.run import score_answers
from sozo.scoring.nouns import NounVerdict
from sozo.tasks.answer_files import read_answers_file
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.dat.summary import summarise
from sozo.tasks.dat.task import Dat

WORDS = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]


class AllNouns:
    name = "all"

    def check(self, words: Sequence[str]) -> list[NounVerdict]:
        return [NounVerdict(True) for _ in words]


class CodePoints:
    name, revision = "code points", "1"

    def encode(self, words: Sequence[str]) -> Any:
        rows = [
            np.random.default_rng([ord(c) for c in word]).standard_normal(8)
            for word in words
        ]
        return np.array(rows, np.float32)


def fake_scorer() -> DatScorer:
    return DatScorer(AllNouns(), CodePoints())


def score_file(
    file: Path, scorer: DatScorer, folder: Path, part_rows: int = 16_384
) -> None:
    task = dat_by(scorer)
    score_parts(task, read_answers(task, file, "x"), folder, part_rows=part_rows)


def listed(words: Sequence[str]) -> str:
    return "\n".join(f"{k}. {word}" for k, word in enumerate(words, 1))


def write_jsonl(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text(
        "".join(
            (row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows
        ),
        "utf-8",
    )
    return path


def texts(n: int) -> list[dict[str, str]]:
    return [
        {"text": listed(WORDS[i % 10 :] + WORDS[: i % 10]) if i % 3 else f"no list {i}"}
        for i in range(n)
    ]


def run_eval(*arguments: object) -> subprocess.CompletedProcess[str]:
    return warm.run([sys.executable, "-m", "sozo", *arguments])


def assert_one_line_error(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("error: ")
    for part in parts:
        assert part in done.stderr


# The command


def test_the_module_of_the_command_runs_as_sozo_does() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-m", module, "--version"], capture_output=True, text=True
        ).stdout
        for module in ("sozo", "sozo.eval.cli")
    ]
    assert said[0].startswith("sozo ")
    assert said[0] == said[1]


def test_dat_scores_a_file_then_says_it_is_finished_then_refuses_other_settings(
    tmp_path: Path,
) -> None:
    file = write_jsonl(
        tmp_path / "mine.jsonl",
        [
            {"text": listed(WORDS), "id": "x", "more": 1},
            {"text": "no list"},
            "",
            {"text": listed(["走る", *WORDS[1:]])},
        ],
    )
    command = (
        "score",
        "dat",
        file,
        "--output",
        tmp_path / "run",
        "--noun-checker",
        "jumandic",
    )
    first = run_eval(*command)
    assert (first.returncode, first.stderr) == (0, "")
    usable = "33.3% [0.8, 90.6], 1 of 3"
    assert usable in first.stdout
    assert str(tmp_path / "run" / "metrics.json") in first.stdout

    config = json.loads((tmp_path / "run" / "config.json").read_text("utf-8"))
    assert config["loaded"]["scorer"]["embedding_model"] == "ja-ginza"
    assert config["settings"]["noun_checker"] == "jumandic"
    assert "numpy" in config["environment"]["packages"]
    rows = list(read_answer_table(tmp_path / "run"))
    assert [row.id for row in rows] == ["x", "00000001", "00000003"]
    assert [row.reason for row in rows] == [None, "format", "not_noun"]
    assert {row.source for row in rows} == {"mine.jsonl"}
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text("utf-8"))
    assert metrics["measures"]["dat"]["value"] == pytest.approx(rows[0].score)

    part = tmp_path / "run" / "answers" / "part-00000.parquet"
    written = part.stat().st_mtime_ns
    again = run_eval(*command)
    assert again.returncode == 0
    assert "finished before" in again.stdout
    assert usable in again.stdout
    assert part.stat().st_mtime_ns == written

    assert_one_line_error(
        run_eval(*command, "--reject-glued"),
        "reject_glued = false",
        "now it is true",
        "another output folder",
    )
    file.write_text('{"text": "other"}\n')
    assert_one_line_error(
        run_eval(*command),
        "holds a run with num_answers = 3, but now it is 1; give another output",
    )
    file.write_text('{"text": "other"}\n' * 3)
    assert_one_line_error(
        run_eval(*command),
        "run: holds a run from before answers changed; give another output folder, or the same content",
    )
    assert_one_line_error(
        run_eval(*command, "--source", "me"), 'with source = null, but now it is "me"'
    )


def test_every_user_error_is_one_line(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "good.jsonl", texts(3))
    output = tmp_path / "run"
    common = ("score", "dat", "--output", output, "--noun-checker", "jumandic")
    assert_one_line_error(
        run_eval(*common, tmp_path / "none.jsonl"), "none.jsonl", "no such file"
    )
    bad = write_jsonl(tmp_path / "bad.jsonl", [{"text": "a"}, "{"])
    assert_one_line_error(run_eval(*common, bad), "bad.jsonl, line 2", "not JSON")
    assert_one_line_error(
        run_eval(*common, file, "--noun-checker", "mecab"), "'mecab'", "jumandic"
    )
    assert_one_line_error(run_eval("score", "dat", file, "--output", file), "is a file")
    assert_one_line_error(
        run_eval(*common, file, "--embedding-model", tmp_path / "gone"),
        "gone",
        "ja-ginza",
    )
    assert not output.exists()


def test_usage_errors_name_the_option(tmp_path: Path) -> None:
    done = run_eval("dat", "--model", "random")
    assert done.returncode == 2
    assert "--output" in done.stderr
    assert "Traceback" not in done.stderr
    common = ("dat", "--output", tmp_path / "x")
    assert_one_line_error(run_eval(*common), "give a --model", "sozo score TASK FILE")
    assert_one_line_error(
        run_eval(
            "run", "--tasks", "sat", "--model", "random", "--output", tmp_path / "x"
        ),
        "no answer to sat",
    )
    counts = ("--num-usable", "5", "--num-answers", "5")
    assert_one_line_error(run_eval(*common, "--model", "random", *counts), "not both")
    assert_one_line_error(
        run_eval(*common, "--model", "./none", "--num-usable", "5"),
        "./none: no such folder",
    )
    assert not (tmp_path / "x").exists()


RANDOM_30 = (
    "dat",
    "--model",
    "random",
    "--num-usable",
    30,
    "--noun-checker",
    "jumandic",
)


def test_dat_samples_a_model_then_says_it_is_finished_then_refuses_other_settings(
    tmp_path: Path,
) -> None:
    command = (*RANDOM_30, "--output", tmp_path / "run")
    first = run_eval(*command)
    assert (first.returncode, first.stderr) == (0, "")
    config = json.loads((tmp_path / "run" / "config.json").read_text("utf-8"))
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text("utf-8"))
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
    assert_one_line_error(
        run_eval(*command, "--seed", 1),
        "seed = 0, but now it is 1",
        "another output folder",
    )
    assert_one_line_error(
        run_eval(*command, "--sampling", "temperature=0.5"),
        "sampling temperature=0.5 goes with a language model, not with random",
    )


def test_help_and_the_room_import_without_heavy_packages() -> None:
    heavy = "{'torch', 'transformers', 'pyarrow', 'matplotlib', 'scipy', 'spacy', 'trl', 'training'}"
    code = f"import sys, sozo.eval.cli, sozo.eval.report;found = {heavy} & set(sys.modules); assert not found, found"
    subprocess.run([sys.executable, "-c", code], check=True)
    done = run_eval("--help")
    assert done.returncode == 0
    assert "dat" in done.stdout


@pytest.mark.studies
def test_correlate_imports_without_scipy() -> None:
    code = "import sys, sozo.studies.correlate.run, sozo.studies.correlate.people; assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# The file


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "not a JSON object"),
        ("{'text': 1}", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"text": 1}', "the column text holds no answer"),
        ('{"txt": "a"}', "0 answers in the columns txt; call the answer's column text"),
        ('{"text": "a", "id": 1.5}', "the column id is neither"),
        ('{"text": "a", "id": true}', "the column id is neither"),
        ('{"text": "a", "id": "00000000"}', "comes twice"),
    ],
)
def test_a_bad_line_is_named(line: str, message: str, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "f.jsonl", [{"text": "a"}, "", line])
    with pytest.raises(UserError, match=message) as error:
        list(read_answers_file(file))
    assert "f.jsonl, line 3: " in str(error.value)
    assert "\n" not in str(error.value)


def test_not_utf8_and_empty_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "sjis.jsonl").write_bytes('{"text": "犬"}\n'.encode("cp932"))
    with pytest.raises(UserError, match="line 1: not UTF-8"):
        list(read_answers_file(tmp_path / "sjis.jsonl"))
    with pytest.raises(UserError, match="holds no answers"):
        list(read_answers_file(write_jsonl(tmp_path / "empty.jsonl", ["", "  "])))
    with pytest.raises(UserError, match="not a file"):
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
    broken = listed([*WORDS[:9], "犬\ud800"])
    file = write_jsonl(
        tmp_path / "f.jsonl", [{"text": broken, "id": "\udfff"}, *texts(3)]
    )
    score_file(file, fake_scorer(), tmp_path / "parts")
    row = next(iter(read_answer_table(tmp_path / "parts")))
    assert (row.id, row.reason, row.words and row.words[9]) == (
        "\\udfff",
        "symbol",
        "犬\\ud800",
    )
    assert row.text.endswith("犬\\ud800")


def test_a_killed_run_goes_on_to_the_same_table(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "f.jsonl", texts(23))
    score_file(file, fake_scorer(), tmp_path / "whole", part_rows=5)

    class KilledError(Exception):
        pass

    class Dies(DatScorer):
        calls = 0

        def score(self, texts: Sequence[str]) -> Any:
            self.calls += 1
            if self.calls == 3:
                raise KilledError
            return super().score(texts)

    with pytest.raises(KilledError):
        score_file(
            file, Dies(AllNouns(), CodePoints()), tmp_path / "broken", part_rows=5
        )
    assert len(list((tmp_path / "broken").iterdir())) == 2
    # What a kill in the middle of writing leaves behind.
    (tmp_path / "broken" / ".part-00002.parquet.1.tmp").write_bytes(b"PAR1")
    score_file(file, fake_scorer(), tmp_path / "broken", part_rows=5)

    names = [f"part-{k:05d}.parquet" for k in range(5)]
    assert sorted(p.name for p in (tmp_path / "broken").glob("part-*")) == names
    for name in names:
        assert (tmp_path / "broken" / name).read_bytes() == (
            tmp_path / "whole" / name
        ).read_bytes()
    rows = list(read_answer_table(tmp_path / "whole"))
    assert [row.id for row in rows] == [f"{i:08d}" for i in range(23)]
    for row, result in zip(
        rows, fake_scorer().score([row["text"] for row in texts(23)]), strict=True
    ):
        assert (row.words, row.score, row.reason) == (
            result.words,
            result.score,
            result.reason,
        )
    assert summarise(tmp_path / "broken") == summarise(tmp_path / "whole")
    assert summarise(tmp_path / "whole").usable == 15


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, opened, path_open = write_jsonl(tmp_path / "f.jsonl", texts(3)), [], Path.open
    monkeypatch.setattr(
        Path,
        "open",
        lambda path, *args, **named: (
            opened.append(path) or path_open(path, *args, **named)
        ),
    )
    score_answers(Dat(DatSettings(noun_checker="jumandic")), file, tmp_path / "run")
    assert opened.count(file) == 1


def test_a_foreign_part_is_an_error(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "f.jsonl", texts(4))
    score_file(file, fake_scorer(), tmp_path / "a", part_rows=2)
    with pytest.raises(
        UserError, match=r"part-00000\.parquet: has 2 rows where 3 belong"
    ):
        score_file(file, fake_scorer(), tmp_path / "a", part_rows=3)


# The folder


def test_folder_refuses_what_it_cannot_account_for(tmp_path: Path) -> None:
    (tmp_path / "a" / "answers").mkdir(parents=True)
    with pytest.raises(UserError, match=r"holds answers but no config\.json"):
        RunFolder(tmp_path / "a", {})
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UserError, match=r"config\.json: cannot be read"):
        RunFolder(tmp_path, {})
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(UserError, match="not of this version"):
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
    with pytest.raises(UserError, match='encoder = "e@1", but now it is "e@2"'):
        folder.start({"encoder": "e@2"}, {})
    with pytest.raises(UserError, match="seed = 1, but now it is not set"):
        RunFolder(
            tmp_path, {key: value for key, value in settings.items() if key != "seed"}
        )
    with pytest.raises(
        UserError, match=r"rules\.olson = false, but now it is 0"
    ):  # false is no number
        RunFolder(tmp_path, {**settings, "rules": {"olson": 0}})
    other = RunFolder(tmp_path / "model", {})
    other.start(
        {
            "model_sha256": "0" * 64,
            "glove": "300d-" + "0" * 64,
            "selection": {"sha256": "0" * 64},
        },
        {},
    )
    for change, name in (
        ({"model_sha256": "1" * 64}, "the model's folder"),
        ({"model_sha256": "0" * 64, "glove": "300d-" + "1" * 64}, "glove"),
        (
            {
                "model_sha256": "0" * 64,
                "glove": "300d-" + "0" * 64,
                "selection": {"sha256": None},
            },
            "selection",
        ),
    ):
        with pytest.raises(
            UserError,
            match=f"model: holds a run from before {name} changed; give another",
        ):
            other.start(change, {})
    folder.finish({"usable": 0})
    assert RunFolder(tmp_path, settings).metrics() == {"usable": 0}


# The help


def flags_of(text: str) -> list[str]:
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)


def test_help_has_panels_and_rare_flags_only_on_request() -> None:
    short, long = run_eval("run", "-h").stdout, run_eval("run", "--help-all").stdout
    assert short == run_eval("run", "--help").stdout
    panels = re.findall(r"^(\S.*):$", short, re.MULTILINE)
    first = ["Options", "Model", "Cost", "Sampling", "Output", "dat", "Encoder"]
    assert panels[: len(first)] == first
    assert {"Judge", "jcq", "sat"} < set(panels)
    assert flags_of(short)[:3] == ["--output", "--model", "--tasks"]
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
    # One flag of a base class stands in the panel of that class, whatever task inherits it.
    judge = long.partition("\nJudge:\n")[2].partition("\n\n")[0]
    assert {"--judge-model", "--retry-unjudged"} <= set(flags_of(judge))
    assert flags_of(long.partition("\nCost:\n")[2].partition("\n\n")[0]) == [
        "--max-cost"
    ]


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


@pytest.mark.studies
def test_no_line_of_help_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    group: Any = typer.main.get_command(make_app())
    top = typer.Context(group, info_name="sozo", help_option_names=["-h", "--help"])
    pages = {"": group.get_help(top)}
    for name, command in group.commands.items():
        inner = {
            f"{name} {one}": each
            for one, each in getattr(command, "commands", {}).items()
        }
        pages |= {
            key: each.get_help(typer.Context(each, top, key))
            for key, each in ({name: command} | inner).items()
        }
    assert len(pages) > 20
    cut = {
        key: line
        for key, text in pages.items()
        for line in text.splitlines()[1:]
        if line.endswith("...")
    }
    assert cut == {}
    listed = pages[""].partition("\nCommands:\n")[2].splitlines()
    assert [line for line in listed if line.startswith("     ")] == []


def test_a_command_that_is_none_says_where_it_is() -> None:
    for name, place in (
        ("grpo", "sozo train grpo"),
        ("sft", "sozo train sft"),
        ("dpo", "sozo train dpo"),
        ("quickstart", "make quickstart, in the repository"),
    ):
        assert_one_line_error(
            run_eval(name, "--config", "x.yaml"),
            f"sozo has no command {name}; there is: {place}",
            place,
        )
    assert_one_line_error(
        run_eval("jcq", "--model", "m"),
        "sozo has no command jcq; the task is asked by: sozo run --tasks jcq",
    )
    done = run_eval("raport")
    assert (done.returncode, "Did you mean 'report'?" in done.stderr) == (2, True)


def test_a_flag_may_have_underscores_as_in_a_recipe(tmp_path: Path) -> None:
    words = (
        "dat",
        "--model",
        "random",
        "--num_usable",
        3,
        "--noun_checker=jumandic",
        "--output",
        tmp_path / "a_b",
    )
    assert run_eval(*words).returncode == 0
    config = json.loads((tmp_path / "a_b" / "config.json").read_text("utf-8"))
    assert (config["settings"]["num_usable"], config["settings"]["noun_checker"]) == (
        3,
        "jumandic",
    )


def test_what_rows_mean_is_said_on_request(tmp_path: Path) -> None:
    command = (*RANDOM_30, "--output", tmp_path / "run")
    silent = run_eval(*command)
    assert "Pairing: the rest of the mean" not in " ".join(silent.stdout.split())
    said = " ".join(run_eval(*command, "--explain").stdout.split())
    assert said.count("Pairing: the rest of the mean") == 1
    assert "Score: 0 – 2, more is better." in said
    assert "Usable: 0 – 100%, more is better." in said


def test_questions_that_cannot_be_had_are_said_once_before_a_model_is_loaded(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none"}
    words = [
        "run",
        "--model",
        "tiny",
        "random",
        "--tasks",
        "dat",
        "jcq",
        "--output",
        tmp_path / "out",
    ]
    done = warm.run([sys.executable, "-m", "sozo", *words], env=environment)
    assert_one_line_error(done, "nlp-waseda/JCQ: cannot be had from the hub", "--trial")
    assert not (tmp_path / "out").exists()
