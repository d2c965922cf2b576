"""The embedded model `tiny-words`: `tiny` for five word tasks, each with a prompt of its own, after one warm start.

What stands before a prompt's cue and behind it is one token each. The warm start teaches forms and words: DAT and cue
DAT by random nouns, one-kana DAT by random nouns of the kana, chains by random near steps, kanji by items of the train
split. An answer that is never a target is never given: so half of the kanji examples have only two cues, one of them
twice, and any answer. The embeddings of kanji start from the graph of the words that they make.
"""

import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.nouns import tiny_nouns
from sozo.data.prompts import fill, prompt
from sozo.models.processes import keep_freed_memory, quiet_libraries
from sozo.models.tiny import _SETTINGS, PHASES, TINY, WORDS, build_model, build_tokenizer, noun_vectors, principal, save
from sozo.scoring.distance import nearest
from sozo.scoring.parse import NUM_WORDS, write_list
from sozo.tasks.words.chain import Chain, ChainSettings
from sozo.tasks.words.items import TRAIN, split_of
from sozo.tasks.words.kana_dat import KanaDat
from sozo.tasks.words.kanji import Kanji, KanjiSettings, read_partners
from sozo.tasks.words.lists import WordSettings

# Three kanji between two line ends are three tokens, and nouns of three kanji stay whole.
_KANJI_CUES = "".join(rf"|(?<=^\n{'.' * k})\p{{Han}}(?=\p{{Han}}{{{2 - k}}}\n$)" for k in range(3))
_SECOND = "2. "  # how a list begins whose first word is the cue


def prompt_parts() -> list[str]:
    """What is one token: all before a prompt's cue, and all behind it."""
    parts = []
    for task in PHASES[-1][1]:
        before, _, behind = prompt(task).partition("{cue}")  # type: ignore[arg-type]
        if task == "kanji":
            before, behind = before.removesuffix("\n"), behind.removeprefix("\n")
        parts += [part for part in (before, behind) if behind]
    return list(dict.fromkeys(parts))


def words_tokenizer() -> Any:
    """Of prompts in their parts, list numbers, kana, kanji and the nouns."""
    nouns, (key, _) = tiny_nouns(), read_partners(None)
    cues = dict.fromkeys(["\n", _SECOND, *sorted(KanaDat(WordSettings(cue_nouns=TINY)).by_kana), *sorted(key)])
    for noun in nouns:
        cues.pop(noun, None)  # it has a token
    return build_tokenizer(nouns, prompt_parts(), list(cues), _KANJI_CUES)


