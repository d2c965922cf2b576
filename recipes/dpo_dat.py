"""DPO on a model's own best and worst answers (paper, section 5.1.2: 16,384 pairs out of 131,072 answers).

The embedded tiny model on a CPU; the second stage is the same with the trained model and its fresh answers:

    python recipes/sample_dat.py --model tiny --num_answers 8192 --output_dir runs/tiny/base
    accelerate launch recipes/dpo_dat.py --answers runs/tiny/base

Flags of TRL's DPOConfig or ModelConfig go over the YAML; recipes/README.md has GPUs.
"""

from launch import launch

if __name__ == "__main__":
    launch("dpo")
