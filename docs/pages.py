"""Lays out in build/pages what `make docs` makes a site of.

Pages keep the paths that they have in the repository, so that links between them hold in both. A linked file that is
no page becomes one that shows it, and every module of sozo gets a page of its docstrings.
"""

import ast
import json
import re
import shutil
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "pages"
ROOMS = (
    "rewards",
    "tasks",
    "scoring",
    "models",
    "training",
    "eval",
    "suite",
    "studies",
    "data",
)
TO_A_FILE = re.compile(r"\]\((?!https?:)([^)#]+\.(?!md\b|svg\b|html\b)\w+)\)")
NAME = re.compile(rf"(?<![`\[])`(sozo\.(?:{'|'.join(ROOMS)})(?:\.\w+)*)`(?!`)")


class Examples(griffe.Extension):
    """Shows the examples of docstrings as code; mkdocs.yml names it."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Fence them."""
        if obj.docstring:
            obj.docstring.value = re.sub(
                r"^(>>> (?:.+\n?)+)",
                r"```pycon\n\1\n```\n",
                obj.docstring.value,
                flags=re.M,
            )


def write(name: str, text: str) -> None:
    """Write a page."""
    (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
    (PAGES / name).write_text(text, "utf-8")


def as_page(file: Path) -> str:
    """A file as a page: a notebook's cells with what they printed, or the text."""
    text, fence = file.read_text("utf-8"), "````{}\n{}\n````\n"
    if file.suffix != ".ipynb":
        return f"# {file.name}\n\n" + fence.format(file.suffix[1:], text)
    page = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        page.append(
            source
            if cell["cell_type"] == "markdown"
            else fence.format("python", source)
        )
        page += [
            fence.format("text", "".join(output["text"]))
            for output in cell.get("outputs", ())
        ]
    return "\n\n".join(page)


def copy(file: Path) -> None:
    """Write a file of the repository as a page, with those that it links to; names of sozo link to their docstrings."""
    name = str(file.relative_to(ROOT))
    text = file.read_text("utf-8") if file.suffix == ".md" else as_page(file)
    for link in TO_A_FILE.findall(text):
        copy((file.parent / link).resolve())
    text = TO_A_FILE.sub(r"](\1.md)", text)
    text = NAME.sub(r"[`\1`][\1]", text)
    write(name if file.suffix == ".md" else f"{name}.md", text)


def reference(path: Path) -> str:
    """Write the page of a module, and return its line in the list of all."""
    module = ".".join(
        ["sozo", *path.relative_to(ROOT).with_suffix("").parts]
    ).removesuffix(".__init__")
    tree = ast.parse(path.read_text("utf-8"))
    text = f"# {module} {{#{module}}}\n\n::: {module}\n"
    # A package lends names from its modules, which are shown only where they are asked for.
    lent = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets) == "__all__"
    ]
    if names := [
        node.value
        for value in lent
        for node in ast.walk(value)
        if isinstance(node, ast.Constant)
    ]:
        text += f"    options: {{members: [{', '.join(names)}], show_if_no_docstring: true}}\n"
    write(f"api/{module}.md", text)
    summary = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ")
    return f"| [{module}]({module}.md) | {summary} |\n"


if __name__ == "__main__":
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES / "docs")
    # What is shown as it is.
    for file in (*ROOT.glob("examples/*.html"), *ROOT.glob("recipes/*/*.svg")):
        place = PAGES / file.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    readmes = [
        f"{folder}/**/README.md"
        for folder in ("benchmarks", "data", "examples", "recipes", "studies", "suite")
    ]
    for page in [
        page
        for pattern in ("*.md", "docs/*.md", *readmes)
        for page in ROOT.glob(pattern)
    ]:
        copy(page)
    modules = [
        reference(path)
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
    ]
    write(
        "api/README.md", "# All modules\n\n| module | |\n|---|---|\n" + "".join(modules)
    )
