"""One-kana DAT: ten nouns whose readings begin with a given kana, between a random and the greedy list of the kana."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, cached_property

import numpy as np

from sozo.data.jumandic import default_dictionary, make_tagger
from sozo.scoring.distance import farthest_list, mean_pairwise_distance
from sozo.scoring.embeddings import WordVectors
from sozo.scoring.measure import Measure
from sozo.scoring.parse import NUM_WORDS
from sozo.tasks.task import Answer, Item, Row
from sozo.tasks.words.lists import FinishedLists, ListTask, list_measures, split_of

LEAST = 30  # nouns of a kana that is asked
DISTANCE = "kana_dat/distance"
_PLAIN = str.maketrans("ぁぃぅぇぉっゃゅょゎゔ", "あいうえおつやゆよわう")


class FinishedKana(FinishedLists):
    """Its lists have no cue among their words."""

    size = NUM_WORDS


class KanaDat(ListTask):
    """0 is the mean distance of random nouns of the kana, 1 that of a greedy list; more than 1 is possible.

    >>> KanaDat().failed("い", ["犬", "石"]), KanaDat().failed("い", ["犬", "海"])
    (None, 'wrong_kana')
    """

    name = "kana_dat"
    title = "One-kana DAT"
    Finished = FinishedKana
    column = "kana"
    measures = list_measures("kana_dat", Measure(DISTANCE, scale=(0, 2)))

    @cached_property
    def by_kana(self) -> Mapping[str, list[str]]:
        """Kana -> its nouns, of the kana with enough of them."""
        nouns = defaultdict(list)
        for noun in self.nouns:
            for kana in sorted(first_kana(noun)):
                nouns[kana].append(noun)
        return {kana: nouns[kana] for kana in sorted(nouns) if len(nouns[kana]) >= LEAST}

    def cues(self) -> Sequence[str]:
        return [kana for kana in self.by_kana if split_of(kana) == self.settings.split]

    def text(self, cue: str, answer: str) -> str:
        return answer

    def failed(self, cue: str, words: Sequence[str]) -> str | None:
        return None if all(cue in first_kana(word) for word in words) else "wrong_kana"

    @cached_property
    def _anchors(self) -> dict[tuple[str, str], tuple[float, float]]:
        return {}

    def anchors(self, vectors: WordVectors, kana: str) -> tuple[float, float]:
        """Mean distance of two random nouns of a kana, exactly, and of its greedy list."""
        if (key := (vectors.encoder.name, kana)) not in self._anchors:
            pool = np.array([row for row in vectors.rows(self.by_kana[kana]) if row >= 0])
            lists = pool[None], farthest_list(vectors.matrix, pool, NUM_WORDS)[None]
            random, greedy = (float(mean_pairwise_distance(vectors.matrix, rows)[0]) for rows in lists)
            self._anchors[key] = random, greedy
        return self._anchors[key]

    def value(self, vectors: WordVectors, cues: Sequence[str], lists: Sequence[Sequence[str]]) -> np.ndarray:
        random, greedy = np.array([self.anchors(vectors, kana) for kana in cues]).T
        return np.asarray((self.distance(vectors, lists) - random) / (greedy - random))

    def distance(self, vectors: WordVectors, lists: Sequence[Sequence[str]]) -> np.ndarray:
        """Mean pairwise distance of lists of ten."""
        rows = np.array(vectors.rows([word for words in lists for word in words])).reshape(len(lists), -1)
        return mean_pairwise_distance(vectors.matrix, rows)

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        rows = super().score(items, answers)
        valid = [row for row in rows if row.reason is None]
        distances = self.distance(self.scorer.vectors, [row.facts["words"] for row in valid]) if valid else ()
        for row, distance in zip(valid, distances, strict=True):
            row.values[DISTANCE] = float(distance)  # type: ignore[index]
        return rows


@cache
def first_kana(word: str) -> frozenset[str]:
    """The kana with which a word's readings in JumanDIC begin: those of nouns, else of any entry, else of the first of
    the morphemes that MeCab cuts it into. Small kana count as large ones, が is not か.

    >>> sorted(first_kana("今日")), sorted(first_kana("ジャム")), sorted(first_kana("ヴァイオリン"))
    (['き', 'こ'], ['じ'], ['う'])
    """
    dictionary = default_dictionary()
    entries = dictionary.lookup(word)
    if not entries and (nodes := list(_tagger()(word))):
        entries = dictionary.lookup(nodes[0].surface)
    nouns = [entry for entry in entries if entry.feature.startswith("名詞,")]
    readings = [entry.feature.split(",")[5] for entry in nouns or entries]
    return frozenset(reading.translate(_PLAIN)[0] for reading in readings if reading.strip("*"))


_tagger = cache(make_tagger)
