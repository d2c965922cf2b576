"""The embedded model `tiny-words`: `tiny` for five word tasks, each with a prompt of its own, after one warm start.

What stands before a prompt's cue and behind it is one token each. The warm start teaches forms and words: DAT and cue
DAT by random nouns, one-kana DAT by random nouns of the kana, chains by random near steps, kanji by items of the train
split. An answer that is never a target is never given: so half of the kanji examples have only two cues, one of them
twice, and any answer. The embeddings of kanji start from the graph of the words that they make.
"""

import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.nouns import tiny_nouns
from sozo.data.prompts import fill, prompt
from sozo.models.tiny import _SETTINGS, _WORDS, EXAMPLES, TINY, begin, build_model, build_tokenizer, noun_vectors, save
from sozo.scoring.distance import nearest
from sozo.scoring.parse import NUM_WORDS, write_list
from sozo.tasks.words.chain import NEAREST, Chain, ChainSettings
from sozo.tasks.words.items import TRAIN, split_of
from sozo.tasks.words.kana_dat import KanaDat
from sozo.tasks.words.kanji import Kanji, KanjiSettings, read_partners
from sozo.tasks.words.lists import WordSettings

# Three kanji between two line ends are three tokens, and nouns of three kanji stay whole.
_KANJI_CUES = "|".join(rf"(?<=^\n{'.' * k})\p{{Han}}(?=\p{{Han}}{{{2 - k}}}\n$)" for k in range(3))
_SECOND = "2. "  # how a list begins whose first word is the cue


def prompt_parts() -> list[str]:
    """What is one token: all before a prompt's cue, and all behind it."""
    parts = []
    for task in EXAMPLES:
        before, _, behind = prompt(task).partition("{cue}")  # type: ignore[arg-type]
        if task == "kanji":
            before, behind = before.removesuffix("\n"), behind.removeprefix("\n")
        parts += [part for part in (before, behind) if behind]
    return list(dict.fromkeys(parts))


def words_tokenizer() -> Any:
    """Of prompts in their parts, list numbers, kana, kanji and the nouns."""
    nouns, (key, _) = tiny_nouns(), read_partners(None)
    kana = KanaDat(WordSettings(cue_nouns=TINY)).by_kana
    cues = dict.fromkeys(["\n", _SECOND, *kana, *sorted(key)])
    return build_tokenizer(nouns, prompt_parts(), [cue for cue in cues if cue not in set(nouns)], _KANJI_CUES)


def kanji_vectors(hidden: int) -> dict[str, np.ndarray]:
    """Of each kanji that makes a word a vector, shape (hidden,), of length `embedding_norm` on average.

    The principal components of which kanji makes a word with which; of a kanji with many words each counts less.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import eigsh

    key, _ = read_partners(None)
    place = {kanji: k for k, kanji in enumerate(sorted(key))}
    pairs = np.array([(place[kanji], place[other]) for kanji in place for other in sorted(key[kanji])])
    weight = np.bincount(pairs[:, 0]) ** -0.25
    graph = csr_array((weight[pairs].prod(axis=1), pairs.T), shape=(len(place), len(place)))
    strength, components = eigsh(graph, hidden, v0=np.ones(len(place)))
    vectors = components * np.sqrt(np.abs(strength))
    vectors *= _SETTINGS["embedding_norm"] / np.linalg.norm(vectors, axis=1).mean()
    return dict(zip(place, vectors, strict=True))


def near_nouns(chain: Chain) -> Mapping[str, list[str]]:
    """Noun -> those to which a chain may go on from it."""
    nouns, vectors = chain.nouns, chain.scorer.vectors
    places = nearest(vectors.matrix, vectors.table([nouns])[0], NEAREST)
    steps = [(noun, nouns[place]) for noun, row in zip(nouns, places, strict=True) for place in row]
    near: dict[str, list[str]] = {noun: [] for noun in nouns}
    for (noun, other), passes in zip(steps, chain.near(steps)[:, 0], strict=True):
        near[noun] += [other] * bool(passes)
    return near


def examples(draw: random.Random) -> Iterator[tuple[str, str]]:
    """Prompts and answers of all tasks, task by task."""
    nouns, settings = tiny_nouns(), WordSettings(cue_nouns=TINY)
    cues = [noun for noun in nouns if split_of(noun) == TRAIN]
    for _ in range(EXAMPLES["dat"]):
        yield prompt("dat"), write_list(draw.sample(nouns, NUM_WORDS))
    for _ in range(EXAMPLES["cue_dat"]):
        cue = draw.choice(cues)
        yield fill(prompt("cue_dat"), cue=cue), _behind(cue, draw.sample(nouns, NUM_WORDS))
    by_kana = KanaDat(settings).by_kana
    for _ in range(EXAMPLES["kana_dat"]):
        kana = draw.choice(list(by_kana))
        yield fill(prompt("kana_dat"), cue=kana), write_list(draw.sample(by_kana[kana], NUM_WORDS))
    near, written = near_nouns(Chain(ChainSettings(cue_nouns=TINY))), 0
    while written < EXAMPLES["chain"]:
        words = [draw.choice(cues)]
        while len(words) < NUM_WORDS and (others := [word for word in near[words[-1]] if word not in words]):
            words.append(draw.choice(others))
        if len(words) == NUM_WORDS:
            written += 1
            yield fill(prompt("chain"), cue=words[0]), _behind(words[0], [*words[1:], words[0]])
    yield from _kanji(draw)


def _behind(cue: str, words: list[str]) -> str:
    """A list of nine without the cue, as an answer: it goes on behind a first line that the prompt gives."""
    return write_list([cue, *[word for word in words if word != cue][: NUM_WORDS - 1]]).partition("\n")[2]


def _kanji(draw: random.Random) -> Iterator[tuple[str, str]]:
    count = EXAMPLES["kanji"] // 2
    items = Kanji(KanjiSettings(split=TRAIN, num_items=count, item_seed=1)).items()
    for item in items:
        yield item.prompt, draw.choice(item.columns["solutions"])
    key, _ = read_partners(None)
    answers = [kanji for kanji in sorted(key) if len(key[kanji]) > 1]
    for _ in range(count):
        answer = draw.choice(answers)
        first, second = draw.sample(sorted(key[answer]), 2)
        cues = "".join(draw.sample([first, second, second], 3))
        yield fill(prompt("kanji"), cue=cues), answer


def main(folder: Path, seed: int) -> None:
    """Build the model and save it in `folder`."""
    import torch

    begin(seed)
    nouns, tokenizer = tiny_nouns(), words_tokenizer()
    model = build_model(len(tokenizer), noun_vectors(nouns))
    embeddings, known = model.get_input_embeddings().weight.data, set(nouns)
    for kanji, vector in kanji_vectors(_SETTINGS["hidden"]).items():
        row, partners = tokenizer.convert_tokens_to_ids(kanji), torch.tensor(vector, dtype=torch.float32)
        embeddings[row] = partners + embeddings[row] * (kanji in known)  # which is a noun's meaning
    made = list(examples(random.Random(seed)))
    save(folder, seed, model, tokenizer, made, _WORDS["words_batch"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
