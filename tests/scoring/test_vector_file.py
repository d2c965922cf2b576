"""Word vectors out of a file, of invented lines: which words have one, and what is refused."""

from dataclasses import replace

import pytest

from fakes import FakeNouns
from sentences import refused
from sozo.scoring.embeddings import make_encoder
from sozo.tasks.dat.scorer import DatScorer
from sozo.tasks.dat.words import DatRules

VECTORS = """\
dog 2 0 0
lantern 0 3 0
qwxz 0 x 0
of 0 0 1
river 1 1 0
"""


@pytest.fixture
def vectors(tmp_path):
    def write(text):
        path = tmp_path / "vectors.txt"
        path.write_text(text, "utf-8")
        return make_encoder(f"vectors:{path}")

    return write


def test_words_of_the_file_have_their_vectors_and_others_none(vectors):
    encoder = vectors(VECTORS.replace("qwxz 0 x 0\n", ""))
    asked = ["river", "dog", "contact", "犬", "dog"]
    expected = [[1, 1, 0], [2, 0, 0], [0] * 3, [0] * 3, [2, 0, 0]]
    assert encoder.encode(asked).tolist() == expected
    assert encoder.encode(["of", *asked]).tolist() == [[0, 0, 1], *expected]
    assert encoder.encode([]).shape == (0, 3)


def test_japanese_words_and_lines_as_word2vec_and_fasttext_have_them(vectors):
    text = "3 2\n犬 1 0 \nヴァイオリン 0 1 \n二 語 1 1 \n犬 0.5 0.5 \n"
    encoder = vectors(text)
    found = encoder.encode(["犬", "ヴァイオリン", "二", "3"]).tolist()
    assert found == [[0.5, 0.5], [0, 1], [0, 0], [0, 0]]


def test_the_revision_is_what_the_file_holds(vectors):
    plain = vectors(VECTORS)
    assert plain.revision.startswith("3d-")
    assert plain.revision == vectors(VECTORS).revision
    assert plain.revision != vectors(VECTORS.replace("river", "lake")).revision


def test_a_japanese_word_is_looked_up_by_its_forms_and_an_english_one_by_its_lemma(
    vectors,
):
    encoder = vectors("犬 1 0 0\n猫 0 1 0\nイヌ 0 1 1\n小屋 0 0 1\ndog 1 1 0\n")
    found = encoder.encode(["犬", "ネコ", "イヌ", "かみ", "犬小屋", "猫小屋", "dogs"])
    assert found.tolist() == [
        *([1, 0, 0], [0, 1, 0], [0, 1, 1]),
        *([0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]),
    ]
    checker = FakeNouns(["dogs"], representatives={"dogs": "dog"})
    english = DatRules(language="en")
    for rules, row in ((english, 4), (replace(english, olson=True), -1)):
        scorer = DatScorer(checker, encoder, rules)
        (number,) = scorer.words.look_up(["dogs"])
        assert (scorer.words.rows[number] >= 0) == (row >= 0)


@pytest.mark.parametrize(
    ("text", "row"),
    [("", "no line"), ("no vectors here\n", "prose"), ("dog 1\nriver 1\n", "no line")],
)
def test_files_that_are_no_such_thing(vectors, text, row):
    with refused(f"vectors: {row}"):
        vectors(text)


def test_a_line_without_numbers_is_told_when_its_word_is_asked_for(vectors):
    with refused("vectors: a line without numbers"):
        vectors(VECTORS).encode(["qwxz"])


def test_archives_and_binary_files_are_refused_with_the_way(tmp_path):
    for path, row in (
        (tmp_path / "chive.tar.gz", "packed"),
        (tmp_path / "x", "no file"),
        (tmp_path / "entity_vector.model.bin", "binary"),
    ):
        with refused(f"vectors: {row}"):
            make_encoder(f"vectors:{path}")


def test_names_that_say_too_little():
    with refused("vectors: no name"):
        make_encoder("vectors:")
    with refused("vectors: of words"):
        make_encoder("vectors:x", texts=True)
