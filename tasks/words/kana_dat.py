"""One-kana DAT: ten nouns whose readings begin with a given kana, between a random and the greedy list of the kana."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property

import numpy as np

from sozo.data.jumandic import default_dictionary, make_tagger
from sozo.scoring.distance import farthest_list, mean_pairwise_distance
from sozo.scoring.measure import Measure
from sozo.scoring.parse import NUM_WORDS
from sozo.tasks.words.lists import Lists, ListTask, list_measures

_LEAST = 30  # nouns of a kana that is asked
_PLAIN = str.maketrans("ぁぃぅぇぉっゃゅょゎゔヴ", "あいうえおつやゆよわうう")


class KanaDat(ListTask):
    """0 is the mean distance of random nouns of the kana, 1 that of a greedy list; more than 1 is possible.

    >>> KanaDat().kept(["い"], [["犬", "石", "海", "イルカ"]]).tolist()
    [0.75]
    """

    name = "kana_dat"
    title = "One-kana DAT"
    rule = "kana"
    measures = list_measures(
        "kana_dat", Measure("kana_dat/distance", scale=(0, 2)), Measure("kana_dat/kana", share=True)
    )

    @cached_property
    def by_kana(self) -> Mapping[str, list[str]]:
        """Kana -> its nouns, of the kana with enough of them."""
        nouns = defaultdict(list)
        for noun in self.nouns:
            for kana in first_kana(noun):
                nouns[kana].append(noun)
        return {kana: own for kana, own in nouns.items() if len(own) >= _LEAST}

    def cues(self) -> Iterable[str]:
        return self.by_kana

    def text(self, cue: str, answer: str) -> str:
        return answer

    def kept(self, cues: Sequence[str], lists: Lists) -> np.ndarray:
        """Share of each list's words that begin with its kana: (lists,)."""
        begins = [[cue in first_kana(word) for word in words] for cue, words in zip(cues, lists, strict=True)]
        return np.array(begins).mean(axis=1)

    def values(self, cues: Sequence[str], lists: Lists) -> Mapping[str, np.ndarray]:
        rows = self.scorer.vectors.table(lists)
        distances = mean_pairwise_distance(self.scorer.vectors.matrix, rows)
        random, greedy = np.array([self.anchors(kana) for kana in cues]).T
        values = {"kana_dat": (distances - random) / (greedy - random), "kana_dat/distance": distances}
        return values | {"kana_dat/kana": self.kept(cues, lists)}

    @cache  # noqa: B019
    def anchors(self, kana: str) -> tuple[float, float]:
        """Mean distance of two random nouns of a kana, exactly, and of its greedy list."""
        vectors = self.scorer.vectors
        pool = vectors.table([self.by_kana[kana]])[0]
        lists = pool[None], farthest_list(vectors.matrix, pool, NUM_WORDS)[None]
        random, greedy = (float(mean_pairwise_distance(vectors.matrix, rows)[0]) for rows in lists)
        return random, greedy


@cache
def first_kana(word: str) -> frozenset[str]:
    """The kana with which a word's readings in JumanDIC begin; of a word that it lacks, those of the first morpheme.

    Readings of nouns come first; where an entry is none, any reading counts. Small kana are large ones, が is not か.

    >>> sorted(first_kana("今日")), sorted(first_kana("ジャム")), sorted(first_kana("ヴァイオリン"))
    (['き', 'こ'], ['じ'], ['う'])
    """
    dictionary = default_dictionary()
    entries = dictionary.lookup(word)
    if not entries and (nodes := _tagger()(word)):
        entries = dictionary.lookup(nodes[0].surface)
    nouns = [entry for entry in entries if entry.feature.startswith("名詞,")]
    readings = [entry.feature.split(",")[5] for entry in nouns or entries]
    return frozenset(reading.translate(_PLAIN)[0] for reading in readings)


_tagger = cache(make_tagger)
