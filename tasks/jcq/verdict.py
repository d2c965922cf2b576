"""What a judge's reply to the JCQ prompt says: a verdict, a verdict in prose, or nothing that can be read.

Whatever is not known to be harmless beside the four lines makes a verdict one in prose, which no mean contains: a list
of what must not stand there (an example, a draft, somebody else's scores) would never end.
"""

import re
from dataclasses import dataclass

from sozo.scoring.final_text import final_text
from sozo.scoring.judges.protocol import Scores
from sozo.tasks.jcq.questions import CRITERIA

JAPANESE = dict(zip(CRITERIA, ("流暢性", "柔軟性", "独創性", "精緻性"), strict=True))
_NAMES = "|".join(JAPANESE.values())
_JCQ_JUDGE = re.compile(
    r"\s*".join(rf"{name}:\s*\[?([1-5])\]?" for name in JAPANESE.values())
)
# Full-width forms; brackets that only decorate.
_PLAIN = {0xFF01 + k: 0x21 + k for k in range(94)} | dict.fromkeys(
    map(ord, "\u3000【】"), " "
)
_NEXT_SCORE = re.compile(rf"(?=(?:{_NAMES}) ?:)")
_DECORATION = re.compile(
    r"^(?:[-*+•●■◆–・|\s]|__|#+ |\(?\d[.)]|[①-④])+|\*\*|__|</?(?:answer|evaluation|scores?|verdict)>|\|$"
)
# The value alone, or a comment behind it that has no digit: not `4/5`, not `4.5`, not `4 (8個)`, not `[1-5]`, not `4-`.
_SCORE = re.compile(
    rf"({_NAMES})(?: ?[:|=]\s*|\s[-–]\s|\s+)(?:([1-5])|[\[(「] ?([1-5]) ?[\])」])点?[.。,]?"
    r"((?:[ !-/:|。、―—–「]\W*[^\W\d]\D*)?)"
)
_LAYOUT = re.compile(
    r"[`~]{3,}\w*|[-| :]+"
    r"|\|? ?(?:評価)?(?:基準|項目|観点) ?\| ?(?:評価|採点|スコア|点数|得点) ?(?:\| ?(?:理由|コメント) ?)?\|?"
)
_TOTAL = re.compile(
    r"(?:合計|総計|総合|平均|total|average)(?:点|スコア)? ?[:|]? ?\d+(?:\.\d+)?点?(?: ?/ ?\d+点?)?",
    re.IGNORECASE,
)
# An opening or a closing consists of such words and of nothing else: no list of what is forbidden ever ends. The
# answer and the criteria are named only as what is scored: not `以下は回答です`, not `採点基準`.
_FRAME_WORD = re.compile(
    r"承知(?:いた)?しました|かしこまりました|ありがとうございました|はい|以下|以上|下記|次|通り|とおり|この|それでは|ように|全体|各"
    r"|(?:質問(?:への|に対する))?(?:回答(?:への|に対する|[のを])|(?:基準|項目|観点)(?:ごと)?の)"
    r"(?=(?:最終|総合)?(?:評価|採点|判定|スコア|点数|得点))"
    r"|最終回答|最終|総合|評価|採点|判定|結果|スコア|点数|得点|(?<=[価点定]を)行い|示し|伝え|なり|いたし|しました|します|ました|ます"
    r"|(?<=[価点果り上下])(?:でした|です)|(?<=[価点定])した|[おのはがをにでと]"
    r"|\bfinal answer\b|\b(?:of|for) (?:this|the) answer\b"
    r"|\b(?:here|is|are|my|the|as|follows|below|final|overall|evaluation|results?|scores?|ratings?)\b"
    r"|[\s。.,、:!#*\[\]()]+",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d|[一二三四五]点")
_COUNTED = re.compile(
    r"(?<!\d)\d{1,4} ?(?:個|つ(?!星)|件|案|種類|文|語|字|段落|分野|場面|例|回|人|行|[点番]目|段階)"
)
_QUOTED = re.compile(r"「[^「」]*」|『[^『』]*』")
_SENTENCE_END = re.compile(r"[。!?]|\.(?: |$)")
_CANNOT = re.compile(
    r"(?:でき(?:ません|ない)|られません|しかねます|(?:差し?)?控え(?:させていただき)?ます|(?:お断り|拒否)(?:し|いたし)ます|不(?:可?能)です)$"
)
_REFUSED_WORD = re.compile(
    r"この|その|上記|質問|回答|内容|依頼|要求|答え|応え|評価|採点|判定|判断|スコア|点数|付ける|行う|する|こと|いた|について|対して|対する"
    r"|なお|ただし|すみません|ごめんなさい|残念ながら|[ごおのはがをにもで、\s]"
)
_TAKES_BACK = re.compile(
    r"申し訳(?:ありません|ございません)|(?:やはり|いや|なお|すみません|失礼しました)?[、が]*"
    r"(?:(?:訂正|撤回|修正)(?:し|いたし|:|$)|間違えました)|(?:please )?(?:ignore|disregard|retract)\b"
    r"|(?:i(?:'m| am)? )?(?:sorry\b(?!-)|apolog(?:ies|i[sz]e))"
    r"|(?:unfortunately,? )?i (?:cannot|can't|won't|will not|am unable to|am not able to|refuse to|decline to)"
    r" (?:evaluate|score|rate|assess|judge|help|comply|answer|assist|provide)"
    r"(?: (?:this|the|that|it|an?|any|these|with|your|response|answer|content|request|question|scores?|ratings?))*$",
    re.IGNORECASE,
)
_THE_SCORES = re.compile(
    rf"評価|採点|スコア|点数|判定|上記|上の|前言|{_NAMES}|\b(?:scores|ratings)\b",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"(?:訂正|撤回|修正|無視|取り?消|取り?下げ|忘れ)[しいたて]{0,3}(?:ます|ました|ください)|誤り(?![がはもなの])"
    r"|間違(?:い(?![がはもなの])|えました)|正しくありません|無効(?:です|とし|にし)"
    r"|\b(?:are|were) (?:wrong|incorrect|invalid)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The four scores of a reply."""

    scores: Scores
    in_prose: bool  # whether anything but an opening and a closing stands beside them


def read_verdict(reply: str) -> Verdict | None:
    """The verdict of a reply, after any reasoning; None where it is unparseable.

    It has one line for each criterion, in the order asked for (ACL, table 20), with one value from 1 to 5, or all four
    on one line. They leave no doubt with full-width characters, a pair of brackets, 点, bold, a list mark, as rows of a
    table, in a code fence or `<answer>` tags, under an opening such as 評価結果は次の通りです, above 以上です or a
    total. With a comment on a value, or any other text, it is a verdict in prose. There is none if a criterion has a
    second number, or if a text beside the lines refuses or takes them back.

    >>> read_verdict("流暢性: 4\\n柔軟性: [3]\\n独創性：２\\n**精緻性**: 5").scores
    {'fluency': 4, 'flexibility': 3, 'originality': 2, 'elaboration': 5}
    >>> read_verdict("出力形式：\\n流暢性: 4\\n柔軟性: 3\\n独創性: 2\\n精緻性: 5").in_prose
    True
    >>> read_verdict("流暢性: 4\\n柔軟性: 3\\n独創性: 2-3\\n精緻性: 5") is None
    True
    """
    lines = [
        part
        for line in (final_text(reply) or "").translate(_PLAIN).splitlines()
        if not _LAYOUT.fullmatch(line.strip())
        for part in _parts(line.strip())
    ]
    matches = [_SCORE.fullmatch(line) for line in lines]
    values = [(match[1], int(match[2] or match[3])) for match in matches if match]
    beside = [line for line, match in zip(lines, matches, strict=True) if not match]
    if [name for name, _ in values] != list(JAPANESE.values()) or any(
        map(_takes_back, beside)
    ):
        return None
    in_prose = any(match[4] for match in matches if match) or not all(
        map(_is_frame, beside)
    )
    return Verdict(
        {
            criterion: value
            for criterion, (_, value) in zip(CRITERIA, values, strict=True)
        },
        in_prose,
    )


def read_strictly(reply: str) -> Scores | None:
    """The scores of a reply that says them and nothing else: those that means are made of."""
    verdict = read_verdict(reply)
    return verdict.scores if verdict and not verdict.in_prose else None


def read_in_prose(reply: str) -> Scores | None:
    """The scores of a verdict in prose."""
    verdict = read_verdict(reply)
    return verdict.scores if verdict and verdict.in_prose else None


def read_as_jcq_judge(reply: str) -> Scores | None:
    """The scores where nlp-waseda/JCQ-judge, the benchmark authors' own tool, finds them: the first place that fits.

    >>> read_as_jcq_judge("例: 流暢性: 4 柔軟性: 3 独創性: 2 精緻性: 5 です")
    {'fluency': 4, 'flexibility': 3, 'originality': 2, 'elaboration': 5}
    """
    match = _JCQ_JUDGE.search(reply)
    return dict(zip(CRITERIA, map(int, match.groups()), strict=True)) if match else None


def write_verdict(scores: Scores) -> str:
    """The scores as the prompt asks for them.

    >>> write_verdict({"fluency": 4, "flexibility": 3, "originality": 2, "elaboration": 5}).splitlines()[0]
    '流暢性: 4'
    """
    return "\n".join(
        f"{JAPANESE[criterion]}: {scores[criterion]}" for criterion in CRITERIA
    )


def _parts(line: str) -> list[str]:
    """A line without what only decorates it; of several scores on one line, each."""
    parts = _NEXT_SCORE.split(_DECORATION.sub("", line))
    return [part for part in (part.strip(" ,、/|;") for part in parts) if part]


def _is_frame(line: str) -> bool:
    """Whether a line only opens or closes a verdict."""
    return bool(_TOTAL.fullmatch(line)) or not _FRAME_WORD.sub("", line)


def _takes_back(line: str) -> bool:
    """Whether a line gives a criterion another value, takes the scores back, or refuses in a sentence of its own.

    `独創的とは評価できません` refuses nothing: a refusal has no word but those that name the task. What is quoted or
    counted (`流暢性については、10個の案があり`) is no correction.
    """
    if any(name in line for name in JAPANESE.values()) and _NUMBER.search(
        _COUNTED.sub("", line)
    ):
        return True
    return any(
        _is_against(part.strip()) for part in _SENTENCE_END.split(_QUOTED.sub("", line))
    )


def _is_against(sentence: str) -> bool:
    """Whether a sentence refuses to score, or says that the scores do not hold."""
    cannot, scores = _CANNOT.search(sentence), _THE_SCORES.search(sentence)
    if cannot and not _REFUSED_WORD.sub("", sentence[: cannot.start()]):
        return True
    return bool(
        _TAKES_BACK.match(sentence)
        or (scores and _WRONG.search(sentence, scores.end()))
    )
