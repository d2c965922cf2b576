"""Ten stories, honest rewrites of each, and what a model could write instead to be paid for distance.

`tests/files/sat_attacks.jsonl` holds the stories (old tales retold and two of our own, none of the packaged 113), two or
three rewrites of each in different styles, and an English summary. The rest is made from them here, always the same.
The gate's limits were set on the first five stories (`part` set); what it does is reported on the other five, whose
attacks use nothing of the first.
"""

import json
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sozo.data.jumandic import load_nouns
from sozo.data.prompts import fill, prompt
from sozo.tasks.sat.gate import morphemes
from sozo.tasks.sat.stories import load_stories

PATH = Path(__file__).parents[1] / "files" / "sat_attacks.jsonl"
LENGTH = 400
FILLER = "それからまた、いろいろなことがありました。"
ESSAYS = (
    (
        "円相場は小幅な値動きが続いている。市場では、中央銀行が来週の会合で政策金利を据え置くとの見方が多く、積極的に"
        "持ち高を傾ける参加者は少ない。輸出企業の決算はおおむね堅調だが、原材料費の上昇を価格に転嫁しきれていない中小"
        "の製造業では、利益率の低下が目立つ。物価の伸びは前年を上回り、家計の実質的な購買力は三か月連続で下がった。専"
        "門家の一人は、賃上げが広がらなければ個人消費の回復は遅れると指摘する。一方、観光業は好調で、地方の宿泊施設の"
        "稼働率は過去最高を更新した。人手不足は深刻さを増し、省力化のための設備投資が今後の成長を左右するとみられてい"
        "る。政府は補助制度を見直し、来年度の予算案に盛りこむ方針だ。長期金利は横ばいで推移し、株価は半導体関連を中心"
        "に買われた。"
    ),
    (
        "だしの取り方は意外に難しくない。まず鍋に水を一リットル入れ、昆布を三十分ほど浸しておく。弱めの中火にかけ、鍋"
        "の縁に小さな泡が出てきたら、沸騰する前に昆布を引き上げる。沸かしてしまうと、ぬめりと苦みが出るからだ。火を止"
        "めて一呼吸おき、かつおぶしを一つかみ入れる。沈むまで待ってから、布巾を敷いたざるで静かにこす。絞ると雑味が出"
        "るので、自然に落ちるのに任せるのがよい。こうして取っただしは、吸い物や茶わん蒸しに向いている。残った昆布は細"
        "く切り、しょうゆとみりんで煮れば佃煮になる。かつおぶしもフライパンでいって、ごまと塩を混ぜればふりかけだ。冷"
        "蔵庫なら三日、凍らせれば一か月はもつ。忙しい日のために、小さな容器に分けておくと便利である。味見をして、塩は"
        "最後に少しだけ足す。"
    ),
)
# What knows the gate and works around it. Shown beside the others; benchmarks/README.md says which of them are paid.
ADAPTIVE = ("rewrite's sentences shuffled", "rewrite, last third essay", "essay, story's words listed",
            "other rewrite, story's nouns", "rare sentences, story's nouns")  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A story, its honest rewrites by style, and attacks by name."""

    id: str
    title: str
    part: str
    text: str
    rewrites: dict[str, str]
    attacks: dict[str, str]


@cache
def cases():
    """The ten stories in order, the five of `set` first."""
    rows = [json.loads(line) for line in PATH.read_text("utf-8").splitlines()]
    tales = [story.text for story in load_stories() if len(story.text) >= 310]
    parts = {
        part: [row for row in rows if row["part"] == part] for part in ("set", "report")
    }
    result = []
    for part, of_part in parts.items():
        for k, row in enumerate(of_part):
            other = of_part[
                (k + 1) % len(of_part)
            ]  # of the same part: nothing crosses over
            tale = tales[11 * len(result)]
            result.append(
                Case(
                    row["id"],
                    row["title"],
                    part,
                    row["text"],
                    row["rewrites"],
                    _attacks(row, other, tale),
                )
            )
    return result


def _attacks(row, other, tale):
    rng = random.Random(row["id"])
    story, rewrites = row["text"], list(row["rewrites"].values())
    rewrite, others = rewrites[0], list(other["rewrites"].values())
    essay = rng.choice(ESSAYS)
    length = max(310, len(story))
    rare = rng.sample(load_nouns(), 400)
    words, nouns = surfaces(story), plain_nouns(story)
    opening = "".join(sentences(rewrite)[:2])
    lines = fill(prompt("sat"), story=story).splitlines()
    conditions = "".join(lines[:-1])
    half, two_thirds = (
        keep_sentences(rewrite, len(rewrite) * part) for part in (1 / 2, 2 / 3)
    )
    return {
        "off topic: other rewrite": others[0],
        "off topic: other rewrite 2": others[1],
        "off topic: other tale": tale,
        "off topic: essay": essay,
        "rare words": "、".join(rare)[:380] + "。",
        "rare sentences": rare_sentences(rng, rare, []),
        "sentences shuffled": again("".join(shuffled(rng, sentences(story))), length),
        "words shuffled": again("".join(shuffled(rng, words)), length),
        "characters shuffled": again("".join(shuffled(rng, story)), length),
        "copied": again(story, length),
        "copied, words replaced": again(replaced(rng, story, rare), length),
        "half copied, essay": (keep_sentences(story, len(story) / 2) + essay)[:LENGTH],
        "translated: English": row["english"],
        "translated: kana": kana(story)[:480],
        "padded with filler": opening + again(FILLER, LENGTH - len(opening)),
        "padded with essay": (opening + essay)[:LENGTH],
        "padded: half essay": (half + essay)[:LENGTH],
        "prompt repeated": again(conditions, LENGTH),
        "prompt and story": (conditions + story)[:480],
        "sentence repeated": again(max(sentences(rewrite), key=len), LENGTH),
        "rewrite's words shuffled": "".join(shuffled(rng, surfaces(rewrite))),
        "rewrite's characters shuffled": "".join(shuffled(rng, rewrite)),
        "rewrite's sentences shuffled": "".join(shuffled(rng, sentences(rewrite))),
        "rewrite, last third essay": (two_thirds + essay)[:LENGTH],
        "essay, story's words listed": essay[:300]
        + "この話には"
        + "、".join(nouns[:20])
        + "が出てくる。",
        "other rewrite, story's nouns": swapped(rng, others[0], nouns),
        "rare sentences, story's nouns": rare_sentences(rng, rare, nouns),
    }


def surfaces(text):
    return [surface for surface, *_ in morphemes(text)]


def plain_nouns(text):
    kinds = ("普通名詞", "サ変名詞", "人名", "地名", "固有名詞")
    return list(
        dict.fromkeys(
            surface for surface, _, _, sub, _ in morphemes(text) if sub in kinds
        )
    )


def sentences(text):
    return [sentence + "。" for sentence in text.removesuffix("。").split("。")]


def keep_sentences(text, length):
    """The first whole sentences up to about so many characters."""
    kept = ""
    for sentence in sentences(text):
        if len(kept) >= length - len(sentence) / 2:
            break
        kept += sentence
    return kept


def shuffled(rng, units):
    return rng.sample(list(units), len(units))


def again(unit, length):
    return (unit * (length // len(unit) + 1))[:length]


def replaced(rng, text, rare):
    """Every fourth noun by a rare one, at random."""
    new = iter(rare)
    return "".join(
        next(new)
        if sub in ("普通名詞", "サ変名詞") and rng.random() < 0.25
        else surface
        for surface, _, _, sub, _ in morphemes(text)
    )


def swapped(rng, text, nouns):
    """Half of a text's nouns by those of the story."""
    new = dict(
        zip(
            rng.sample(plain_nouns(text), len(plain_nouns(text)) // 2),
            shuffled(rng, nouns),
            strict=False,
        )
    )
    return "".join(new.get(surface, surface) for surface in surfaces(text))


def kana(text):
    """A text as it is read: 代表表記:桃/もも."""
    readings = []
    for surface, _, _, _, meaning in morphemes(text):
        reading = (
            meaning.partition("代表表記:")[2]
            .partition("/")[2]
            .partition(" ")[0]
            .partition("?")[0]
        )
        readings.append(
            reading
            if any("一" <= character <= "鿿" for character in surface) and reading
            else surface
        )
    return "".join(readings)


def rare_sentences(rng, rare, nouns):
    """Grammatical nonsense; every third noun one of the story's, if there are any."""
    verbs = ("見た", "運んだ", "壊した", "作った", "忘れた", "笑った")
    new, mine, text = iter(rare), iter(nouns * 20), ""
    while len(text) < LENGTH - 20:
        text += f"{next(mine, None) or next(new)}は{next(new)}の{next(new)}を{rng.choice(verbs)}。"
    return text
