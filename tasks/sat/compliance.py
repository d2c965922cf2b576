"""Did the model do what the SAT prompt says? Reported beside the score: a distance alone rewards leaving the topic.

The prompt (paper, Table 19) asks for about 400 characters, no line breaks and only the story. Nothing here changes a
score: the paper scored whatever a model wrote. What stands beside a story is found by rules and not by a model, so that
a result can be checked by eye. They are conservative: each looks for a form that a story hardly has, at the place where
models write it, and a remark that looks like none of them is missed. Only the first and the last 200 characters count,
but for what stands at the head of a line.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sozo.data.foreign import nfkc
from sozo.data.prompts import prompt
from sozo.scoring.final_text import refuses

# "About 400 characters": a quarter more or less. The paper names no band; `sat/length` lets anybody take another.
LENGTH_BAND = (300, 500)
_GRAM = 8
_ENDS = 200
_WORK = r"(?:物語|ストーリー|お話|童話|昔話|作品|文章|バージョン|現代版|現代風)"


class Extra(StrEnum):
    """What stands beside the story."""

    PREFACE = "preface"  # はい、 / 承知しました / 以下は…の物語です。 / こちらが現代版の…です:
    HEADING = "heading"  # Markdown headings and rules, a line in bold, 【題】, a title on a line of its own
    LABEL = "label"  # a line that begins タイトル: or 物語:, bracketed or not
    FENCE = "fence"  # ``` around it
    NOTE = "note"  # (398文字) or ※… at the end, a line that begins 注: or 解説:
    COMMENT = "comment"  # a last sentence to the reader: いかがでしょうか。 / ご要望があればお知らせください。
    REFUSAL = "refusal"  # 申し訳ありませんが…できません
    PROMPT = "prompt"  # a line of the prompt said again


_OPENINGS = (
    r"はい[、。!！]|承知(?:いた)?しました|かしこまりました|了解(?:です|しました|いたしました)|[分わ]かりました[。、]",
    r"もちろんです|(?:Sure|Certainly|Of course|Here is|Here's)\b",
    # A first sentence about the work, not of it.
    (
        r"(?:以下[はがにの、]|こちら[はが]|次のよう|次のとおり|次の通り|ご要望|ご指定|条件に[従沿])"
        rf"[^。:：\n]{{0,60}}{_WORK}[^。:：\n]{{0,40}}[。:：]"
    ),
    (
        r"[^。:：\n「」]{0,40}(?:現代風|現代版|現代的)[にのな][^。:：\n「」]{0,30}(?:"
        r"(?:物語|ストーリー|お話|童話|昔話|作品|バージョン)(?:です|でございます|になります)|"
        r"(?:書き換え|作り変え|(?:作成|創作|アレンジ)し)(?:ました|てみました))[。:：]"
    ),
)
_HEADINGS = (
    r"(?m)^[ \t]{0,3}#{1,6}[ \t\u3000]\S",
    r"(?m)^\*\*[^*\n]{1,60}\*\*[ \t]*$",
    r"(?m)^(?:-{3,}+|\*{3,}+|_{3,}+|={3,}+)[ \t]*$",
    r"\A(?:\*\*[^*\n]{1,60}\*\*|【(?!速報|号外|悲報|朗報|緊急|急募|拡散)[^】\n]{1,40}】)",
    r"\A[『《〈≪][^\n]{1,40}[』》〉≫][ \t\u3000]*\n",
    r"\A[^。、,.!?！？「」…\n]{1,30}\n[ \t\u3000]*\n\s*\S",
)
_LABEL = (
    r"(?m)^[*【\[〔<＜(（]{0,3}(?:タイトル|題名|題|表題|物語|ストーリー|お話|本文|あらすじ|出力|回答|答え|作品|新しい物語|"
    r"(?:現代風|現代版)の?(?:物語|ストーリー)?|Title|Story|Output)[*】\]〕>＞)）]{0,3}[ \t\u3000]{0,3}[:：]"
)
_COUNT = r"(?:文字数|字数|語数|[0-9０-９]+[ \u3000]?(?:文字|字)|[四三五]百(?:文)?字)"
_NOTE = r"(?m)^[*【\[〔(（]{0,3}(?:注|注記|注釈|備考|補足|解説|ポイント)[*】\]〕)）]{0,3}[ \t\u3000]{0,3}[:：]"
_LAST_NOTES = (
    rf"[(（\[［【〔][^()（）\n]{{0,60}}(?:{_COUNT}|注[:：]|補足|解説|注記)[^()（）\n]{{0,60}}[)）\]］】〕][。.]?\Z",
    r"(?:\A|[\n。])[ \t\u3000]*(?:総?文字数|字数)[ \u3000]?[:：は][^\n。]{1,20}。?\Z",
    r"(?:\A|[\n。])[ \t\u3000]*※[^\n]{1,150}\Z",
)
_COMMENT = (
    r"いかがでしょうか|いかがでしたか|いかがですか|\A以上です|お気に召|お役に立て|参考になれば|"
    rf"\A以上[がは、][^。]{{0,40}}{_WORK}|"
    r"(?:ご要望|ご希望|ご不明|修正|変更|調整)[^。]{0,40}(?:ください|お知らせ|お申し付け|いたします|可能です)|"
    r"\Aこの(?:物語|ストーリー|お話)(?:は|では)[^。]{0,80}(?:原作|元の|現代風|現代版|現代社会|テーマ|条件|文字)"
)


def find_extras(text: str) -> tuple[Extra, ...]:
    """What `text`, a rewrite without its reasoning and outer white space, holds beside a story.

    >>> [str(extra) for extra in find_extras("はい、以下は現代風の物語です。\\n昔々、太郎がいた。（9文字）")]
    ['preface', 'note']
    >>> find_extras("「はい、行きます」と太郎は言った。")
    ()
    """
    head, tail = text[:_ENDS], text[-_ENDS:]
    # The last sentence, but for one that somebody in the story speaks.
    last = (
        ""
        if tail.endswith(("」", "』"))
        else re.split(r"[。!！\n]", tail.rstrip("。!！?？ "))[-1].strip()
    )
    # Short lines of the prompt (改行はしない) could stand in a story.
    conditions = [
        line.removeprefix("- ") for line in prompt("sat").splitlines() if len(line) > 10
    ]
    holds = {
        Extra.PREFACE: any(re.match(rule, head) for rule in _OPENINGS),
        Extra.HEADING: any(re.search(rule, text) for rule in _HEADINGS),
        Extra.LABEL: re.search(_LABEL, text),
        Extra.FENCE: re.search(r"(?m)^```", text),
        Extra.NOTE: re.search(_NOTE, text)
        or any(re.search(rule, tail) for rule in _LAST_NOTES),
        Extra.COMMENT: re.search(_COMMENT, last),
        Extra.REFUSAL: refuses(text),
        Extra.PROMPT: any(line in text for line in conditions),
    }
    return tuple(extra for extra, is_there in holds.items() if is_there)


@dataclass(frozen=True, slots=True)
class Compliance:
    """How far a rewrite keeps to the prompt's conditions; `copied` is none of them: near 1 the story was said again."""

    length: int  # characters (code points) without outer white space and line breaks
    # Whether it holds no line break of any kind (\\n, \\r, \\u2028, ...)
    one_line: bool
    extras: tuple[str, ...]  # what it holds beside the story (`Extra`)
    copied: float | None  # see `copied_share`

    @property
    def values(self) -> dict[str, float]:
        """By the measures' names; an empty rewrite keeps no condition."""
        length_ok = LENGTH_BAND[0] <= self.length <= LENGTH_BAND[1]
        kept = {
            "length_ok": length_ok,
            "one_line": self.one_line,
            "only_story": not self.extras,
        }
        kept = {name: self.length > 0 and holds for name, holds in kept.items()}
        values = {
            "compliant": all(kept.values()),
            **kept,
            "length": self.length,
            "copied": self.copied,
        }
        return {
            f"sat/{name}": float(value)
            for name, value in values.items()
            if value is not None
        }


