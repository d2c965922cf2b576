"""The house: imports go one way, without circles or disguises; it stays small; importing is cheap; nothing prints."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType

import pytest

from house import functions, ratchet, sources

ROOT = Path(__file__).parents[2]
# What each room may import beside itself:
# data <- scoring <- tasks <- rewards <- models <- (training, eval) <- recipes; eval <- suite <- studies, which import any of them.
CHAIN = ("data", "scoring", "tasks", "rewards", "models")
ROOMS = {room: set(CHAIN[:k]) for k, room in enumerate(CHAIN)}
ROOMS |= {
    "training": set(CHAIN),
    "eval": set(CHAIN),
    "recipes": {*CHAIN, "training", "eval"},
}
ROOMS |= {
    "suite": {*CHAIN, "eval"},
    "studies": {*CHAIN, "training", "eval", "suite"},
}
# None of these grows; `python tests/house.py` prints them, and says of what they are.
MOST = {
    "tokens of the spine": 84_613,
    "tokens a code line of the spine": 8.05,
    "comprehensions a hundred code lines of the spine": 4.63,
    "tokens of tests for one of the product": 1.25,
}
MOST_LINES = 550  # of a file
LONGEST = 100  # lines of a function
SOURCES = {
    name: text for name, text in sources().items() if name.partition("/")[0] in ROOMS
}
TREES = {name: ast.parse(text) for name, text in SOURCES.items()}
# Who may import by a string: what a user names by a dotted path, and a package's own lazy names.
BY_STRING = {"data/settings.py", "rewards/__init__.py"}
# Integrations whose classes are subclasses of another tool's.
NEED_THEIR_TOOL = [
    f"rewards/integrations/{tool}.py"
    for tool in ("verifiers", "inspect_ai", "flexeval")
]
# A task is named in its folder, its prompt and data files, its reward and the recipes; suite and studies may name any.
# The core names none of those that join it.
TASKS = ("dat", "jcq", "pbig", "sat", "sipen", "hivemind", "general", "sentences")
MAY_NAME_TASKS = re.compile(
    r"tasks/|rewards/|data/|recipes/|models/tiny\.py|suite/|studies/(experts/|study/)"
)
OF_SUITE = re.compile(r"sipen|pbig|hivemind", re.IGNORECASE)


def imported(tree):
    """Dotted names of all modules that a tree imports, wherever it does."""
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
    return (
        module.removeprefix("recipes.")
        if module.startswith("recipes")
        else f"sozo.{module}"
    )


MODULES = {module_of(name): name for name in SOURCES}


def arrows(tree):
    """The files that a file imports, within functions and for a type checker too."""
    return {MODULES[module] for module in imported(tree) if module in MODULES}


def reachable(graph, start):
    seen, waiting = set(), [start]
    while waiting:
        for target in graph[waiting.pop()] - seen:
            seen.add(target)
            waiting.append(target)
    return seen


def calls(name):
    return [
        ast.unparse(node.func)
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Call)
    ]


def test_every_room_has_files():
    rooms = {name.partition("/")[0] for name in SOURCES}
    assert rooms | {"suite", "studies"} == set(ROOMS)  # make test-core has neither


def test_imports_go_one_way():
    wrong = []
    for name, tree in TREES.items():
        room = name.partition("/")[0]
        rooms = {
            module.split(".")[1]
            for module in imported(tree)
            if module.startswith("sozo.")
        }
        wrong += [f"{name} imports {other}" for other in rooms - ROOMS[room] - {room}]
    assert wrong == []


def test_no_circle_of_files():
    graph = {name: arrows(tree) - {name} for name, tree in TREES.items()}
    assert [name for name in graph if name in reachable(graph, name)] == []


def test_no_arrow_in_disguise():
    by_string = {
        "import_module",
        "importlib.import_module",
        "__import__",
        "exec",
        "eval",
    }
    assert [
        name
        for name in SOURCES
        if name not in BY_STRING and by_string & set(calls(name))
    ] == []
    # A process of our own may be started, but its output is for people: nothing of the house is read from it.
    starts = {
        name for name, text in SOURCES.items() if re.search(r'"-m", "sozo[\w.]*"', text)
    }
    reads = re.compile(r"stdout=subprocess\.PIPE|capture_output=True|check_output")
    assert [name for name in starts if reads.search(SOURCES[name])] == []


def test_only_a_tasks_own_files_name_it():
    own = re.compile(rf"sozo\.(?:tasks|suite)\.({'|'.join(TASKS)}|words)\b")
    wrong = []
    for name, tree in TREES.items():
        if MAY_NAME_TASKS.match(name):
            continue
        strings = [
            n.value
            for n in ast.walk(tree)
            if isinstance(n, ast.Constant) and isinstance(n.value, str)
        ]
        wrong += [
            f"{name}: {text}" for text in strings if text.partition("/")[0] in TASKS
        ]
        wrong += [f"{name}: {module}" for module in imported(tree) if own.match(module)]
    assert wrong == []


def test_the_core_names_nothing_of_suite():
    core = (*CHAIN, "training", "eval")
    named = {
        name: found
        for name, text in SOURCES.items()
        if name.partition("/")[0] in core and (found := OF_SUITE.findall(text))
    }
    assert named == {}


@pytest.mark.studies
def test_the_house_does_not_grow():
    now = ratchet(sources())
    assert now.keys() == MOST.keys()
    assert [
        f"{now[name]:,} {name}, {most:,} at most: who raises one of {', '.join(MOST)} lowers another in the same commit"
        for name, most in MOST.items()
        if now[name] > most
    ] == []


def test_tests_stand_where_the_product_stands_and_wait_for_nothing_but_what_comes():
    """A folder is a room's, or looks at the house; what two files share is in tests/helpers; clocks decide nothing."""
    places = {*ROOMS, "house", "frozen", "real_vllm"}
    wrong = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        name, text = str(path.relative_to(ROOT)), path.read_text("utf-8")
        if path.parent.parent.name != "tests" or path.parent.name not in places:
            wrong.append(f"{name}: is in no room's folder")
        others = [m for m in imported(ast.parse(text)) if m.startswith("test_")]
        wrong += [f"{name} imports {other}" for other in others]
        if ".st_" + "mtime" in text:
            wrong.append(f"{name} compares files' times")
    assert wrong == []


