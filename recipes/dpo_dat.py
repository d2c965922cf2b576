"""DPO on a model's own best and worst responses (paper, section 5.1.2: 16,384 pairs out of 131,072 responses).

The embedded tiny model on a CPU; the second stage is the same with the trained model and its fresh responses:

    python recipes/sample_dat.py --model tiny --num_responses 8192 --output_dir runs/tiny/base
    accelerate launch recipes/dpo_dat.py --responses runs/tiny/base

Flags of TRL's DPOConfig or ModelConfig go over the YAML; recipes/README.md has GPUs.
"""

from launch import launch

if __name__ == "__main__":
    launch("dpo")
