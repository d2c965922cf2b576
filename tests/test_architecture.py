"""The house: imports go one way, without circles or disguises; files stay small; importing is cheap; nothing prints."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType

import pytest

ROOT = Path(__file__).parents[1]
# What each room may import beside itself: data <- scoring <- tasks <- rewards <- models <- (training, eval) <- recipes.
CHAIN = ("data", "scoring", "tasks", "rewards", "models")
ROOMS = {room: set(CHAIN[:k]) for k, room in enumerate(CHAIN)}
ROOMS |= {"training": set(CHAIN), "eval": set(CHAIN), "recipes": {*CHAIN, "training", "eval"}}
MOST_LINES = 400
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
}
TREES = {name: ast.parse(source) for name, source in SOURCES.items()}
# Who may import by a string: what a user names by a dotted path, and a package's own lazy names.
BY_STRING = {"data/settings.py", "rewards/__init__.py"}
# A task is named in its folder, its prompt and data files, the one list and the recipes.
TASKS = ("dat", "jcq", "pbig", "sat", "sipen")
# What experts rate are ideas of one task.
MAY_NAME_TASKS = re.compile(r"tasks/|rewards/|data/|recipes/|models/tiny\.py|eval/experts/")


def imported(tree):
    """Dotted names of all modules that a file imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the room"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_of(name):
    """The dotted name by which a file is imported; scripts import what is beside them in recipes/."""
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return module.removeprefix("recipes.") if module.startswith("recipes") else f"sozo.{module}"


MODULES = {module_of(name): name for name in SOURCES}


@cache
def arrows():
    """File -> the files that it imports when it runs; what only a type checker imports is no arrow."""
    graph = {}
    for name, tree in TREES.items():
        lazy = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
        only_types = {id(inner) for node in lazy for inner in ast.walk(node)}
        running = ast.Module([n for n in ast.walk(tree) if isinstance(n, ast.stmt) and id(n) not in only_types], [])
        flat = [node for node in running.body if isinstance(node, ast.Import | ast.ImportFrom)]
        targets = {MODULES[module] for module in imported(ast.Module(flat, [])) if module in MODULES}
        graph[name] = targets - {name}
    return graph


def reachable(graph, start):
    seen, waiting = set(), [start]
    while waiting:
        for target in graph[waiting.pop()] - seen:
            seen.add(target)
            waiting.append(target)
    return seen


def test_every_room_has_files():
    assert {name.split("/")[0] for name in SOURCES} == set(ROOMS)


@pytest.mark.parametrize("name", SOURCES)
def test_imports_go_one_way(name):
    room = name.split("/")[0]
    assert {module.split(".")[1] for module in imported(TREES[name]) if module.startswith("sozo.")} <= ROOMS[room] | {
        room
    }


def test_no_circle_of_files():
    graph = arrows()
    assert [name for name in graph if name in reachable(graph, name)] == []


@pytest.mark.parametrize("name", SOURCES)
def test_no_arrow_in_disguise(name):
    calls = [ast.unparse(node.func) for node in ast.walk(TREES[name]) if isinstance(node, ast.Call)]
    if name not in BY_STRING:
        assert not {"import_module", "importlib.import_module", "__import__", "exec", "eval"} & set(calls)
    # A process of our own may be started, but its output is for people: nothing of the house is read from it.
    modules = re.findall(r'"-m", "(sozo[\w.]*)"', SOURCES[name])
    captured = re.findall(r"stdout=subprocess\.PIPE|capture_output=True|check_output", SOURCES[name])
    assert not (modules and captured)


@pytest.mark.parametrize("name", [name for name in SOURCES if not MAY_NAME_TASKS.match(name)])
def test_only_a_tasks_own_files_name_it(name):
    strings = {
        node.value for node in ast.walk(TREES[name]) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert not {text for text in strings if text.partition("/")[0] in TASKS}
    assert not [module for module in imported(TREES[name]) if re.match(rf"sozo\.tasks\.({'|'.join(TASKS)})\b", module)]


def test_files_are_small():
    lines = {name: source.count("\n") for name, source in SOURCES.items()}
    assert {name: n for name, n in lines.items() if n > MOST_LINES} == {}


def test_what_is_public_is_documented_where_it_is_or_by_what_it_overrides():
    # ruff's D102 cannot see that a method overrides another, and is off in rewards.
    kinds, bare = FunctionType | property | cached_property | classmethod, []
    for name in (name for name in SOURCES if name.startswith(("rewards/", "scoring/", "tasks/"))):
        module = importlib.import_module(module_of(name))
        own = [kind for kind in vars(module).values() if inspect.isclass(kind) and kind.__module__ == module.__name__]
        for kind in (kind for kind in own if not kind.__name__.startswith("_")):
            methods = [key for key, value in vars(kind).items() if key[0] != "_" and isinstance(value, kinds)]
            documented = [
                key for key in methods if any(vars(base)[key].__doc__ for base in kind.__mro__ if key in vars(base))
            ]
            bare += [f"{name}: {kind.__name__}.{key}" for key in methods if key not in documented]
    assert bare == []


@pytest.mark.parametrize("name", [name for name in SOURCES if not name.startswith("recipes/")])
def test_packages_do_not_print(name):
    calls = [node.func for node in ast.walk(TREES[name]) if isinstance(node, ast.Call)]
    assert "print" not in {call.id for call in calls if isinstance(call, ast.Name)}


@pytest.mark.parametrize(
    "module",
    [
        *("rewards", "tasks.task", "tasks", "scoring.judges", "tasks.dat", "tasks.sat.task", "tasks.jcq.questions"),
        *("models.generator", "models.generators", "models.traits", "training", "training.selection"),
        *("scoring.statistics", "eval.run", "eval.report", "eval.cli", "tasks.sat.stories"),
        *("data.schema", "data.prompts", "data.jumandic", "data.run_folder"),
    ],
)
def test_importing_is_cheap(module):
    heavy = {"torch", "transformers", "pyarrow", "trl", "vllm", "openai", "httpx2", "datasets", "scipy", "matplotlib"}
    code = f"import sys, sozo.{module} as _; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
