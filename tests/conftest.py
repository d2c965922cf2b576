"""What costs seconds to load is loaded once per run."""

import gc
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import warm
from sozo.data.jumandic import load_nouns
from sozo.models import processes
from sozo.scoring.embeddings import make_encoder
from sozo.scoring.nouns import JumanDicChecker, JumanppChecker

# Commands that tests start run this checkout's code, wherever the installed package points to.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).parents[1] / "src"), os.environ.get("PYTHONPATH")])
)

MOST_LAUNCHES = 25


def pytest_collection_modifyitems(items):
    """What launches processes, or is slow, has longer than the limit of pyproject.toml; few may launch."""
    launching = sum(item.get_closest_marker("launches") is not None for item in items)
    if launching > MOST_LAUNCHES:
        raise pytest.UsageError(f"{launching} tests launch; {MOST_LAUNCHES} at most")
    for item in items:
        for marker, seconds in (("launches", 180), ("slow", 3600)):
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.timeout(seconds))


def pytest_collection_finish():
    """What is imported by now stays: every collection of garbage would look through millions of its objects again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def jumandic_checker():
    return JumanDicChecker()


@pytest.fixture(scope="session")
def ginza():
    return make_encoder("ja-ginza")


@pytest.fixture(scope="session")
def nouns():
    return load_nouns()


@pytest.fixture(scope="session")
def mini(tmp_path_factory, ginza, jumandic_checker, nouns):
    """The folder of a model of 64 nouns, which no test may change."""
    from mini_model import build_mini

    return build_mini(
        tmp_path_factory.mktemp("mini") / "model", ginza, jumandic_checker, nouns
    )


@pytest.fixture(scope="module")
def lipogram():
    """A task of one's own that every command knows: it scores any text, whatever it holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOZO_TASKS", "toy_task.Lipogram")
        yield


@pytest.fixture
def forked_modules(monkeypatch):
    """What the product runs as `python -m`, in a process of its own, is a fork."""

    def run(words, *, env, **_):
        done = warm.run(words, env=env)
        os.write(2, (done.stdout + done.stderr).encode())
        return done

    monkeypatch.setattr(processes, "subprocess", SimpleNamespace(run=run))


@pytest.fixture
def jumanpp(tmp_path):
    """Makes `JumanppChecker`s on the stand-in: `jumanpp("--hang 犬", timeout=1)`. They are closed after the test."""
    command = tmp_path / "bin" / "jumanpp"
    command.parent.mkdir()
    standin = Path(__file__).parent / "helpers/jumanpp_standin.py"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "{standin}" "$@"\n')
    command.chmod(0o755)
    made = []

    def make(option="", rules=None, **kwargs):
        checker = JumanppChecker(rules, command=str(command), option=option, **kwargs)
        made.append(checker)
        return checker

    make.command = command
    yield make
    for checker in made:
        checker.close()
