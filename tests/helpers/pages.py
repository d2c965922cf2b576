"""What a page of the report holds: its cells, its English text, its packed tables."""

import base64
import gzip
import html
import json
import re


def cells_of(page, title="", *, escape=True):
    """The table under a heading (without one the overview): rows of cells without tags, lines joined by spaces."""
    page = page.replace("<wbr>", "")
    page = (
        page.split("</nav>")[-1] if title else page
    )  # behind the list of contents, which has the titles too
    table = page.split(html.escape(title) if escape else title, 1)[1] if title else page
    table = re.sub(
        r'<span class="heard">.*?</span></span>', "", table.split("</table>", 1)[0]
    )
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    english = [
        [re.sub(r'<span lang="ja">.*?</span>', "", cell) for cell in row]
        for row in cells
    ]
    return [
        [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split()) for cell in row]
        for row in english
    ]


def read_packed(page):
    packed = re.search(r'id="packed">([^<]+)<', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))
