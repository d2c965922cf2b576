"""Sample N and score: the table is a function of the settings, whoever draws it and however often it is killed."""

import errno
import os
import random
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fakes import FakeNouns, axis_encoder, list_text, read_answer_table
from grpo_runs import ROOT, _free_port, environment
from http_server import wait_until
from run_files import bytes_of, config_of, metrics_of
from sampling_worker import dat_by, sample, scorer
from scripted_generator import Scripted
from sentences import refused
from sozo.data.jumandic import load_nouns
from sozo.data.processes import Processes
from sozo.data.schema import Completion
from sozo.eval.draw import SamplingOptions, draw_parts
from sozo.eval.run import run_task
from sozo.models.nouns import RandomNouns
from sozo.models.settings import GeneratorSettings
from sozo.scoring.final_text import COMPLETE, STATES
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


def test_any_number_of_processes_gives_the_same_table(tmp_path):
    sample(tmp_path / "one", 35, 8)
    for rank in range(3):
        sample(tmp_path / "many", 35, 8, processes=Processes(rank, 3))
    assert bytes_of(tmp_path / "many") == bytes_of(tmp_path / "one")
    assert len(bytes_of(tmp_path / "one")) == 5


# Kills and broken folders


def test_kills_at_any_moment_leave_the_table_of_an_unbroken_run(tmp_path):
    sample(tmp_path / "whole", 600, 2)
    moments, folder = random.Random(0), tmp_path / "killed"
    command = [sys.executable, str(WORKER), str(folder), "600", "2"]
    survived = [0]
    for _ in range(2):
        parts = survived[-1] + moments.randrange(1, 60)
        with subprocess.Popen(command, cwd=WORKER.parent) as process:
            wait_until(lambda parts=parts: len(list(folder.glob("part-*"))) >= parts)
            process.send_signal(signal.SIGKILL)
        survived.append(len(list(folder.glob("part-*"))))
    assert sorted(survived) == survived
    assert survived[-1] < 300
    for path in folder.glob(".part-*"):
        path.unlink()  # RunFolder.finish does it
    sample(folder, 600, 2)
    assert bytes_of(folder) == bytes_of(tmp_path / "whole")


def test_a_part_that_cannot_be_used_is_named_and_the_others_stay(tmp_path):
    sample(tmp_path, 6, 2)
    whole, part = bytes_of(tmp_path), tmp_path / "part-00001.parquet"
    rows = pq.read_table(part)

    part.write_bytes(whole[part.name][:-40])
    with refused("part: torn"):
        sample(tmp_path, 6, 2)
    pq.write_table(rows.slice(1), part)
    with refused("part: too few rows"):
        sample(tmp_path, 6, 2)
    pq.write_table(rows.replace_schema_metadata({b"sozo_schema_version": b"9"}), part)
    with refused("part: of another version"):
        sample(tmp_path, 6, 2)
    part.unlink()
    sample(tmp_path, 6, 2)
    assert bytes_of(tmp_path) == whole


def test_a_full_disk_is_one_line_and_earlier_rows_are_safe(tmp_path, monkeypatch):
    sample(tmp_path / "whole", 8, 2)
    synced, calls = os.fsync, []

    def fsync(descriptor):
        calls.append(descriptor)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with refused("part: the disk is full"):
        sample(tmp_path / "full", 8, 2)
    assert sorted(bytes_of(tmp_path / "full")) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    sample(tmp_path / "full", 8, 2)
    assert bytes_of(tmp_path / "full") == bytes_of(tmp_path / "whole")


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

    with refused("draw: too few usable answers"):
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
        *("-m", "sozo", "dat"),
        "--model",
        "random",
        "--output",
        str(folder),
        *flags,
    ]
    return [*start, "--main_process_port", str(_free_port()), *recipe]


@pytest.mark.studies
@pytest.mark.launches
def test_two_processes_give_the_table_of_one(tmp_path, jumandic_checker, ginza):
    # By the launcher itself: elsewhere its processes are forks.
    flags = "--noun_checker jumandic --batch_size 16 --num_answers 100 --seed 5"
    words = launch("out", *flags.split())
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
    assert bytes_of(tmp_path / "out" / "answers") == bytes_of(tmp_path / "one")
    config = config_of(tmp_path / "out")
    assert (
        config["settings"]["seed"],
        config["settings"]["batch_size"],
        config["processes"],
    ) == (5, 16, 2)
    metrics = metrics_of(tmp_path / "out")
    row = summarise(tmp_path / "one", source="random")
    words, lists = read_lists(tmp_path / "one")
    row = replace(row, instruments=measure(judge, words, lists) | diversity_ends(lists))
    states = dict.fromkeys(STATES, 0) | {COMPLETE: 100}
    told = {"ten_words": 100, "refused": {}, "states": states}
    assert metrics == row.metrics() | told


def test_usable_answers_want_one_process(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with refused("draw: usable answers by two"):
        run_task(Dat(), GeneratorSettings("random"), SamplingOptions(), tmp_path / "x")
