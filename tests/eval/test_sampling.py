"""Sample N and score: the table is a function of the settings, whoever draws it and however often it is killed."""

import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fakes import FakeNouns, axis_encoder, list_text, read_answer_table
from grpo_runs import ROOT, _free_port, environment
from sampling_worker import dat_by, sample, scorer
from scripted_generator import Scripted
from sozo.data.errors import UserError, one_line_errors
from sozo.data.jumandic import load_nouns
from sozo.data.processes import Processes
from sozo.data.schema import Completion
from sozo.eval.draw import SamplingOptions, draw_parts
from sozo.eval.run import run_task
from sozo.models.nouns import RandomNouns
from sozo.models.settings import GeneratorSettings
from sozo.tasks.dat.instruments import diversity_ends, measure
from sozo.tasks.dat.scorer import DatScorer
from sozo.tasks.dat.summary import summarise
from sozo.tasks.dat.table import read_lists
from sozo.tasks.dat.task import Dat

WORKER = Path(__file__).parents[1] / "helpers" / "sampling_worker.py"


GOOD, BAD = list_text("犬猫水山川本車空海石"), "no list"


def draw(writer, judge, folder, batch_size, seed=0, **counts):
    """`num_answers` or `num_usable` by this writer and this scorer."""
    task, sampling = (
        dat_by(judge),
        SamplingOptions(seed=seed, batch_size=batch_size, **counts),
    )
    draw_parts(task, task.items(), writer, sampling, folder, Processes())


