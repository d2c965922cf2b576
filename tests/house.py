"""How much house there is, in measures that packing does not improve: `python tests/house.py` prints them.

Tokens are Python's own, without comments, line ends and indentation; a docstring counts as one, so what only describes
costs nothing. A code line holds such a token other than a docstring. Tests are all Python files below `tests/`, with
those for studies, GPUs, vLLM and other tools' own code; benchmarks and examples are neither tests nor product.
"""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = (
    "data",
    "scoring",
    "tasks",
    "rewards",
    "models",
    "training",
    "eval",
    "suite",
    "studies",
    "recipes",
    "src/sozo",
)
# The files in which the core is read (docs/layout.md), as they were when this count began. The list is frozen: who
# renames one renames it here, and code that is moved off them still counts. No program sees that it was moved, so who
# moves code adds the file that has it now.
SPINE = (
    "data/errors.py",
    "data/settings.py",
    "data/foreign.py",
    "data/schema.py",
    "data/record.py",
    "data/run_folder.py",
    "data/processes.py",
    "data/prompts/form.py",
    "scoring/final_text.py",
    "scoring/parse.py",
    "scoring/nouns/rules.py",
    "scoring/embeddings/word_vectors.py",
    "scoring/distance.py",
    "scoring/measure.py",
    "scoring/table.py",
    "scoring/endpoint/client.py",
    "scoring/endpoint/bill.py",  # prices and the budget, which stood in two others
    "scoring/endpoint/pace.py",  # how an attempt is repeated, which the client held
    "scoring/judges/protocol.py",
    "scoring/judges/ledger.py",
    "scoring/judges/run.py",
    "tasks/task.py",
    "tasks/run_result.py",
    "tasks/view.py",
    "tasks/__init__.py",
    "tasks/dat/words.py",
    "tasks/dat/scorer.py",
    "tasks/dat/task.py",
    "rewards/reward.py",
    "rewards/duplicates.py",
    "rewards/dat.py",
    "rewards/task.py",
    "rewards/integrations/core.py",
    "models/generator.py",
    "models/settings.py",
    "models/generators.py",
    "models/weights.py",
    "models/shared_prefix.py",
    "training/arguments.py",
    "training/config.py",
    "training/decided.py",
    "training/selection.py",
    "training/sft_dpo.py",
    "rewards/own_rewards.py",
    "training/entries.py",
    "training/mix.py",
    "training/grpo.py",
    "training/run.py",
    "eval/draw.py",
    "eval/run.py",
    "eval/evaluated.py",
    "eval/compare.py",
    "eval/findings.py",
    "eval/cli.py",
)
NO_CODE = {
    getattr(tokenize, name)
    for name in ("COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER")
}
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
VAGUE = {"found", "there", "said", "one", "asked", "drawn", "made"} | {
    "here",
    "given",
    "whole",
    "rest",
    "both",
    "few",
}


def sources():
    """Name in the repository -> text of every file of the product; the links in src/sozo are not followed twice."""
    paths = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    return {
        str(path.relative_to(ROOT)): path.read_text("utf-8")
        for path in (*paths, ROOT / "setup.py")
        if path.parent.name == "sozo" or "src" not in path.relative_to(ROOT).parts
    }


def code_tokens(text):
    """The tokens that count, and how many lines hold one that is no docstring."""
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in NO_CODE
    ]
    lines = {
        token.start[0]
        for token in tokens
        if not token.line.strip().startswith(('"""', "'''"))
    }
    return len(tokens), len(lines)


def functions(files):
    """`FILE:NAME` -> lines, of every function."""
    return {
        f"{name}:{node.name}": node.end_lineno - node.lineno + 1
        for name, text in files.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, FUNCTIONS)
    }


def shown():
    """Room -> bytes of the files in other languages than Python: what is said there is no saving."""
    sizes = Counter()
    for room in ROOMS:
        for path in (ROOT / room).rglob("*"):
            if path.suffix in (
                ".html",
                ".js",
                ".css",
                ".yaml",
                ".yml",
            ) and room not in ("recipes", "src/sozo"):
                sizes[room] += path.stat().st_size
    return sizes


def ratchet(files):
    """Name -> number, of those that may not grow (`test_architecture.py`)."""
    counts = [code_tokens(files[name]) for name in SPINE]
    tokens = sum(count for count, _ in counts)
    lines = sum(of_code for _, of_code in counts)
    comprehensions = sum(
        isinstance(node, COMPREHENSIONS)
        for name in SPINE
        for node in ast.walk(ast.parse(files[name]))
    )
    product = sum(code_tokens(text)[0] for text in files.values())
    tests = sum(
        code_tokens(path.read_text("utf-8"))[0]
        for path in (ROOT / "tests").rglob("*.py")
    )
    return {
        "tokens of the spine": tokens,
        "tokens a code line of the spine": round(tokens / lines, 2),
        "comprehensions a hundred code lines of the spine": round(
            100 * comprehensions / lines, 2
        ),
        "tokens of tests for one of the product": round(tests / product, 2),
    }


def main():
    files = sources()
    rooms = Counter()
    for name, text in files.items():
        rooms[name.partition("/")[0]] += code_tokens(text)[0]
    nodes = [node for text in files.values() for node in ast.walk(ast.parse(text))]
    assigned = [
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    vague = sum(name in VAGUE for name in assigned)
    longest = sorted(functions(files).items(), key=lambda pair: -pair[1])[:5]
    print("not to grow:")
    for name, number in ratchet(files).items():
        print(f"  {number:,} {name}")
    print(f"{rooms.total():,} tokens in {len(files)} files")
    core = rooms.total() - rooms["suite"] - rooms["studies"]
    print(f"core {core:,}, suite {rooms['suite']:,}, studies {rooms['studies']:,}")
    print(
        "by room: "
        + ", ".join(f"{room} {count:,}" for room, count in rooms.most_common())
    )
    print(
        "bytes of HTML, JS, CSS, YAML (recipes apart): "
        + ", ".join(f"{room} {n:,}" for room, n in shown().items())
    )
    print(f"{100 * vague / len(assigned):.1f}% of assigned names say nothing")
    print(
        "longest functions: " + ", ".join(f"{name} {count}" for name, count in longest)
    )


if __name__ == "__main__":
    main()
