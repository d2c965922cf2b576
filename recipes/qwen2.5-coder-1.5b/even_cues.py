"""For each training cue of cue DAT nine other nouns, drawn alike: a file for `sozo score cue_dat` (README.md).

python recipes/qwen2.5-coder-1.5b/even_cues.py NOUNS FILE.jsonl
"""

import json
import random
import sys
from pathlib import Path

from sozo.scoring.languages import read_nouns
from sozo.tasks import task_type

nouns_file, output = sys.argv[1:]
CueDat = task_type("cue_dat")
cues = CueDat(CueDat.Settings(split="train", num_items=160, cue_nouns=nouns_file)).items()
nouns, draw = read_nouns(nouns_file, "ja"), random.Random(0)
with Path(output).open("x", encoding="utf-8") as file:
    for cue in cues:
        words = draw.sample([noun for noun in nouns if noun != cue.id], 9)
        text = "\n".join(f"{k}. {word}" for k, word in enumerate(words, 2))
        file.write(json.dumps({"item": cue.id, "text": text}, ensure_ascii=False) + "\n")
