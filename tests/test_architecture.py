"""The rooms of the project: imports go one way, nothing prints, and importing is cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What each room may import beside itself.
MAY_IMPORT = {
    "data": set(),
    "rewards": {"data"},
    "models": {"data", "rewards"},
    "generate": {"data", "rewards", "models"},
    "eval": {"data", "rewards", "models", "generate"},
    "training": {"data", "rewards", "models", "generate"},
    "recipes": {"data", "rewards", "models", "generate", "eval", "training"},
}
FILES = {
    str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8"))
    for room in MAY_IMPORT
    for path in sorted((ROOT / room).rglob("*.py"))
}


def imported(tree):
    """Dotted names of all modules that a file imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the room"
            yield node.module


def test_every_room_has_files():
    assert {name.split("/")[0] for name in FILES} >= {"data", "rewards"}


@pytest.mark.parametrize("name", FILES)
def test_imports_go_one_way(name):
    room = name.split("/")[0]
    rooms = {module.split(".")[0] for module in imported(FILES[name])} & set(MAY_IMPORT)
    assert rooms <= MAY_IMPORT[room] | {room}


@pytest.mark.parametrize("name", FILES)
def test_nobody_imports_eval_bare(name):
    # It would hide the builtin.
    statements = [node for node in ast.walk(FILES[name]) if isinstance(node, ast.Import)]
    assert "eval" not in {alias.asname or alias.name for node in statements for alias in node.names}


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("recipes/")])
def test_packages_do_not_print(name):
    calls = [node.func for node in ast.walk(FILES[name]) if isinstance(node, ast.Call)]
    assert "print" not in {call.id for call in calls if isinstance(call, ast.Name)}


@pytest.mark.parametrize(
    "module",
    [
        *("rewards", "eval", "rewards.tasks.jcq", "rewards.tasks.jcq.files", "rewards.judges", "rewards.tasks.sat.run"),
        *("models.attention", "models.tiny", "generate.protocol", "training"),
        *("data.jcq", "data.schema", "data.stories", "data.prompts", "data.nouns"),
    ],
)
def test_importing_is_cheap(module):
    heavy = {"torch", "transformers", "pyarrow", "trl", "openai", "httpx2", "datasets"}
    code = f"import sys, {module} as _; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