def check(story: str, rewrite: str) -> Compliance:
    """How far `rewrite`, without its reasoning, keeps to the prompt's conditions.

    >>> check("むかしむかし、浦島太郎という漁師がいた。", "令和の東京に、浦島拓也という技術者がいた。")
    Compliance(length=21, one_line=True, extras=(), copied=0.0)
    """
    text = rewrite.strip()
    lines, extras = text.splitlines(), tuple(str(extra) for extra in find_extras(text))
    return Compliance(
        sum(len(line) for line in lines),
        len(lines) <= 1,
        extras,
        copied_share(story, text),
    )


def kept_score(values: Mapping[str, float]) -> float | None:
    """The distance of a rewrite, 0 where it does not keep to the conditions; None of what never came.

    >>> kept_score({"sat": 0.5, "sat/compliant": 1.0}), kept_score({"sat": 0.9, "sat/compliant": 0.0}), kept_score({})
    (0.5, 0.0, None)
    """
    return 0.0 if values.get("sat/compliant") == 0 else values.get("sat")


def copied_share(story: str, rewrite: str) -> float | None:
    """Share of the story's distinct character 8-grams in the rewrite, 0 to 1, after NFKC and without white space.

    None for a story of fewer than 8 characters.

    >>> copied_share("昔々、亀を助けた漁師がいた。", "昔々、亀を助けた刑事がいた。")  # 1 of 7: 昔々、亀を助けた
    0.14285714285714285
    """
    grams = _grams(story)
    return len(grams & _grams(rewrite)) / len(grams) if grams else None


def _grams(text: str) -> set[str]:
    plain = "".join(nfkc(text).split())
    return {plain[i : i + _GRAM] for i in range(len(plain) - _GRAM + 1)}
