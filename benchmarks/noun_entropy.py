"""What bonuses of entropy do to a real model: mass on nouns, and entropy over them, after a few steps on fixed lists.

    python benchmarks/noun_entropy.py runs/gemma-3-270m/base

Four lists of random nouns from the model's nouns.txt stand for what it wrote. A LoRA adapter is trained with the
recipe's learning rate by a bonus alone, and beside the lists' mean log-probability, which stands for validity's pay.
Mass is the geometric mean, over words, of the probability of going on as a listed noun at every token of the word.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import LoraConfig, get_peft_model

from sozo.models.weights import load_model
from sozo.scoring.parse import write_list
from sozo.training.noun_entropy import NounEntropy
from sozo.training.word_targets import END, IGNORED

ARMS = {"noun": (0.0, 1.0, 0.0), "word": (0.0, 0.0, 1.0)}  # weights of log-probability, entropy over nouns, of tokens
ARMS |= {"valid": (1.0, 0.0, 0.0), "valid+noun": (1.0, 0.1, 0.0), "valid+word": (1.0, 0.0, 0.1)}


def mass_on_nouns(nouns: NounEntropy, logits: torch.Tensor, labels: torch.Tensor, listed: list[Any]) -> float:
    """The geometric mean over the listed words of the product of their tokens' masses on tokens of nouns."""
    chances, total = logits.detach().log_softmax(-1), 0.0
    for row, start, noun in listed:
        for depth, (before, _, following) in enumerate(nouns.levels[: nouns._length[noun] + 1]):
            alike = np.unique(following.numpy()[before == before[noun]])
            alike[alike == END] = labels[row, start + nouns._length[noun]]
            total += float(chances[row, start + depth, torch.from_numpy(alike)].logsumexp(0))
    return float(np.exp(total / len(listed)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder with nouns.txt, as `recipes/unpack.py gemma-3-270m` writes it")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    args = parser.parse_args()
    torch.manual_seed(0)
    model, tokenizer = load_model(args.model, dtype="float32")
    words, random = (Path(args.model) / "nouns.txt").read_text("utf-8").split(), np.random.default_rng(0)
    texts = [write_list(random.choice(words, 10, replace=False).tolist()) + "\n" for _ in range(4)]
    rows = [torch.tensor([tokenizer.bos_token_id, *tokenizer.encode(t, add_special_tokens=False)]) for t in texts]
    tokens = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=IGNORED)
    labels, nouns = tokens[:, 1:], NounEntropy.of(None, tokenizer)
    in_words = torch.zeros_like(labels, dtype=torch.bool)
    for row, line in enumerate(labels.tolist()):
        for start, noun in nouns.find(line):
            in_words[row, start : start + nouns._length[noun]] = True
    listed = nouns.listed(labels, in_words)
    lora = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(model, lora)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    begin = [weight.detach().clone() for weight in trained]
    for arm in args.arms:
        for weight, value in zip(trained, begin, strict=True):
            weight.data.copy_(value)
        optimizer = torch.optim.AdamW(trained, lr=4e-4, weight_decay=0.0)
        for step in range(args.steps + 1):
            logits = model(input_ids=tokens.clamp(min=0)).logits[:, :-1]
            logs = logits.log_softmax(-1)
            own = logs.gather(-1, labels.clamp(min=0)[..., None])[..., 0][labels != IGNORED].mean()
            of_nouns = nouns(logits, labels, in_words) / len(listed)
            of_tokens = -(logs[in_words].exp() * logs[in_words]).sum(-1).mean()
            mass = mass_on_nouns(nouns, logits, labels, listed)
            print(f"{arm}, step {step}: mass {mass:.4f}, entropy over nouns {of_nouns.item():.2f}", end="")
            print(f", of tokens {of_tokens.item():.2f}", flush=True)
            optimizer.zero_grad()
            paid = zip(ARMS[arm], (own, of_nouns, of_tokens), strict=True)
            (-sum(weight * value for weight, value in paid if weight)).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
