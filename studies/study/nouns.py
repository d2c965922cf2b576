"""A study's step that lists the nouns which the model's tokenizer spells best: those of random and frontier lists.

    python -m sozo.studies.study.nouns --model tiny --language ja --first 2500 --output_dir DIR

`nouns.txt` holds them, one a line.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from sozo.data.errors import one_line_errors
from sozo.data.record import write_whole
from sozo.data.run_folder import RunFolder
from sozo.data.settings import deciding, setting

FILE = "nouns.txt"


@dataclass(frozen=True)
class Listed:
    """Whose nouns, how many, and where they go."""

    model: str = setting("", "A folder, a hub id or tiny: whose tokenizer.")
    language: str = setting("ja", "ja or en.")
    first: int = setting(2500, "How many nouns, at most.")
    output_dir: str = setting("", f"Folder of {FILE}.", affects_result=False)


def main() -> None:
    """List them."""
    from sozo.eval.terminal import print_lines
    from sozo.models.weights import load_tokenizer, pinned
    from sozo.training.config import read_settings
    from sozo.training.known_nouns import frequent_nouns

    (listed,) = read_settings((Listed,), sys.argv[1:])
    path, revision = pinned(listed.model, None)
    tokenizer = load_tokenizer(path, revision)
    nouns = frequent_nouns(tokenizer, listed.language, listed.first)
    output = Path(listed.output_dir)
    folder = RunFolder(output, deciding(listed))
    folder.start({}, {})
    write_whole(output / FILE, ("\n".join(nouns) + "\n").encode())
    folder.finish({"nouns": len(nouns)})
    print_lines([f"{output / FILE}: {len(nouns):,} nouns"])


if __name__ == "__main__":
    with one_line_errors("error"):
        main()
