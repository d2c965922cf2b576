"""The DAT for people as one HTML file: it opens without a network, and its answers are CSV that `sozo people` reads."""

import json
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import sozo
from sozo.data.cache import kept
from sozo.data.english import newer_noun_lemmas, noun_lemmas
from sozo.data.jumandic import categories, default_dictionary, load_nouns, nouns_of
from sozo.data.progress import answers_bar
from sozo.data.record import provenance, write_whole
from sozo.eval.terminal import print_lines
from sozo.scoring.embeddings.ginza import GinzaEncoder, read_package
from sozo.scoring.embeddings.minilm import MiniLmEncoder
from sozo.scoring.nouns import NounVerdict
from sozo.scoring.parse import SCRIPTS, script_reason
from sozo.suite.people.lists import NOTHING
from sozo.suite.people.messages import told_in
from sozo.suite.people.page import check_page, consent_text, render_page, texts_of
from sozo.tasks import Dat
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.dat.words import COUNTED

# Bits above the row of a word's vector: a noun; several nouns; a name; the number is one of `Packed.parts`.
_NOUN, _AMBIGUOUS, _PROPER, _PARTS = 1 << 20, 1 << 21, 1 << 22, 1 << 23
_CONTINUED = str.maketrans("うくぐすつぬぶむる", "いきぎしちにびみり")  # 走る, 走り
_CHUNK = 2_000  # words between two steps of the bar
_MOST_ENGLISH = 24_000  # vectors, with which the page stays below 12 MB


@dataclass(frozen=True, slots=True)
class Packed:
    """What a page knows of words: which are nouns, and the vectors of theirs, from which it scores."""

    words: Sequence[str]
    rows: np.ndarray  # uint32, of each word: its vector's row from 1, 0 for none; bits
    # Int32: how far before it the first word that counts as the same is
    same: np.ndarray
    # Rows whose mean is the vector of a word cut into parts
    parts: Sequence[Sequence[int]]
    vectors: np.ndarray  # float32, shape (rows, dimensions)


def form(
    output: Annotated[Path, typer.Option(help="The page to write, such as dat.html.")],
    language: Annotated[
        str, typer.Option(help="ja or en: the page and the words.")
    ] = "ja",
    hide_score: Annotated[
        bool, typer.Option("--hide-score", help="Thanks at the end, and no score.")
    ] = False,
    hide_notes: Annotated[
        bool,
        typer.Option(
            "--hide-notes", help="Do not say below a field whether its word counts."
        ),
    ] = False,
    seconds: Annotated[
        int | None, typer.Option(min=1, help="A limit of time, which the page shows.")
    ] = None,
    reject_proper_nouns: Annotated[
        bool,
        typer.Option(
            "--reject-proper-nouns",
            help="Names of people, places and organisations do not count.",
        ),
    ] = False,
    consent: Annotated[
        Path | None, typer.Option(help="A text to agree to before the test begins.")
    ] = None,
) -> None:
    """The DAT for people: one HTML file that needs no network.

    It opens on a phone or a laboratory computer, checks nouns, and gives a CSV file that `sozo people` reads.
    """
    with told_in("ja" if language == "ja" else "en", "") as said:
        check_page(output)
        agreed = consent_text(consent)
        rules = DatSettings(language=language, reject_proper_nouns=reject_proper_nouns)
        scorer = Dat(rules).for_people().scorer
        parts = packed_parts(scorer)
        settings = {
            "seconds": seconds,
            "minimum": COUNTED,
            "show_score": not hide_score,
            "show_notes": not hide_notes,
            "reject_proper_nouns": reject_proper_nouns,
        }
        page = form_page(parts, scorer, settings, agreed)
        write_whole(output, page)
        size = f"{len(page) / 1e6:.1f}"
        made = f"{output}: {size} MB, {parts['nouns']} nouns; open it in a browser"
        print_lines([said(made)])


def packed_parts(scorer: DatScorer) -> dict[str, str]:
    """What is packed of the words of the scorer's language, by its name on the page, and how many "nouns" they are.

    It takes minutes, and is computed again only where words, rules, versions of packages or sozo are others.
    """
    language = scorer.rules.language
    words = vocabulary(language)
    by = scorer.describe(), provenance()["packages"], sozo.__version__
    sources = json.dumps([*by, words]).encode()
    return kept(f"form-{language}", sources, lambda: _squeezed(pack(scorer, words)))


def _squeezed(packed: Packed) -> dict[str, str]:
    vectors = packed.vectors
    scales = (np.abs(vectors).max(axis=1, keepdims=True) / 127).astype("<f4")
    parts = {
        "words": "\n".join(packed.words).encode(),
        "rows": packed.rows.astype("<u4").tobytes(),
        "same": packed.same.astype("<i4").tobytes(),
        "parts": json.dumps(packed.parts).encode(),
        "scales": scales.tobytes(),
        "numbers": np.rint(vectors / scales).astype(np.int8).tobytes(),
        "none": b"",
    }
    squeezed = {
        name: b64encode(zlib.compress(part, 9)).decode() for name, part in parts.items()
    }
    return {**squeezed, "nouns": f"{np.count_nonzero(packed.rows & _NOUN):,}"}


