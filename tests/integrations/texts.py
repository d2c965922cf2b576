"""A thousand answers to DAT as tools hand them over: good, broken, with end marks, reasoning, or their prompt."""

import random
from typing import NamedTuple

from sozo.data.prompts import prompt

NOUNS = [
    "犬",
    "法律",
    "海",
    "数学",
    "靴",
    "音楽",
    "病気",
    "机",
    "天気",
    "祝日",
    "茶碗",
    "憲法",
    "台風",
    "微分",
    "靴下",
    "恋愛",
    "肝臓",
    "大工",
    "金星",
    "味噌",
    "猫",
    "馬",
    "山",
    "川",
    "本",
    "車",
    "空",
    "石",
    "木",
    "花",
    "鉄",
    "理論",
    "砂糖",
    "戦争",
    "電話",
    "神社",
    "細胞",
    "経済",
    "写真",
    "雲",
    "宇宙",
    "歯",
    "橋",
    "選挙",
    "劇場",
    "窓",
    "塩",
    "文法",
    "祭り",
    "港",
]
BAD = ("走る", "美しい", "apple", "犬!", "単語1", "ニャンゴロ", "を", "犬", "２", "")
ASKED = prompt("dat")
LLAMA = "<|start_header_id|>{}<|end_header_id|>\n\n"
# A prompt in front of an answer, as chat templates put it, and what they put behind an answer.
TEMPLATES = (
    ("{}\n", ""),
    ("<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>\n"),
    (
        "<|im_start|>system\n短く。<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n",
        "<|im_end|>",
    ),
    (
        f"<|begin_of_text|>{LLAMA.format('user')}{{}}<|eot_id|>{LLAMA.format('assistant')}",
        "<|eot_id|>",
    ),
    (
        "<bos><start_of_turn>user\n{}<end_of_turn>\n<start_of_turn>model\n",
        "<end_of_turn>\n",
    ),
    ("<s>[INST] {} [/INST]", "</s>"),
    ("<s>以下は、タスクを説明する指示です。\n\n### 指示:\n{}\n\n### 応答:\n", "</s>"),
)
REASONING = (
    "",
    "<think>犬か猫か</think>\n",
    "海</think>\n\n",
    "<think>",
    "<|channel|>analysis<|message|>犬<|end|>",
)


class Case(NamedTuple):
    """One answer in several guises; what it is worth is what the task says of `answer`."""

    answer: str
    prompt: str  # as a template puts it
    query: str  # prompt, answer and end mark
    output: str  # the answer with its end mark


def cases(count: int = 1000, seed: int = 7) -> list[Case]:
    """The same for the same seed."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        words = draw.sample(NOUNS, 10)
        if draw.random() < 0.3:
            words[draw.randrange(10)] = draw.choice(BAD)
        lines = [f"{k}. {word}" for k, word in enumerate(words, 1)]
        if draw.random() < 0.1:
            lines = draw.choice(
                (
                    lines[:9],
                    [*lines, "11. 猿"],
                    ["はい。", *lines],
                    [line[3:] for line in lines],
                    [],
                )
            )
        answer = draw.choices(REASONING, (10, 2, 2, 1, 1))[0] + "\n".join(lines)
        template, end = draw.choice(TEMPLATES)
        end = draw.choice((end, end, "<|im_end|>", "</s>", ""))
        asked = template.format(ASKED)
        query = asked + answer + end
        made.append(Case(answer, asked, query, answer + end))
    return made


def grouped(count: int = 1000, size: int = 4, seed: int = 11) -> list[list[Case]]:
    """Groups of answers to one prompt; of some two or more are equal, and all groups ask the same."""
    draw = random.Random(seed)
    pool = cases(400)
    return [draw.choices(draw.sample(pool, size), k=size) for _ in range(count)]
