r"""GRPO on DAT rewards (paper, section 5.1.3).

With no argument it trains the embedded tiny model on a CPU. On eight GPUs (on one: single.yaml and --use_peft true):

    accelerate launch --config_file recipes/accelerate/zero3.yaml recipes/grpo_dat.py \
        --config recipes/swallow-8b/grpo.yaml

Flags of TRL's GRPOConfig or ModelConfig go over the YAML. `--sampler` chooses who draws:
shared_prefix (the default), trl or vllm.
"""

from launch import launch

if __name__ == "__main__":
    launch("grpo")