def vocabulary(language: str) -> list[str]:
    """The words of which a page says whether they are nouns, in order.

    In Japanese those of ja-ginza, and of JumanDIC with common affixes; in English what people's checker knows.
    """
    if language == "ja":
        return sorted({*read_package()[0], *_of_jumandic()})
    return sorted({*noun_lemmas(), *newer_noun_lemmas()})


def _of_jumandic() -> set[str]:
    """JumanDIC's nouns, also in kana, and what may be one: お茶, 優しさ, 走り, 食べ方, 子供たち."""
    nouns, adjectives, verbs = set(load_nouns()), set(), set()
    for feature in default_dictionary().features():
        pos, _, _, _, lemma, reading, info = feature.split(",", 6)
        if pos == "名詞" and "自動獲得" not in info:
            nouns |= {lemma, reading}
        elif pos == "形容詞":
            adjectives.add(lemma[:-1])
        elif pos == "動詞":
            verbs |= {lemma[:-1], lemma[:-1] + lemma[-1:].translate(_CONTINUED)}
    return {
        *nouns,
        *verbs,
        *(f"{prefix}{noun}" for prefix in "おご" for noun in nouns if len(noun) <= 3),
        *(f"{noun}たち" for noun in nouns if "人" in categories(noun)),
        *(f"{stem}さ" for stem in adjectives),
        *(f"{stem}方" for stem in verbs),
    }


def pack(scorer: DatScorer, words: Sequence[str]) -> Packed:
    """What a page must know of the `words` to check and score them as the `scorer` does."""
    language, verdicts = scorer.rules.language, list[NounVerdict]()
    with answers_bar("words", len(words)) as advance:
        for k in range(0, len(words), _CHUNK):
            verdicts += scorer.checker.check(words[k : k + _CHUNK])
            advance(len(words[k : k + _CHUNK]), None)
    nouns = np.array(
        [
            verdict.is_noun
            and not NOTHING.fullmatch(word)
            and not script_reason(word, language)
            for word, verdict in zip(words, verdicts, strict=True)
        ]
    )
    rows = np.zeros(len(words), np.uint32)
    parts: list[list[int]] = []
    if language == "ja":
        row_of_word, _, vectors = read_package()
        vectors = vectors[1:]  # without that of words that have none
        forms = GinzaEncoder().forms
        for k in np.flatnonzero(nouns).tolist():
            found = [row_of_word[form] for form in forms(words[k])]
            if len(found) > 1:
                rows[k] = _PARTS + len(parts)
                parts.append(found)
            elif found:
                (rows[k],) = found
            elif len(nouns_of(words[k])) > 1:
                rows[k] = _AMBIGUOUS
        known = nouns | [word in row_of_word for word in words]
    else:
        chosen = _commonest(words, nouns)
        rows[chosen] = np.arange(1, len(chosen) + 1)
        vectors = scorer.vectors.unit([words[k] for k in chosen])
        known = nouns | (rows > 0)
    proper = np.array([verdict.proper for verdict in verdicts], bool)
    rows[nouns] |= _NOUN
    rows[proper] |= _PROPER
    kept = np.flatnonzero(known | proper).tolist()  # any other word is judged later
    first: dict[str, int] = {}
    same = []
    for place, k in enumerate(kept):
        identity = scorer.rules.identity(words[k], verdicts[k])
        # A word without a vector takes no other spelling's place.
        scored = rows[k] % _NOUN > 0 or rows[k] & _PARTS
        same.append(place - first.setdefault(identity if scored else words[k], place))
    own = [words[k] for k in kept]
    return Packed(own, rows[kept], np.array(same, np.int32), parts, vectors)


def _commonest(words: Sequence[str], nouns: np.ndarray) -> np.ndarray:
    """Which English nouns have vectors on the page: those of the fewest pieces, SCOWL's singulars before others."""
    pieces, lemmas = MiniLmEncoder().pieces(words), newer_noun_lemmas()
    rare = [
        (not noun, number, lemmas.get(word) != word, len(word))
        for word, number, noun in zip(words, pieces, nouns, strict=True)
    ]
    order = sorted(range(len(words)), key=rare.__getitem__)
    return np.sort(order[: min(_MOST_ENGLISH, int(nouns.sum()))])


def form_page(
    parts: Mapping[str, str],
    scorer: DatScorer,
    settings: Mapping[str, object],
    consent: str,
) -> bytes:
    """The page of `packed_parts` as UTF-8; without its score it needs no vectors."""
    language, encoder = scorer.rules.language, scorer.vectors.encoder
    own = Path(__file__).with_name("form.html")
    texts = texts_of(own, language)
    rules = texts.pop("rules")
    values = {
        "name": "dat",
        "language": language,
        "script": SCRIPTS[language][0].pattern,
        "scale": f"{encoder.name} {encoder.revision}, {scorer.checker.name}, sozo {sozo.__version__}",
        "texts": texts,
        **settings,
    }
    if not settings["show_score"]:
        parts = {**parts, "scales": parts["none"], "numbers": parts["none"]}
    return render_page(
        own,
        values,
        consent,
        rules="".join(f"<li>{escape(rule)}</li>" for rule in rules),
        **parts,
    )
