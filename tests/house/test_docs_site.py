"""The pages as a site: nobody forgets one, it is built, and reading it loads nothing from elsewhere."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from documents import PROJECT, ROOT, name_of

pytestmark = pytest.mark.studies  # of the whole repository

CONFIG = (ROOT / "mkdocs.yml").read_text(
    "utf-8"
)  # read as text: PyYAML refuses the Python name of a function in it
NAV = re.findall(
    r"[\w./-]+\.md\b", CONFIG.partition("\nnav:")[2].partition("\ntheme:")[0]
)
INDEX = (ROOT / "docs" / "README.md").read_text("utf-8")
# Where the site is published, and what opens there by a link; until it is, READMEs link what is committed.
SITE = PROJECT.get("urls", {}).get("Homepage", "")
OPENED = ("duel", "evaluation", "form") if SITE else ("duel", "evaluation")
# A name that a reader searches -> the page whose heading it is.
WANTED = {
    "sozo.rewards.make_dat_reward": "sozo.rewards",
    "sozo.tasks.task.Task": "sozo.tasks.task",
    "sozo.scoring.distance.mean_pairwise_distance": "sozo.scoring.distance",
}


@pytest.mark.parametrize(
    "page", [name_of(path) for path in sorted((ROOT / "docs").glob("*.md"))]
)
def test_a_page_is_in_the_navigation_and_in_the_index(page):
    assert page in NAV
    assert page == "docs/README.md" or f"({page.removeprefix('docs/')})" in INDEX


@pytest.mark.parametrize("page", NAV)
def test_what_the_navigation_names_is_there(page):
    name = page.removesuffix(".md")
    module = name.removeprefix("api/sozo.").replace(".", "/")
    places = (page, name, f"{module}.py", f"{module}/__init__.py")
    assert page == "api/README.md" or any((ROOT / at).is_file() for at in places)


@pytest.mark.parametrize("readme", ["README.md", "README_ja.md"])
def test_a_readme_begins_with_pages_that_open_by_a_link(readme):
    line = (ROOT / readme).read_text("utf-8").splitlines()[2]
    for page in OPENED:
        assert f"({SITE}examples/{page}.html)" in line


@pytest.mark.slow
def test_the_site_is_whole_and_loads_nothing_from_elsewhere(tmp_path):
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    for name in filter(None, tracked.split("\0")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name, follow_symlinks=False)
    command = ["make", "docs", f"PYTHON={sys.executable}"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        done.stdout[-2000:] + done.stderr[-2000:]
    )  # a link that leads nowhere ends it
    site = tmp_path / "build" / "docs"
    pages = {
        str(path.relative_to(site)): path.read_text("utf-8")
        for path in site.rglob("*.html")
    }
    for page, text in pages.items():
        loaded = re.findall(
            r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?([^\"' >]+)", text
        )
        loaded += re.findall(r"<link\b[^>]*\bhref=[\"']?([^\"' >]+)", text)
        assert [url for url in loaded if re.match(r"(https?:)?//", url)] == [], page
        assert not re.search(r"<p>(?:(?!</p>).)*\n(?:- |\| |```)", text, re.DOTALL), (
            f"{page}: a list lost in a paragraph"
        )
    for name, page in WANTED.items():
        assert f'id="{name}"' in pages[f"api/{page}.html"]
    texts = json.dumps(
        json.loads((site / "search.json").read_text("utf-8")), ensure_ascii=False
    )
    assert "make_dat_reward" in texts
    assert "創造的" in texts
