"""The strict parser (DAT rules 1 and 2): what is a list of ten words, and why a text is not one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import list_text
from sozo.data.schema import Reason
from sozo.scoring.parse import script_reason, split_list

WORDS = tuple("犬猫水山川本車空海石")
LIST = list_text(WORDS)
MEGABYTE = 1_000_000


def parse_answer(text, *, reasoning=True):
    """Rules 1 and 2 together: ten words, or the reason of the first that fails."""
    words = split_list(text, reasoning)
    if words is None:
        return Reason.FORMAT
    return next((reason for word in words if (reason := script_reason(word))), words)


def with_word(word, position=5):
    words = list(WORDS)
    words[position - 1] = word
    return list_text(words)


@pytest.mark.parametrize(
    "text",
    [
        LIST,
        f"\n\n  {LIST}\t\n\u3000",  # outer white space of any kind
        LIST.replace(". ", ".\u3000"),  # the ideographic space
        LIST.replace("3. ", "3.\u3000"),  # or both kinds in one list
    ],
)
def test_lists(text):
    assert parse_answer(text) == WORDS


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " \n ",
            list_text(WORDS[:9]),
            list_text([*WORDS, "木"]),
            f"{LIST}\n{LIST}",
        ),
        # What ends a line; white space after a word or before a number; digits, dots and spaces of other kinds.
        *[
            LIST.replace("\n", end)
            for end in ("\r\n", "\r", "\u2028", "\x0b", "\n\n", " \n", "\n ", " ")
        ],
        *[LIST.replace("1. ", number) for number in ("１. ", "١. ")],
        *[
            LIST.replace("2. ", f"2{mark}")
            for mark in (" ", ".", ".  ", ".\t", ".\u00a0", ") ", "．", ".. ")
        ],
        *[LIST.replace("2. ", number) for number in ("02. ", "3. ", "- 2. ")],
        *[
            LIST.replace("2. 猫", f"2. {word}")
            for word in ("", "猫 (動物)", "家 猫", "猫\u3000動物")
        ],
        *(f"はい、どうぞ。\n{LIST}", f"{LIST}\n以上です。", f"```\n{LIST}\n```"),
        f"\x00{LIST}",
        "\n".join(reversed(LIST.splitlines())),
    ],
)
def test_not_lists(text):
    assert parse_answer(text) is Reason.FORMAT
    assert split_list(text) is None


# Among the symbols right-to-left marks and overrides, zero-width spaces, a private character and a lone surrogate. Of a
# word the first foreign character gives the reason.
JAPANESE = {
    None: "いぬ ゔ イヌ ヴァイオリン コーヒー 人々 𠮟 𠮷野家 ｲﾇ ﾊﾟﾝ 苹果 ゝ 豈 ー",
    Reason.NOT_JAPANESE: "dog 犬x ｄｏｇ Ｔシャツ 単語1 単語１ 1 사과 собака ① ⅳ é ﬁ ٣ 〇 が\u0302 か\u3099 犬a!",
    Reason.SYMBOL: "犬。 「犬」 犬・猫 犬! 犬(動物) 犬（動物） **犬** 犬😀 😀 ♪ 犬〜 - 犬-猫 + ｡ 犬!a "
    "犬\x00 犬\x07 犬\x1b[31m 犬\u200b 犬\u200f \u202e犬 犬\ufeff 犬\ue000 犬\ud800 犬\U0010ffff",
}
LATIN = {
    None: "dog Dog sea-horse",
    Reason.NOT_ENGLISH: "犬 dog1 ｄｏｇ naïve",
    Reason.SYMBOL: "-dog dog-",
}


@pytest.mark.parametrize("reason", JAPANESE, ids=str)
def test_what_a_word_is_written_in(reason):
    words = JAPANESE[reason].split(" ")
    assert {word: script_reason(word) for word in words} == dict.fromkeys(words, reason)
    for word in words:
        assert parse_answer(with_word(word)) == (
            reason or (*WORDS[:4], word, *WORDS[5:])
        )


@pytest.mark.parametrize("reason", LATIN, ids=str)
def test_what_an_english_word_is_written_in(reason):
    for word in LATIN[reason].split():
        assert script_reason(word, "en") is reason


@pytest.mark.parametrize(
    "text",
    [
        f"<think>犬か猫か</think>{LIST}",
        f" \n<think>\n1. 鳥\n2. 魚\n</think>\n\n{LIST}\n",
        f"<think><think></think>{LIST}",
        f"では<think>犬</think>{LIST}",
        f"</think>{LIST}",  # opened by the chat template
    ],
)
def test_reasoning_before_the_list_is_cut_off(text):
    assert parse_answer(text) == WORDS
    assert parse_answer(text, reasoning=False) is Reason.FORMAT


@pytest.mark.parametrize(
    "text",
    [
        f"<think>{LIST}",  # never closed
        f"{LIST}\n<think></think>",
        f"<think>犬</think>{LIST}\n</think>",
        f"<think >{LIST}",
        f"<think>{LIST}</think>",
        f"<think>犬</think>では\n{LIST}",
    ],
)
def test_other_reasoning_is_no_list(text):
    assert parse_answer(text) is Reason.FORMAT


@pytest.mark.parametrize(
    "text",
    [
        "犬" * MEGABYTE,
        "<think>" * (MEGABYTE // 7),
        "\ud800" * MEGABYTE,
        "1. 犬\n" * (MEGABYTE // 5),
        f"{LIST}{'犬' * MEGABYTE} 猫",
        LIST + "\n" * MEGABYTE + "犬",
    ],
    ids=range(6),
)
def test_long_and_broken_texts_are_only_no_lists(text):
    assert parse_answer(text) is Reason.FORMAT


def test_a_long_word_is_a_word():
    assert parse_answer(LIST + "犬" * MEGABYTE)[9] == "石" + "犬" * MEGABYTE
    assert parse_answer(LIST + "!" * MEGABYTE) is Reason.SYMBOL


japanese = st.text(
    st.sampled_from("犬猫人々あいっゔアイヴーｲﾇ𠮟苹"), min_size=1, max_size=12
)


@given(
    st.lists(japanese, min_size=10, max_size=10),
    st.lists(st.sampled_from(" \u3000"), min_size=10, max_size=10),
    st.text(" \n\t\r\u3000"),
)
def test_a_well_formed_list_parses_to_its_words(words, spaces, margin):
    lines = [
        f"{k}.{space}{word}"
        for k, (space, word) in enumerate(zip(spaces, words, strict=True), 1)
    ]
    assert parse_answer(margin + "\n".join(lines) + margin) == tuple(words)
