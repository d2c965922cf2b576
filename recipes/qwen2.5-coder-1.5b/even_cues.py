"""For each training cue of cue DAT nine other nouns, drawn alike: a file for `sozo score cue_dat` (README.md)."""

import argparse
import json
import random
from pathlib import Path

from sozo.scoring.languages import read_nouns
from sozo.tasks import task_type


def main() -> None:
    """The files that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "nouns", help="a file, one noun per line, of cues and of answers"
    )
    parser.add_argument("output", type=Path, help="JSON lines, to be")
    options = parser.parse_args()
    cue_dat = task_type("cue_dat")
    cues = cue_dat(
        cue_dat.Settings(split="train", num_items=160, cue_nouns=options.nouns)
    ).items()
    nouns, draw = read_nouns(options.nouns), random.Random(0)
    with options.output.open("x", encoding="utf-8") as file:
        for cue in cues:
            words = draw.sample([noun for noun in nouns if noun != cue.id], 9)
            text = "\n".join(f"{k}. {word}" for k, word in enumerate(words, 2))
            file.write(
                json.dumps({"item": cue.id, "text": text}, ensure_ascii=False) + "\n"
            )


if __name__ == "__main__":
    main()
