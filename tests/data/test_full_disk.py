"""A disk without room is one line with the place, the free and the needed bytes; what was written before is safe."""

import errno
import os
import re
import subprocess
from contextlib import suppress

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from fakes import merge
from judgements import OK, RUBRICS
from sentences import refused
from sozo.data.record import check_room, room, write_json, write_whole
from sozo.data.run_folder import lock
from sozo.data.wandb_run import last_checkpoint
from sozo.scoring.embeddings.word_vectors import WordVectors
from sozo.scoring.judges.ledger import Ledger, read_judgements

FULL = r"the disk is full: [\d,]+ bytes are free, (at least )?[\d,]+ are needed; "


@pytest.fixture
def disk(tmp_path):
    """Makes a disk of so many bytes, which is taken away after the test; skips where that is not allowed."""
    folders = []

    def make(size):
        folder = tmp_path / "disk"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("no right to mount a disk")
        folders.append(folder)
        return folder

    yield make
    for folder in folders:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_file_says_where_and_how_much(disk):
    folder = disk(64 * 1024)
    write_whole(folder / "first", b"a" * 20_000)
    with refused("record: no room for a file") as error:
        write_whole(folder / "second", b"b" * 60_000)
    text = str(error.value)
    free, needed = (
        int(number.replace(",", ""))
        for number in re.findall(r"[\d,]+(?= bytes are| are needed)", text)
    )
    assert (free, needed) == (64 * 1024 - 20_480, 60_000)
    assert [path.name for path in folder.iterdir()] == ["first"]
    write_json(folder / "third", {"small": 1})


def test_a_folder_that_is_not_there_yet(disk):
    folder = disk(64 * 1024)
    check_room(folder / "a" / "b", 60_000)
    with refused("record: no room for a folder"):
        check_room(folder / "a" / "b", 70_000)
    assert not list(folder.iterdir())


def big(folder):
    return {
        "torch": lambda: torch.save({"weight": torch.zeros(100_000)}, folder / "a.pt"),
        "safetensors": lambda: save_file(
            {"weight": torch.zeros(100_000)}, folder / "a.safetensors"
        ),
    }


@pytest.mark.parametrize("by", ["torch", "safetensors"])
def test_a_disk_that_fills_all_the_same(by, disk):
    folder = disk(64 * 1024)
    with refused("record: a disk that fills"), room(folder, 1000):
        big(folder)[by]()


@pytest.mark.parametrize(
    "error", [OSError(errno.EACCES, "denied"), RuntimeError("CUDA error")]
)
def test_other_errors_are_left_alone(error, tmp_path):
    with pytest.raises(type(error)) as caught, room(tmp_path, 1):
        raise error
    assert caught.value is error


def test_a_quota_is_a_full_disk(tmp_path):
    with refused("record: a quota"), room(tmp_path, 1):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")


def test_a_ledger_keeps_its_lines(disk):
    folder = disk(64 * 1024)
    with (
        Ledger(folder / "j.jsonl", RUBRICS) as ledger,
        refused("ledger: a disk that fills"),
    ):
        any(ledger.append(OK) for _ in range(10_000))
    kept = read_judgements(folder / "j.jsonl", RUBRICS)
    assert len(kept) > 100
    assert set(map(repr, kept)) == {repr(OK)}


def test_a_line_that_the_disk_takes_half_of(tmp_path, monkeypatch):
    with Ledger(tmp_path / "j.jsonl", RUBRICS) as ledger:
        ledger.append(OK)
        write = os.write
        monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:10]))
        with refused("ledger: half a line"):
            ledger.append(OK)
        monkeypatch.undo()
    assert read_judgements(tmp_path / "j.jsonl", RUBRICS) == [OK]


def test_a_folder_is_not_begun_on_a_disk_without_a_byte(disk):
    folder = disk(64 * 1024)
    with suppress(OSError):
        (folder / "all").write_bytes(bytes(100_000))
    with refused("run_folder: no byte for a lock"):
        lock(folder / "run")


def test_vectors_that_are_kept_for_the_next_run(disk):
    folder = disk(256 * 1024)
    vectors = WordVectors(Wide(), cache_dir=folder / "vectors")
    with refused("word_vectors: a disk that fills"):
        vectors.unit([f"語{k}" for k in range(2000)])


class Wide:
    """An encoder of 256 numbers a word."""

    name, revision = "wide", "1"

    def encode(self, words):
        return (
            np.random.default_rng(0)
            .standard_normal((len(words), 256))
            .astype(np.float32)
        )


@pytest.mark.usefixtures("forked_modules")
def test_a_merged_adapter(disk, mini, tmp_path, capfd):
    adapter = get_peft_model(
        AutoModelForCausalLM.from_pretrained(mini),
        LoraConfig(target_modules="all-linear"),
    )
    adapter.save_pretrained(tmp_path / "adapter")
    folder = disk(64 * 1024)
    with refused("processes: a merge that failed"):
        merge(tmp_path / "adapter", folder / "merged", "float32")
    assert re.search(f"{folder}/merged: {FULL}", capfd.readouterr().err)


def checkpoint_size(folder):
    return sum(path.stat().st_size for path in last_checkpoint(folder).rglob("*"))
