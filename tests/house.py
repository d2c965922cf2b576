"""How much house there is, in measures that packing does not improve: `python tests/house.py` prints them.

Tokens are Python's own, without comments, line ends and indentation; a docstring counts as one, so what only describes
costs nothing. A code line holds such a token other than a docstring. Tests, benchmarks and examples are no product.
"""

import ast
import io
import re
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
    "studies",
    "recipes",
    "src/sozo",
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


def main():
    files = sources()
    rooms, lines = Counter(), 0
    for name, text in files.items():
        tokens, of_code = code_tokens(text)
        rooms[name.partition("/")[0]] += tokens
        lines += of_code
    nodes = [node for text in files.values() for node in ast.walk(ast.parse(text))]
    assigned = [
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    comprehensions = sum(isinstance(node, COMPREHENSIONS) for node in nodes)
    vague = sum(name in VAGUE for name in assigned)
    longest = sorted(functions(files).items(), key=lambda pair: -pair[1])[:5]
    print(f"{rooms.total():,} tokens in {len(files)} files")
    print(f"core {rooms.total() - rooms['studies']:,}, studies {rooms['studies']:,}")
    spine = re.findall(
        r"^[0-9]+\. `([\w/]+\.py)`",
        (ROOT / "docs" / "layout.md").read_text("utf-8"),
        re.MULTILINE,
    )
    print(
        f"the spine (docs/layout.md) {sum(code_tokens(files[name])[0] for name in spine):,} in {len(spine)} files"
    )
    print(
        "by room: "
        + ", ".join(f"{room} {count:,}" for room, count in rooms.most_common())
    )
    print(
        "bytes of HTML, JS, CSS, YAML (recipes apart): "
        + ", ".join(f"{room} {n:,}" for room, n in shown().items())
    )
    per_line = f"{100 * rooms.total() / lines:.0f} tokens, {100 * comprehensions / lines:.1f} comprehensions"
    print(
        f"for 100 code lines: {per_line}; {100 * vague / len(assigned):.1f}% of assigned names say nothing"
    )
    print(
        "longest functions: " + ", ".join(f"{name} {count}" for name, count in longest)
    )


if __name__ == "__main__":
    main()
