r"""DPO on a model's own best and worst responses (paper, section 5.1.2: 16,384 pairs out of 131,072 responses).

The embedded tiny model on a CPU; the second stage is the same with the trained model and its fresh responses:

    python recipes/sample_dat.py --model tiny --num_responses 8192 --output_dir runs/tiny/base
    accelerate launch recipes/dpo_dat.py --responses runs/tiny/base
    python recipes/sample_dat.py --model runs/tiny/dpo --num_responses 8192 --output_dir runs/tiny/dpo1-responses
    accelerate launch recipes/dpo_dat.py --responses runs/tiny/dpo1-responses \
        --model_name_or_path runs/tiny/dpo --output_dir runs/tiny/dpo2

On eight GPUs (on one: single.yaml and --use_peft true); flags of TRL's DPOConfig or ModelConfig go over the YAML:

    accelerate launch --config_file recipes/accelerate/zero3.yaml recipes/dpo_dat.py \
        --config recipes/swallow-8b/dpo.yaml --responses runs/swallow-8b/base
"""

from launch import launch

if __name__ == "__main__":
    launch("dpo")
