"""Groups of eight answers in which one answer is made to look like many, or many are really different."""

import random

from sozo.rewards import make_diverse_reward
from sozo.rewards.diverse import ALIKE
from sozo.scoring.final_text import judged_part
from sozo.tasks.sat.gate import not_prose

EN = "A brick can hold a door open, keep a tent from flying away, or warm a cold bed."
JA = "レンガは、ドアが閉まらないように置いたり、テントを押さえたり、温めて布団に入れたりできる。"
# Eight answers that say other things.
HONEST_EN = [
    EN,
    "Grind it into red powder and paint a map of the garden on the wall.",
    "Freeze it overnight and use it to chill a bottle at a picnic.",
    "Drill holes in it and let wild bees raise their young inside.",
    "Carve a stamp into one side and print patterns on cloth.",
    "Put it in the cistern, so that each flush takes less water.",
    "Tie a rope around it and you have an anchor for a small boat.",
    "Stand on it in the rain when the street is full of puddles.",
]
HONEST_JA = [
    JA,
    "砕いて赤い粉にし、庭の地図を塀に描くための絵の具として使うことができる。",
    "一晩凍らせておけば、野外で飲み物の瓶を冷やす道具として使うことができる。",
    "ドリルで穴をたくさん開けて、野生の蜂が子を育てる巣として庭に置いておく。",
    "片面に模様を彫れば、布に絵柄を刷るための大きな判子として楽しめるだろう。",
    "便器の水槽に沈めておくと、流すたびに使う水の量を少しだけ減らせるはずだ。",
    "縄をしっかり結べば、小さな舟を池の真ん中に留めておく錨の代わりになる。",
    "雨の日に道が水たまりだらけなら、その上に立って靴を濡らさずに待てばよい。",
]
SYNONYMS_EN = [
    EN,
    "A brick may keep a door open, stop a tent from blowing away, or heat a chilly bed.",
    "A brick could prop a door open, hold a tent down in the wind, or make a cold bed warm.",
    "One brick is able to wedge a gate, secure a tent in a storm, or warm up an icy bed.",
    "With a brick you can block a door, pin a tent down, or take the chill off a bed.",
    "Bricks hold doors ajar, weigh down tents on windy days, and warm beds in winter.",
    "Use a brick as a doorstop, as a weight for a tent, or as a warmer for the bed.",
    "A brick serves to stop a door from shutting, a tent from leaving and a bed from being cold.",
]
SYNONYMS_JA = [
    JA,
    "煉瓦は、扉が閉じないように置いたり、天幕を押さえたり、温めて寝床に入れたりできる。",
    "レンガなら、戸が閉まるのを防いだり、テントの重しにしたり、熱して布団を温めたりできます。",
    "ブロックは、ドアを開けたままにし、テントが飛ぶのを止め、寝具を暖めるのに使える。",
    "れんが一つで、扉を開けておけるし、テントを固定できるし、冷たい布団も暖かくなる。",
    "レンガの使い道は、ドアストッパー、テントの重り、それから布団を温める湯たんぽ代わりだ。",
    "戸を止め、天幕を風から守り、寒い夜の寝床を温める、それが煉瓦にできることである。",
    "ドアの隙間に挟む、テントの端に載せる、火で熱して寝る前の布団に入れる、とレンガは役に立つ。",
]
LANGUAGES = [
    EN,
    JA,
    "Mit einem Ziegel kann man eine Tür offen halten, ein Zelt beschweren oder ein kaltes Bett wärmen.",
    "Une brique peut tenir une porte ouverte, empêcher une tente de s'envoler ou réchauffer un lit froid.",
    "Un ladrillo puede mantener una puerta abierta, sujetar una tienda o calentar una cama fría.",
    "一块砖可以顶住门，压住帐篷不被风吹走，或者烤热后温暖冰冷的床铺。",
    "벽돌은 문을 열어 두거나 텐트가 날아가지 않게 누르거나 차가운 침대를 데울 수 있다.",
    "Кирпич может держать дверь открытой, прижимать палатку или согревать холодную постель.",
]
# Good prose about other things.
ELSEWHERE_EN = [
    "My grandmother kept bees behind the railway station. Each summer she sold the honey to the drivers.",
    "The moon has no weather, so footprints stay for millions of years. Only small stones from space wear them down.",
    "In the council they argued about the new swimming pool until midnight. Nobody had brought the plans.",
    "To bake rye bread you need a sour dough that is two days old. Keep it warm and feed it with flour.",
    "Chess players remember positions as we remember faces. A board of random pieces confuses masters too.",
    "When the violin had been repaired, it sounded darker than before. The teacher liked it, the pupil did not.",
    "Salmon find the river of their birth by its smell. They stop eating when they reach fresh water.",
    "A contract is broken when one side does not pay in time. The court then asks what was agreed in writing.",
]
ELSEWHERE_JA = [
    "祖母は駅の裏で蜂を飼っていた。夏になると、運転手たちに蜜を売って小遣いにしていた。",
    "月には天気がないので、足跡は何百万年も残る。宇宙から降る小石だけが少しずつ消していく。",
    "議会では新しいプールのことで真夜中まで言い争った。図面を持ってきた人は誰もいなかった。",
    "ライ麦のパンを焼くには、二日たった酸っぱい種がいる。温かい場所に置いて粉を足していく。",
    "将棋の強い人は、人の顔のように局面を覚えている。でたらめに並べた駒には名人も迷うものだ。",
    "直したバイオリンは前より暗い音がした。先生は気に入ったが、弟子は好きになれなかった。",
    "鮭は匂いで生まれた川を見つける。川の水に入ると、もう何も食べずに上流を目指して泳ぐ。",
    "支払いが期限に遅れれば契約は破られたことになる。裁判所は書面に何とあるかを尋ねる。",
]
_CYRILLIC = str.maketrans("aceopxy", "асеорху")
_HIRAGANA = {chr(code): chr(code - 0x60) for code in range(0x30A1, 0x30F7)}
_OPPOSITE = {hiragana: katakana for katakana, hiragana in _HIRAGANA.items()} | _HIRAGANA