def table(folder):
    """Every file of a table with its bytes."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# The table


def test_rows_carry_everything(tmp_path):
    generator = Scripted([[GOOD, BAD], [GOOD]])
    judge = DatScorer(FakeNouns("犬猫水山川本車空海石"), axis_encoder())
    draw(generator, judge, tmp_path, 2, seed=7, num_answers=3)
    rows = list(read_answer_table(tmp_path))
    assert [(r.id, r.source, r.seed, r.temperature, r.finish_reason) for r in rows] == [
        (f"0000000{k}", "scripted", 7, 0.5, "stop") for k in range(3)
    ]
    assert [(r.text, r.score, r.reason) for r in rows] == [
        (GOOD, 1.0, None),
        (BAD, None, "format"),
        (GOOD, 1.0, None),
    ]
    assert rows[0].words == tuple("犬猫水山川本車空海石")


@pytest.mark.parametrize("world", [2, 3, 5])
def test_any_number_of_processes_gives_the_same_table(world, tmp_path):
    sample(tmp_path / "one", 35, 8)
    for rank in range(world):
        sample(tmp_path / "many", 35, 8, processes=Processes(rank, world))
    assert table(tmp_path / "many") == table(tmp_path / "one")
    assert len(table(tmp_path / "one")) == 5


# Kills and broken folders


def kill_once(command, folder, parts, **kwargs):
    """Start the command and kill -9 it as soon as `folder` holds so many parts, or leave it at its end."""
    with subprocess.Popen(command, **kwargs) as process:
        while process.poll() is None and len(list(folder.glob("part-*"))) < parts:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)


def test_kills_at_any_moment_leave_the_table_of_an_unbroken_run(tmp_path):
    sample(tmp_path / "whole", 600, 2)
    moments, folder = random.Random(0), tmp_path / "killed"
    command = [sys.executable, str(WORKER), str(folder), "600", "2"]
    survived = [0]
    for _ in range(3):
        kill_once(
            command, folder, survived[-1] + moments.randrange(1, 60), cwd=WORKER.parent
        )
        survived.append(len(list(folder.glob("part-*"))))
    assert sorted(survived) == survived
    assert survived[-1] < 300
    for path in folder.glob(".part-*"):
        path.unlink()  # RunFolder.finish does it
    sample(folder, 600, 2)
    assert table(folder) == table(tmp_path / "whole")


@pytest.mark.slow
def test_the_command_survives_twenty_kills(tmp_path):
    def command(folder):
        start = [
            sys.executable,
            "-m",
            "sozo",
            "dat",
            "--model",
            "random",
            "--num-answers",
            "4000",
        ]
        return [
            *start,
            "--batch-size",
            "5",
            "--noun-checker",
            "jumandic",
            "--output",
            str(folder),
        ]

    subprocess.run(command(tmp_path / "whole"), check=True, capture_output=True)
    moments, folder = random.Random(1), tmp_path / "killed"
    for _ in range(20):
        there = len(list(folder.glob("answers/part-*")))
        kill_once(command(folder), folder / "answers", there + moments.randrange(1, 40))
        assert not (folder / "metrics.json").exists()
    subprocess.run(command(folder), check=True, capture_output=True)
    assert table(folder / "answers") == table(tmp_path / "whole" / "answers")
    assert (folder / "metrics.json").read_bytes() == (
        tmp_path / "whole" / "metrics.json"
    ).read_bytes()


def test_a_part_that_cannot_be_used_is_named_and_the_others_stay(tmp_path):
    sample(tmp_path, 6, 2)
    whole, part = table(tmp_path), tmp_path / "part-00001.parquet"
    rows = pq.read_table(part)

    def refused(message):
        with pytest.raises(UserError, match=message):
            sample(tmp_path, 6, 2)

    part.write_bytes(whole[part.name][:-40])
    refused(
        r"part-00001\.parquet: not a readable parquet file .*; move it away and write it again"
    )
    pq.write_table(rows.slice(1), part)
    refused(r"part-00001\.parquet: has 1 rows where 2 belong")
    pq.write_table(rows.replace_schema_metadata({b"sozo_schema_version": b"9"}), part)
    refused("answer table of schema version 9; this sozo reads 2")
    part.unlink()
    sample(tmp_path, 6, 2)
    assert table(tmp_path) == whole


def test_a_full_disk_is_one_line_and_earlier_rows_are_safe(tmp_path, monkeypatch):
    sample(tmp_path / "whole", 8, 2)
    synced, calls = os.fsync, []

    def fsync(descriptor):
        calls.append(descriptor)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(
        UserError,
        match=r"part-00002\.parquet: the disk is full: .* free some space .* \(what is written is safe\)",
    ):
        sample(tmp_path / "full", 8, 2)
    assert sorted(table(tmp_path / "full")) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    sample(tmp_path / "full", 8, 2)
    assert table(tmp_path / "full") == table(tmp_path / "whole")


# Trials


def test_those_that_count_are_the_first_usable_answers_in_order(tmp_path):
    judge = DatScorer(FakeNouns("犬猫水山川本車空海石木"), axis_encoder())
    other = list_text("木猫水山川本車空海石")
    generator = Scripted(
        [[BAD, GOOD], [BAD, BAD], [GOOD, BAD], [other, GOOD], [GOOD, GOOD]]
    )
    draw(generator, judge, tmp_path, 2, num_usable=3)
    assert generator.drawn == [0, 1, 2, 3]
    assert len(list(read_answer_table(tmp_path))) == 8
    summary = summarise(tmp_path, num_usable=3)
    # The eighth row is usable, too, but the third usable one is the seventh.
    assert (summary.usable, summary.num_answers, summary.all_different_words) == (
        3,
        7,
        11,
    )
    assert summarise(tmp_path).usable == 4

    (tmp_path / "part-00003.parquet").unlink()
    again = Scripted(generator.batches)
    draw(again, judge, tmp_path, 2, num_usable=3)
    assert again.drawn == [3]
    assert summarise(tmp_path, num_usable=3) == summary


def test_it_ends_when_too_few_answers_are_usable(tmp_path):
    class Hopeless(Scripted):
        def answer(self, prompts, seed, batch):
            return [
                Completion(GOOD if batch == 0 and k == 0 else BAD)
                for k in range(len(prompts))
            ]

    with pytest.raises(
        UserError, match=r"^only 1 of 2048 answers are usable, and num_usable is 2: "
    ):
        draw(Hopeless([]), scorer(), tmp_path, 1000, num_usable=2)
    assert len(list(read_answer_table(tmp_path))) == 2048


# Two processes


def launch(folder, *flags):
    config = ROOT / "recipes" / "accelerate" / "cpu2_ddp.yaml"
    start = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--config_file",
        str(config),
    ]
    recipe = [
        *("-m", "sozo.studies.study.sample"),
        "--model",
        "random",
        "--output_dir",
        str(folder),
        *flags,
    ]
    return [*start, "--main_process_port", str(_free_port()), *recipe]


def test_two_processes_give_the_table_of_one(tmp_path, jumandic_checker, ginza):
    (tmp_path / "dat.yaml").write_text(
        "noun_checker: jumandic\nbatch_size: 16\nseed: 9\n"
    )
    # By the launcher itself: elsewhere its processes are forks.
    words = launch("out", "--config", "dat.yaml", "--num_answers", "100", "--seed", "5")
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(re.findall("Different words", done.stdout)) == 1
    judge = DatScorer(jumandic_checker, ginza)
    draw(
        RandomNouns(load_nouns(), accepts=dat_by(judge).accepts),
        judge,
        tmp_path / "one",
        16,
        seed=5,
        num_answers=100,
    )
    assert table(tmp_path / "out" / "answers") == table(tmp_path / "one")
    config = json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))
    assert (
        config["settings"]["seed"],
        config["settings"]["batch_size"],
        config["processes"],
    ) == (5, 16, 2)
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))
    row = summarise(tmp_path / "one", source="random")
    words, lists = read_lists(tmp_path / "one")
    row = replace(row, instruments=measure(judge, words, lists) | diversity_ends(lists))
    assert metrics == row.metrics() | {"ten_words": 100, "refused": {}}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--modl", "tiny"], "modl"),
        (["--model", "random", "--output_dir", "x", "--seed", "first"], "--seed"),
        (["--config", "none.yaml"], "none.yaml"),
        (["--config", "odd.yaml"], "temprature"),
        (["--model", "random"], "--output_dir"),
        (
            [
                "--model",
                "random",
                "--output_dir",
                "x",
                "--num-usable",
                "5",
                "--num_answers",
                "5",
            ],
            "not both",
        ),
        (
            ["--model", "./nowhere", "--output_dir", "x", "--num-usable", "5"],
            "./nowhere: no such folder",
        ),
    ],
)
def test_a_mistake_in_a_studys_step_is_one_line(
    words, message, tmp_path, monkeypatch, capsys
):
    from sozo.studies.study.sample import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.yaml").write_text("temprature: 1\n")
    monkeypatch.setattr(sys, "argv", ["sample.py", *words])
    with pytest.raises(SystemExit) as ended, one_line_errors("error"):
        main()
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert not (tmp_path / "x").exists()


def test_usable_answers_want_one_process(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UserError, match="by one process"):
        run_task(Dat(), GeneratorSettings("random"), SamplingOptions(), tmp_path / "x")
