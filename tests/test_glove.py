"""English vectors through a dictionary, of invented lines: which entry, sense and words count, and what is refused."""

import gzip

import numpy as np
import pytest

from sozo.data.errors import UserError
from sozo.scoring.embeddings import make_encoder
from sozo.scoring.embeddings.glove import gloss_words

VECTORS = """\
red 2 0 0
lantern 0 3 0
glass 0 0 4
moss 0 2 0
river 1 1 0
unused 0 x 0
"""
EDICT = """\
　？？？ /Words that nobody uses/
赤灯 [あかひ] /(n) (uk) red lantern (esp. (old) glass)/EntL1/
赤灯 [せきとう] /(v5r,vi) to moss/(P)/
硝子灯 [がらすひ] /(n,vs) (1) glass of the river/lantern/(n) (2) moss/(P)/EntL2/
苔 [こけ] /(n) moss/
苔 [たい] /(n) (1) Red moss/(P)/
こけ /(n) glass/
河;川流(P) [かわ(P);せんりゅう] /(n) river/
謎 [なぞ] /(n) riddle/
"""
JMDICT = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE JMdict [<!ENTITY n "noun (common) (futsuumeishi)"><!ENTITY v "Godan verb">]>
<JMdict>
<entry><k_ele><keb>赤灯</keb></k_ele><r_ele><reb>あかひ</reb></r_ele>
<sense><pos>&n;</pos><gloss xml:lang="ger">Moos</gloss><gloss>red lantern</gloss></sense>
<sense><gloss>moss</gloss></sense></entry>
<entry><k_ele><keb>赤灯</keb><ke_pri>ichi1</ke_pri></k_ele>
<sense><pos>&v;</pos><gloss>to moss</gloss></sense></entry>
<entry><r_ele><reb>こけ</reb></r_ele><sense><pos>&n;</pos><gloss>moss (soft)</gloss></sense></entry>
</JMdict>
"""


@pytest.fixture
def files(tmp_path):
    def write(dictionary, vectors=VECTORS):
        words = tmp_path / ("words.gz" if dictionary.startswith(b"\x1f\x8b") else "words")
        words.write_bytes(dictionary)
        (tmp_path / "vectors.txt").write_text(vectors)
        return f"glove:{tmp_path / 'vectors.txt'}@{words}"

    return write


def encoded(name, *words):
    vectors = make_encoder(name).encode(words)
    return (vectors.astype(float) * len(vectors[0])).round(3).tolist()


@pytest.mark.parametrize("encoding", ["utf-8", "euc_jp"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_mean_of_the_known_words_of_a_nouns_first_sense(files, encoding, pack):
    name = files(pack(EDICT.encode(encoding)))
    root = 3 * 0.5**0.5
    assert encoded(name, "赤灯", "あかひ") == [[1.5, 1.5, 0.0]] * 2  # the noun, although the verb is common
    half = [round(root / 3, 3), round((root + 3) / 3, 3), 1.0]
    assert encoded(name, "硝子灯") == [half]  # glass, river and lantern, each of length 1
    assert encoded(name, "苔", "こけ") == [[1.5, 1.5, 0.0], [0.0, 0.0, 3.0]]  # the common one; what is written so
    assert encoded(name, "川流", "かわ") == [[round(root, 3), round(root, 3), 0.0]] * 2
    assert encoded(name, "謎", "魔法") == [[0.0, 0.0, 0.0]] * 2  # no known word; not in the dictionary


def test_jmdict_reads_the_same(files):
    name = files(gzip.compress(JMDICT.encode()))
    assert encoded(name, "赤灯", "こけ") == [[1.5, 1.5, 0.0], [0.0, 3.0, 0.0]]


def test_the_words_of_a_gloss():
    assert gloss_words(["(n) an Eye (of the (big) needle)", "{comp} the café's door to X"]) == ["eye", "café", "door"]


def test_a_header_is_no_vector_and_the_revision_is_what_was_read(files):
    plain = make_encoder(files(EDICT.encode()))
    with_header = make_encoder(files(EDICT.encode(), "6 3\n" + VECTORS))
    assert plain.revision == with_header.revision != make_encoder(files(JMDICT.encode())).revision
    np.testing.assert_array_equal(plain.encode(["苔"]), with_header.encode(["苔"]))


@pytest.mark.parametrize(
    ("dictionary", "vectors", "says"),
    [
        (b"nothing", VECTORS, "words: cannot be read as JMdict .* \\(it has no entry"),
        (b"<JMdict><entry>", VECTORS, "words: cannot be read as JMdict"),
        (b"\xff\xfe\x00", VECTORS, "words: cannot be read as JMdict"),
        (EDICT.encode(), "", "no vector of a word"),
        (EDICT.encode(), "no vectors here\n", "cannot be read as word vectors"),
        (EDICT.encode(), "red 1 0\nmoss 1\n", "cannot be read as word vectors"),
    ],
)
def test_files_that_are_no_such_thing(files, dictionary, vectors, says):
    with pytest.raises(UserError, match=says):
        make_encoder(files(dictionary, vectors))


def test_names_that_say_too_little(files, tmp_path):
    for name, says in (
        ("glove:x.txt@", "give glove:VECTORS .English. or glove:VECTORS@DICTIONARY"),
        ("glove:x.txt@y", "y: cannot be read .*No such file"),
    ):
        with pytest.raises(UserError, match=says):
            make_encoder(name)
    with pytest.raises(UserError, match="is for words"):
        make_encoder(files(EDICT.encode()), texts=True)
