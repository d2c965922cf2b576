"""The doctor: one table of the extras, with the command that installs each, on a bare Python too."""

import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

import doctor
from doctor import ROOT, missing
from sentences import says
from sozo.data.extras import install_command

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


@pytest.fixture
def run(monkeypatch, capsys):
    """Run it where `installed` says what is there; its exit status, and name -> state and line."""

    def run(installed):
        monkeypatch.setattr(doctor, "installed", installed)
        monkeypatch.setattr(sys, "argv", ["doctor.py"])
        status = doctor.main()
        lines = capsys.readouterr().out.splitlines()
        return status, {line.split()[1]: (line.split()[0], line) for line in lines}

    return run


def test_a_machine_with_nothing_is_told_so_line_by_line(tmp_path):
    # No site-packages, no program, no setting: what a bare Python sees.
    command = [sys.executable, "-S", "-E", str(ROOT / "recipes" / "doctor.py")]
    environment = {"HOME": str(tmp_path), "PATH": "/nowhere"}
    done = subprocess.run(
        command,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    first, *others = done.stdout.splitlines()
    assert first.startswith("NEEDED   sozo ")
    assert "no httpx2" in first
    by_name = {line.split()[1]: line for line in others}
    assert by_name.keys() == {f"[{extra}]" for extra in EXTRAS}
    for extra in EXTRAS:
        assert by_name[f"[{extra}]"].startswith("missing ")
        assert by_name[f"[{extra}]"].endswith(
            f" -> {install_command(extra).removeprefix('.venv/bin/')}"
        )
    assert not list(tmp_path.iterdir())


def test_the_base_install_alone_is_enough(run):
    base = {Requirement(line).name for line in PROJECT["dependencies"]} | {"sozo"}
    status, rows = run({name: doctor.installed(name) for name in base}.get)
    assert (status, rows["sozo"][0]) == (0, "ok")
    assert {rows[f"[{extra}]"][0] for extra in EXTRAS} == {"missing"}
    assert run(lambda name: None)[0] == 1


def test_juman_needs_its_command_beside_its_packages(run, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    packages = {"pyknp": "0.6.1", "setuptools": "80.0"}
    _, rows = run(packages.get)
    assert says("doctor: no jumanpp", rows["[juman]"][1])
    (tmp_path / "jumanpp").write_text("#!/bin/sh\n")
    (tmp_path / "jumanpp").chmod(0o755)
    assert run(packages.get)[1]["[juman]"][0] == "ok"


def test_a_version_outside_the_window_is_missing(monkeypatch):
    monkeypatch.setattr(doctor, "installed", {"vllm": "0.33.0"}.get)
    assert missing(["vllm>=0.22,<0.31"]) == ["vllm 0.33.0 instead of <0.31,>=0.22"]
    assert missing(["vllm>=0.22,<0.34", "nosuch; sys_platform == 'plan9'"]) == []
