"""The checkers jumandic-speakers and jumanpp-speakers: what people call nouns, beyond the models' rule."""

from dataclasses import replace

from sozo.data.sudachi import has_entry
from sozo.scoring.nouns.rules import Analysis, Morpheme, MorphemeChecker


class SpeakersChecker(MorphemeChecker):
    """A word counts by the models' rule, or because speakers use it as a noun.

    These are stems of 形容動詞 (自由, 幸せ), what a suffix makes a noun of (優しさ, 食べ方), nouns with an affix (お茶,
    子供たち), and words in katakana that Sudachi's newer dictionary has (インスタ).

    >>> from sozo.scoring.nouns import make_noun_checker
    >>> checker = make_noun_checker("jumandic-speakers")
    >>> [verdict.is_noun for verdict in checker.check(["自由", "優しさ", "お茶", "自由な", "優しい"])]
    [True, True, True, False, False]
    """

    def __init__(self, paper: MorphemeChecker) -> None:
        super().__init__(replace(paper.rules, accept_affixes=True))
        self.name, self._paper = f"{paper.name}-speakers", paper

    def analyse(self, word: str) -> Analysis:
        analysis = self._paper.analyse(word)
        return [
            [_heard(m, word, k < len(analysis)) for m in own]
            for k, own in enumerate(analysis, 1)
        ]


def _heard(morpheme: Morpheme, word: str, followed: bool) -> Morpheme:
    """The morpheme as speakers take it. Only a stem of イ形容詞 needs something behind it (優し-さ)."""
    pos, sub, info, form = morpheme
    stem = (
        pos == "形容詞"
        and form.endswith(" 語幹")
        and (followed or not form.startswith("イ"))
    )
    if stem or ((pos, sub) == ("未定義語", "カタカナ") and has_entry(word)):
        return Morpheme("名詞", "普通名詞", info)
    return (
        morpheme._replace(sub="名詞性名詞接尾辞")
        if sub == "名詞性述語接尾辞"
        else morpheme
    )
