"""English vectors out of a file, of invented lines: which words have one, and what is refused."""

import gzip

import numpy as np
import pytest

from sozo.data.errors import UserError
from sozo.scoring.embeddings import make_encoder

VECTORS = """\
dog 2 0 0
lantern 0 3 0
qwxz 0 x 0
of 0 0 1
river 1 1 0
"""


@pytest.fixture
def vectors(tmp_path):
    def write(text, pack=bytes):
        path = tmp_path / ("vectors.txt.gz" if pack is gzip.compress else "vectors.txt")
        path.write_bytes(pack(text.encode()))
        return make_encoder(f"glove:{path}")

    return write


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_nouns_have_unit_vectors_and_other_words_none(vectors, pack):
    encoder, half = vectors(VECTORS, pack), 0.5**0.5
    found = encoder.encode(["dog", "river", "of", "qwxz", "犬"]).round(6).tolist()
    assert found == [
        [1, 0, 0],
        [pytest.approx(half), pytest.approx(half), 0],
        [0] * 3,
        [0] * 3,
        [0] * 3,
    ]
    assert encoder.encode([]).shape == (0, 3)


def test_a_header_is_no_vector_and_the_revision_is_what_was_read(vectors):
    plain = vectors(VECTORS)
    with_header = vectors("6 3\n" + VECTORS)
    assert (
        plain.revision
        == with_header.revision
        != vectors(VECTORS.replace("river", "lake")).revision
    )
    np.testing.assert_array_equal(
        plain.encode(["lantern"]), with_header.encode(["lantern"])
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no vector of a word"),
        ("no vectors here\n", "cannot be read as word vectors"),
        ("dog 1 0\nriver 1\n", "cannot be read as word vectors"),
    ],
)
def test_files_that_are_no_such_thing(vectors, text, says):
    with pytest.raises(UserError, match=says):
        vectors(text)


def test_names_that_say_too_little(tmp_path):
    for name, says in (
        ("glove:", "give glove:VECTORS"),
        (f"glove:{tmp_path / 'x'}", "x: cannot be read .*No such file"),
    ):
        with pytest.raises(UserError, match=says):
            make_encoder(name)
    with pytest.raises(UserError, match="is for words"):
        make_encoder("glove:x", texts=True)
