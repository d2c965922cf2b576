"""DPO on a model's own best and worst answers (paper, section 5.1.2: 16,384 pairs of 131,072): `sozo train dpo`.

The second stage is the same with the trained model and its fresh answers:

    sozo dat --model tiny --num-answers 8192 --output runs/tiny/base
    accelerate launch recipes/dpo_dat.py --config recipes/tiny/dpo.yaml --answers runs/tiny/base
"""

from sozo.training.command import launch

if __name__ == "__main__":
    launch("dpo")
