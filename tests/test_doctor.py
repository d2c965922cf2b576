"""The doctor: says line by line what is missing, with the command that mends it; shows no key; does not faint."""

import os
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from packaging.requirements import Requirement

from checkup import machine
from checkup.finding import ROOT, Finding, State, safely
from checkup.machine import (
    FEATURES,
    Reach,
    check_base,
    check_extras,
    check_jumanpp,
    check_logins,
    check_models,
    missing,
)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
CLOSED = "http://127.0.0.1:9"


def states(findings):
    return {finding.name: finding.state for finding in findings}


@pytest.fixture
def nothing_set(monkeypatch, tmp_path):
    for name in (
        "WANDB_API_KEY",
        "WANDB_MODE",
        "WANDB_BASE_URL",
        "HF_TOKEN",
        "HF_HUB_OFFLINE",
        "HF_ENDPOINT",
        "HF_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HF_HUB_CACHE", "XDG_CACHE_HOME", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_a_machine_with_nothing_is_told_so_line_by_line(tmp_path):
    # No site-packages, no program, no setting: what a bare Python sees.
    command = [sys.executable, "-S", "-E", str(ROOT / "recipes" / "doctor.py"), "--no-network"]
    environment = {"HOME": str(tmp_path), "PATH": "/nowhere"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["NEEDED", "packages"] in [words[:2] for words in lines]
    by_name = {words[1]: " ".join(words) for words in lines if words[0] == "missing"}
    assert {f"[{extra}]" for extra in EXTRAS} | {"Juman++", "W&B", "hub", "OPENAI_API_KEY", "model"} <= set(by_name)
    assert all(" -> " in line for line in by_name.values())
    for extra in EXTRAS:
        assert by_name[f"[{extra}]"].endswith(f"-e '.[{extra}]'")
    assert "constraints-vllm.txt" in by_name["[vllm]"]
    assert not list(tmp_path.iterdir())


def test_the_base_install_alone_is_enough(monkeypatch):
    base = {Requirement(line).name for line in PROJECT["dependencies"]} | {"sozo"}
    monkeypatch.setattr(machine, "installed", {name: machine.installed(name) for name in base}.get)
    assert set(states(check_base()).values()) == {State.OK}
    assert set(states(check_extras()).values()) == {State.MISSING}
    monkeypatch.setattr(machine, "installed", lambda name: None)
    assert states(check_base())["packages"] == State.NEEDED


def test_every_extra_says_what_it_is_for():
    assert FEATURES.keys() == EXTRAS.keys()


def test_a_version_outside_the_window_is_missing(monkeypatch):
    monkeypatch.setattr(machine, "installed", {"vllm": "0.33.0"}.get)
    assert missing(["vllm>=0.22,<0.31"]) == ["vllm 0.33.0 instead of <0.31,>=0.22"]
    assert missing(["vllm>=0.22,<0.34", "nosuch; sys_platform == 'plan9'"]) == []


def test_jumanpp_must_analyse_a_word(jumanpp, monkeypatch):
    monkeypatch.setenv("PATH", str(jumanpp.command.parent))
    (found,) = check_jumanpp()
    assert (found.state, found.text) == (State.OK, str(jumanpp.command))
    jumanpp.command.write_text("#!/bin/sh\nexit 3\n")
    (found,) = check_jumanpp()
    assert found.state == State.MISSING
    assert "gave no analysis (exit status 3)" in found.text


GPU = {"name": "H100", "bytes": 80 * machine.GIB, "capability": [9, 0]}
TORCH = {"version": "2.9", "cuda": "12.8", "gpus": [GPU]}


@pytest.mark.parametrize(
    ("driver", "torch", "state", "fix"),
    [
        ([], TORCH | {"gpus": []}, State.MISSING, "a machine with NVIDIA GPUs"),
        (["H100"], TORCH | {"cuda": None, "gpus": []}, State.MISSING, "--force-reinstall torch"),
        (["H100"], TORCH, State.OK, "make gpu-check"),
        (["T4"], TORCH | {"gpus": [GPU | {"capability": [7, 5]}]}, State.MISSING, "--dtype float32"),
    ],
    ids=["none", "torch for the CPU", "one", "no bfloat16"],
)
def test_gpus(driver, torch, state, fix, monkeypatch):
    monkeypatch.setattr(machine, "_driver", lambda: driver)
    monkeypatch.setattr(machine, "_torch", lambda: torch)
    *_, gpu = machine.check_gpus()
    assert gpu.state == state
    assert fix in gpu.fix


def test_no_key_is_shown(nothing_set, monkeypatch, tmp_path):
    assert set(states(check_logins()).values()) == {State.MISSING}
    for name in ("WANDB_API_KEY", "HF_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sesame-open-9")
    found = list(check_logins())
    assert set(states(found).values()) == {State.OK}
    monkeypatch.setenv("PIP_INDEX_URL", f"{CLOSED.replace('//', '//me:sesame-open-9@')}/simple?token=sesame-open-9")
    for name in ("HF_ENDPOINT", "WANDB_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, CLOSED.replace("//", "//me:sesame-open-9@"))
    servers = list(Reach(timeout=2).findings())
    assert set(states(servers).values()) == {State.MISSING}
    assert "sesame" not in "\n".join(map(str, [*found, *servers]))


def test_a_login_in_netrc_counts(nothing_set, tmp_path):
    (tmp_path / ".netrc").write_text("machine api.wandb.ai login user password sesame\n")
    assert states(check_logins())["W&B login"] == State.OK


def test_a_server_that_wants_a_key_is_there(nothing_set, monkeypatch):
    class Guarded(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_error(401)

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Guarded) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in ("PIP_INDEX_URL", "HF_ENDPOINT", "WANDB_BASE_URL", "OPENAI_BASE_URL"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_port}")
        assert set(states(Reach().findings()).values()) == {State.OK}
        server.shutdown()


def test_models_of_the_hub_are_looked_for_where_the_hub_keeps_them(nothing_set, tmp_path):
    folder = tmp_path / ".cache/huggingface/hub/models--Qwen--Qwen2.5-7B-Instruct/snapshots/0a1b"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    there = [finding.text for finding in check_models() if finding.state == State.OK]
    assert there == ["Qwen/Qwen2.5-7B-Instruct: on this machine"]
    assert sum(finding.state == State.MISSING for finding in check_models()) == 3


def test_a_check_that_fails_is_a_line():
    def check():
        yield Finding(State.OK, "first", "")
        raise OSError("no /proc")

    (found,) = safely("memory", check)
    assert str(found) == "missing  memory            cannot be looked at (OSError: no /proc)"


def test_a_lock_that_a_killed_start_has_left_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    old, new = (tmp_path / "py311_cpu" / name / "lock" for name in ("comm", "adam"))
    for lock in (old, new):
        lock.parent.mkdir(parents=True)
        lock.touch()
    os.utime(old, (0, 0))
    (found,) = machine.check_builds()
    assert (found.state, found.fix) == (State.MISSING, f"rm {old}")
