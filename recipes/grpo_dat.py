r"""GRPO on DAT rewards (paper, section 5.1.3).

With no argument it trains the embedded tiny model on a CPU, with no model hub and no Juman++:

    accelerate launch recipes/grpo_dat.py

One GPU, and one node of eight; any flag of TRL's GRPOConfig and ModelConfig goes over the YAML:

    accelerate launch --config_file recipes/accelerate/single.yaml recipes/grpo_dat.py \
        --config recipes/swallow-8b/grpo.yaml --use_peft true
    accelerate launch --config_file recipes/accelerate/zero3.yaml recipes/grpo_dat.py \
        --config recipes/swallow-8b/grpo.yaml

`--sampler` chooses who draws the completions: shared_prefix (the default), trl or vllm.
"""

from launch import launch

if __name__ == "__main__":
    launch("grpo")