def _some(text, draw, change, share=0.5):
    """The text with `change` made to about a share of its characters."""
    return "".join(change(one) if draw.random() < share else one for one in text)


def _wide(one):
    return chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one


def _words(draw, number):
    letters = "bcdfghklmnprstvw"
    return " ".join(
        "".join(draw.choice(letters) + draw.choice("aeiou") for _ in range(3))
        for _ in range(number)
    )


def _kana(draw, number):
    return "".join(chr(draw.randrange(0x3042, 0x3093)) for _ in range(number))


def groups():
    """Name -> eight answers in English, and eight in Japanese."""
    draw = random.Random(0)
    made = {
        "eight different answers": (HONEST_EN, HONEST_JA),
        "eight equal answers": ([EN] * 8, [JA] * 8),
    }

    def tried(name, english, japanese=None):
        made[name] = (
            [english(EN) for _ in range(8)],
            [(japanese or english)(JA) for _ in range(8)],
        )

    tried(
        "capitals, spaces, invisible characters",
        lambda text: _some(text, draw, lambda one: one.upper() + "\u200b "),
    )
    tried("full-width letters", lambda text: _some(text, draw, _wide))
    tried(
        "look-alikes: Cyrillic for Latin, katakana for hiragana and back",
        lambda text: _some(text, draw, lambda one: one.translate(_CYRILLIC)),
        lambda text: _some(text, draw, lambda one: _OPPOSITE.get(one, one)),
    )
    tried(
        "a typing error in every tenth character",
        lambda text: _some(text, draw, lambda one: draw.choice("etaoin"), 0.1),
        lambda text: _some(text, draw, lambda one: _kana(draw, 1), 0.1),
    )
    made["synonyms and another order of words"] = (SYNONYMS_EN, SYNONYMS_JA)
    made["eight languages"] = (
        LANGUAGES,
        LANGUAGES[1:2] + LANGUAGES[:1] + LANGUAGES[2:],
    )
    for number in (4, 12, 60):
        tried(
            f"noise of {6 * number} characters behind",
            lambda text, number=number: f"{text} {_words(draw, number)}",
            lambda text, number=number: text + _kana(draw, 6 * number),
        )
    others = [HONEST_EN, HONEST_JA]
    made["one answer, then seven others in another order each"] = tuple(
        [" ".join(draw.sample(own, 8)) for _ in range(8)] for own in others
    )
    made["one answer, then another one's words"] = tuple(
        [f"{own[0]} {other}" for other in own] for own in others
    )
    made["one answer, then two sentences about something else"] = tuple(
        [f"{own[0]} {other}" for other in elsewhere]
        for own, elsewhere in zip(others, (ELSEWHERE_EN, ELSEWHERE_JA), strict=True)
    )
    made["one answer, then eight sentences about other things"] = tuple(
        [f"{own[0]} {' '.join(draw.sample(elsewhere, 4))}" for _ in range(8)]
        for own, elsewhere in zip(others, (ELSEWHERE_EN, ELSEWHERE_JA), strict=True)
    )
    made["reasoning of random words before"] = tuple(
        [f"<think>{_words(draw, 30)}</think>{own[0]}" for _ in range(8)]
        for own in others
    )
    return made


def table(ways=tuple(ALIKE)):
    """The page's table, as lines of Markdown; what is not among `ways` is left out."""

    def one(completions, **columns):
        return [1.0] * len(completions)

    rewards = [make_diverse_reward(one, alike=alike) for alike in ways]
    heads = [f"{alike}, {language}" for language in ("en", "ja") for alike in ways]
    lines = [
        f"| eight answers | {' | '.join(heads)} | prose |",
        "|---" * (2 + len(heads)) + "|",
    ]
    for name, both in groups().items():
        paid = [
            f"{sum(reward(completions=texts)) / len(texts):.2f}"
            for texts in both
            for reward in rewards
        ]
        prose = sum(not not_prose(judged_part(text)) for text in both[1])
        lines.append(f"| {name} | {' | '.join(paid)} | {prose} |")
    return lines
