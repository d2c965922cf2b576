"""SFT on the best answers of a table (paper, section 5.1.1: the top 16,384 of 131,072 of random nouns).

The embedded tiny model on a CPU:

    python recipes/sample_dat.py --model random --num_answers 8192 --output_dir runs/random
    accelerate launch recipes/sft_dat.py --answers runs/random

Flags of TRL's SFTConfig or ModelConfig go over the YAML; recipes/README.md has GPUs.
"""

from launch import launch

if __name__ == "__main__":
    launch("sft")