def kanji_vectors(hidden: int) -> dict[str, np.ndarray]:
    """Of each kanji that makes a word a vector, shape (hidden,), of length `norm` on average.

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
    vectors *= WORDS["norm"] / np.linalg.norm(vectors, axis=1).mean()
    return dict(zip(place, vectors, strict=True))


def near_nouns(chain: Chain) -> Mapping[str, list[str]]:
    """Noun -> those to which a chain may go on from it: of its nearest the ones that both encoders find near."""
    nouns, vectors = chain.nouns, chain.scorer.vectors
    near: dict[str, list[str]] = {noun: [] for noun in nouns}
    places = nearest(vectors.matrix, vectors.table([nouns])[0], WORDS["nearest"])
    steps = [(noun, nouns[place]) for noun, row in zip(nouns, places, strict=True) for place in row]
    for (noun, other), confirmed in zip(steps, chain.near(steps)[:, 0], strict=True):
        if confirmed:
            near[noun].append(other)
    return near


def examples(draw: random.Random, counts: Mapping[str, int]) -> dict[str, list[tuple[str, str]]]:
    """Task -> so many prompts and answers."""
    nouns, settings = tiny_nouns(), WordSettings(cue_nouns=TINY)
    cues = [noun for noun in nouns if split_of(noun) == TRAIN]
    by_kana, near = KanaDat(settings).by_kana, near_nouns(Chain(ChainSettings(cue_nouns=TINY)))
    kana = sorted(by_kana)

    def dat() -> tuple[str, str]:
        return prompt("dat"), write_list(draw.sample(nouns, NUM_WORDS))

    def cue_dat() -> tuple[str, str]:
        cue, words = draw.choice(cues), draw.sample(nouns, NUM_WORDS)
        return _asked("cue_dat", cue), _behind([cue, *(word for word in words if word != cue)])

    def kana_dat() -> tuple[str, str]:
        asked = draw.choice(kana)
        return _asked("kana_dat", asked), write_list(draw.sample(by_kana[asked], NUM_WORDS))

    def chain() -> tuple[str, str]:
        while True:
            words = [draw.choice(cues)]
            while len(words) < NUM_WORDS and (others := [word for word in near[words[-1]] if word not in words]):
                words.append(draw.choice(others))
            if len(words) == NUM_WORDS:
                return _asked("chain", words[0]), _behind(words)

    makers = {"dat": dat, "cue_dat": cue_dat, "kana_dat": kana_dat, "chain": chain}
    made = {task: [make() for _ in range(counts[task])] for task, make in makers.items() if task in counts}
    return made | {"kanji": kanji_examples(draw, counts["kanji"])}


def _asked(task: Any, cue: str) -> str:
    return fill(prompt(task), cue=cue)


def _behind(words: list[str]) -> str:
    """A list without its first line, the cue: as the answer to it goes on."""
    return write_list(words[:NUM_WORDS]).partition("\n")[2]


def kanji_examples(draw: random.Random, count: int) -> list[tuple[str, str]]:
    """Half of them items of the train split, half of two cues with any answer."""
    count //= 2
    items = Kanji(KanjiSettings(split=TRAIN, num_items=count, item_seed=1)).items()
    made = [(item.prompt, draw.choice(item.columns["solutions"])) for item in draw.choices(items, k=count)]
    key, _ = read_partners(None)
    answers = [kanji for kanji in sorted(key) if len(key[kanji]) > 1]
    for answer in draw.choices(answers, k=count):
        first, second = draw.sample(sorted(key[answer]), 2)
        made.append((_asked("kanji", "".join(draw.sample([first, second, second], 3))), answer))
    return draw.sample(made, len(made))


def warm_up(
    model: Any, tokenizer: Any, told: Mapping[str, list[tuple[str, str]]], batch: Mapping[str, int], steps: int
) -> None:
    """Teach the model its answers: in each step a `batch` of every task, whose losses are added.

    All answers to a task have as many tokens, so that nothing is padded, and logits are of answers alone.
    """
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import get_cosine_schedule_with_warmup

    answered = {}
    for task, rows in told.items():
        texts = [question + text + tokenizer.eos_token for question, text in rows]
        answered[task] = tokenizer(texts, return_tensors="pt").input_ids, len(tokenizer(rows[0][0]).input_ids)
    optimizer = torch.optim.AdamW(model.parameters(), lr=_SETTINGS["learning_rate"], weight_decay=0.0)
    schedule = get_cosine_schedule_with_warmup(optimizer, 20, steps)
    for step in range(steps):
        for task, (ids, first) in answered.items():
            rows = ids[step * batch[task] : (step + 1) * batch[task]]
            logits = model.lm_head(model.model(rows[:, :-1]).last_hidden_state[:, first - 1 :])
            cross_entropy(logits.flatten(0, 1), rows[:, first:].flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def first_embeddings(tokenizer: Any, random: np.random.Generator) -> dict[int, np.ndarray]:
    """Token -> its first embedding, of nouns (meaning and first kana), kana and kanji: float32, shape (hidden,)."""
    hidden, meaning, norm = _SETTINGS["hidden"], WORDS["meaning"], WORDS["norm"]
    nouns = tiny_nouns()
    parts = principal(noun_vectors(nouns), meaning)
    words = np.zeros((len(nouns), hidden))
    words[:, :meaning] = parts * norm / np.linalg.norm(parts, axis=1, keepdims=True)
    embeddings = dict(zip(nouns, words, strict=True))
    for kana, own in sorted(KanaDat(WordSettings(cue_nouns=TINY)).by_kana.items()):
        code = random.standard_normal(hidden - meaning)
        code *= WORDS["kana"] / np.linalg.norm(code)
        for word in (kana, *own):
            embeddings.setdefault(word, np.zeros(hidden))[meaning:] += code
    for kanji, partners in kanji_vectors(hidden).items():
        embeddings[kanji] = embeddings.get(kanji, 0) + partners
    return {tokenizer.convert_tokens_to_ids(token): vector for token, vector in embeddings.items()}


def main(folder: Path, seed: int) -> None:
    """Build and warm-start the model and save it in `folder`."""
    import torch
    from transformers import set_seed

    quiet_libraries(use_cpu=True)
    keep_freed_memory()
    set_seed(seed)
    tokenizer, draw = words_tokenizer(), random.Random(seed)
    model = build_model(len(tokenizer), noun_vectors(tiny_nouns()))
    for token, vector in first_embeddings(tokenizer, np.random.default_rng(seed)).items():
        model.get_input_embeddings().weight.data[token] = torch.tensor(vector, dtype=torch.float32)
    for steps, batch in PHASES:
        told = examples(draw, {task: count * steps for task, count in batch.items()})
        warm_up(model, tokenizer, told, batch, steps)
    save(folder, model, tokenizer)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
