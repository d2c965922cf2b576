"""`sozo recipes`: the YAML files that come with sozo, listed and copied."""

import re
import subprocess

import pytest
import yaml

from grpo_runs import ROOT
from sentences import refused
from sozo.training.recipes import recipes


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_yaml_is_listed_with_its_first_line(capsys):
    recipes()
    lines = dict(
        line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()
    )
    files = {
        path.relative_to(ROOT / "recipes").with_suffix("").as_posix(): path
        for path in (ROOT / "recipes").glob("*/*.yaml")
    }
    assert lines == {"slurm": "scripts"} | {
        name: path.read_text("utf-8").splitlines()[0].removeprefix("# ")
        for name, path in files.items()
    }


@pytest.mark.parametrize("name", ["tiny/grpo", "recipes/tiny/grpo.yaml"])
def test_one_is_copied_as_it_is_with_what_stands_beside_it(name, tmp_path, capsys):
    recipes(["copy", name])
    told = capsys.readouterr().out.split()
    folders = (ROOT / "recipes" / folder for folder in ("accelerate", "tiny"))
    ours = [path for folder in folders for path in sorted(folder.iterdir())]
    assert told == [str(path.relative_to(ROOT)) for path in ours]
    for path in told:
        assert (tmp_path / path).read_bytes() == (ROOT / path).read_bytes()


def test_scripts_for_slurm_are_copied_and_bash_reads_them(tmp_path, capsys):
    recipes(["copy", "slurm"])
    told = [name for name in capsys.readouterr().out.split() if "slurm" in name]
    assert len(told) == 4
    for name in told:
        subprocess.run(["bash", "-n", name], check=True)
        script = (tmp_path / name).read_text("utf-8")
        assert script == (ROOT / name).read_text("utf-8")
        # What they name is there.
        for named in re.findall(r"recipes/\S+\.(?:yaml|sh)\b", script):
            assert (ROOT / named).is_file()


def names(node):
    """The YAML and JSONL files that a YAML's values name."""
    if isinstance(node, dict):
        node = list(node.values())
    if isinstance(node, list):
        return {name for child in node for name in names(child)}
    return {node} if str(node).endswith((".yaml", ".jsonl")) else set()


@pytest.mark.parametrize(
    "name",
    [
        "swallow-8b/reproduce",
        "gemma-3-270m/mix",
        "ideas/grpo",
    ],
)
def test_with_one_all_come_that_it_names(name, tmp_path, capsys):
    recipes(["copy", name])
    told = capsys.readouterr().out.split()
    written = [tmp_path / name for name in told]
    assert tmp_path / f"recipes/{name}.yaml" in written
    for path in written:
        if path.suffix == ".yaml":
            for named in names(yaml.safe_load(path.read_text("utf-8"))):
                if named.startswith("runs/"):  # what it writes
                    continue
                places = (path.parent / named, tmp_path / named)
                assert any(place.is_file() for place in places), (path, named)


def test_what_holds_something_else_is_left_alone(tmp_path, capsys):
    recipes(["copy", "tiny/reproduce"])
    changed = tmp_path / "recipes" / "tiny" / "dpo.yaml"
    changed.write_text("mine\n")
    (tmp_path / "recipes" / "tiny" / "sft.yaml").unlink()
    capsys.readouterr()
    recipes(["copy", "tiny/reproduce"])
    left = "recipes/tiny/dpo.yaml: holds something else, and is left as it is"
    there = "recipes/tiny/reproduce.yaml: is there already"
    new = "recipes/tiny/sft.yaml"
    assert capsys.readouterr().out.splitlines() == [left, there, new]
    assert changed.read_text() == "mine\n"


@pytest.mark.parametrize(
    "words",
    ["copy", "kopie tiny/grpo", "copy tiny/gppo", "copy xyz", "copy ../setup"],
)
def test_a_mistake_is_one_line(words, tmp_path):
    with refused(f"recipes: {words}"):
        recipes(words.split())
    assert not list(tmp_path.iterdir())
