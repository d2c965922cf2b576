"""SFT on the best answers of a table (paper, section 5.1.1: the top 16,384 of 131,072 of random nouns): `sozo train sft`.

sozo dat --model random --num-answers 8192 --output runs/random
accelerate launch recipes/sft_dat.py --config recipes/tiny/sft.yaml --answers runs/random
"""

from sozo.training.command import launch

if __name__ == "__main__":
    launch("sft")
