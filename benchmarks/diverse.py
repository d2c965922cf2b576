"""What `make_diverse_reward` pays where one answer is made to look like many: `python benchmarks/diverse.py`.

Each row is eight answers in English and eight in Japanese (`tests/helpers/diverse_attacks.py`). A number is the mean share of the
others from which an answer differs, as `how="times"` pays it: 1 where all eight are different, 0 where all are alike. The
last column is how many of the Japanese ones are prose, by the gate of SAT's reward, as a quality that is a gate.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests/helpers"))
from diverse_attacks import table

if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("\n".join(table()))