def test_no_file_and_no_function_is_long():
    assert {
        name: lines
        for name, text in SOURCES.items()
        if (lines := text.count("\n")) > MOST_LINES
    } == {}
    assert {
        name: lines for name, lines in functions(SOURCES).items() if lines > LONGEST
    } == {}


def test_what_is_public_is_documented_where_it_is_or_by_what_it_overrides():
    # ruff's D102 cannot see that a method overrides another, and is off in these rooms.
    kinds, bare = FunctionType | property | cached_property | classmethod, []
    for name in (
        name for name in SOURCES if name.startswith(("rewards/", "scoring/", "tasks/"))
    ):
        if name in NEED_THEIR_TOOL and find_spec(Path(name).stem) is None:
            continue
        module = importlib.import_module(module_of(name))
        own = [
            kind
            for kind in vars(module).values()
            if inspect.isclass(kind) and kind.__module__ == module.__name__
        ]
        for kind in (kind for kind in own if not kind.__name__.startswith("_")):
            methods = [
                key
                for key, value in vars(kind).items()
                if key[0] != "_" and isinstance(value, kinds)
            ]
            documented = [
                key
                for key in methods
                if any(
                    vars(base)[key].__doc__
                    for base in kind.__mro__
                    if key in vars(base)
                )
            ]
            bare += [
                f"{name}: {kind.__name__}.{key}"
                for key in methods
                if key not in documented
            ]
    assert bare == []


def test_packages_do_not_print():
    assert [
        name
        for name in SOURCES
        if not name.startswith("recipes/") and "print" in calls(name)
    ] == []


def test_importing_is_cheap():
    """One after the other in one process: the first that imports what is heavy is named."""
    modules = [
        *(
            "rewards",
            "tasks.task",
            "tasks",
            "scoring.judges",
            "tasks.dat",
            "tasks.sat.task",
            "tasks.jcq.questions",
        ),
        *(
            "models.generator",
            "models.generators",
            "models.model_support",
            "training",
            "training.selection",
        ),
        *(
            "scoring.statistics",
            "eval.run",
            "eval.report",
            "eval.cli",
            "tasks.sat.stories",
        ),
        *("data.schema", "data.prompts", "data.jumandic", "data.run_folder"),
        *(f"rewards.integrations.{tool}" for tool in ("verl", "lm_eval", "openrlhf")),
    ]
    heavy = {
        "torch",
        "transformers",
        "pyarrow",
        "trl",
        "vllm",
        "openai",
        "httpx2",
        "datasets",
        "scipy",
        "matplotlib",
        "starlette",
        "verl",
        "lm_eval",
        "openrlhf",
    }
    code = (
        "import importlib, sys\n"
        f"for module in {modules}:\n"
        "    importlib.import_module(f'sozo.{module}')\n"
        f"    if found := {heavy} & set(sys.modules):\n"
        "        sys.exit(f'{module} imports {found}')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["-c", "import rewards"], "sozo.rewards"),
        (["-c", "from data.errors import UserError"], "sozo.data"),
        (["-m", "eval"], "sozo.eval"),
    ],
)
def test_a_room_has_one_name(words, name):
    """Imported by another one it would live twice, and `isinstance` would fail between the two."""
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode
    assert name in done.stderr.splitlines()[-1]
