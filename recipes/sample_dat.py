r"""Draw DAT responses from a model, score them, and print the row of the paper's Table 11.

One process, and one node of eight GPUs (every process draws its share; the table is the same):

    python recipes/sample_dat.py --model tiny --num_responses 2048 --output_dir runs/tiny/base
    accelerate launch --config_file recipes/accelerate/ddp.yaml recipes/sample_dat.py \
        --model Qwen/Qwen2.5-7B-Instruct --num_responses 131072 --output_dir runs/qwen2.5-7b/base

It is `sozo dat` with a recipe's flags, which can also stand in a YAML file (`--config FILE.yaml`).
Several machines need an `--output_dir` that all of them see.
"""

from launch import answer
from sozo.data.errors import one_line_errors
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat

if __name__ == "__main__":
    with one_line_errors("sample_dat"):
        answer(DatSettings, Dat)
