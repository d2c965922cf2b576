"""SFT on lists of words whose distribution is known: the target of each word is that, and not the one word drawn.

One drawn word of thousands says next to nothing about how it depends on the words before it; its distribution says it
all. Needs words that are one token each.
"""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from trl import SFTTrainer

from data.errors import UserError
from generate.load import GeneratorSettings, load_generator
from generate.nouns import FrontierNouns
from rewards.tasks import read_run, task_type
from training.shared_prompt import response_logits

_IGNORED = -100


class WordTargets:
    """Cross-entropy of logits with a word's own distribution, and with the one token everywhere else.

    `words` gives the distributions (`targets`, `bias`), `tokens` are its nouns' tokens. A
    row that does not ask for just as many nouns as a list has (one that was cut) is imitated token by token.
    """

    def __init__(self, words: Any, tokens: Sequence[int]) -> None:
        self._words, self._places = words, len(words.bias)
        self._tokens = torch.tensor(tokens)
        self._noun = torch.full((int(self._tokens.max()) + 1,), -1)
        self._noun[self._tokens] = torch.arange(len(tokens))

    def __call__(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The sum over the labels that are asked for: `logits` (rows, tokens, vocabulary), `labels` (rows, tokens)."""
        logits, targets = logits.float(), labels
        nouns = self._noun.to(labels.device)[targets.clamp(0, len(self._noun) - 1)]
        nouns[(targets < 0) | (targets >= len(self._noun))] = -1
        nouns[(nouns >= 0).sum(dim=1) != self._places] = -1
        wanted = logits.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
        at = nouns >= 0
        if at.any():
            lists = nouns[at].view(-1, self._places)
            shares = torch.from_numpy(self._words.targets(lists.cpu().numpy())).to(logits)
            # Not in place: `wanted` is part of the graph.
            own = (shares.flatten(0, 1) * logits[at][:, self._tokens.to(labels.device)]).sum(dim=-1)
            wanted = wanted.masked_scatter(at, own)
        return (logits.logsumexp(dim=-1) - wanted)[targets != _IGNORED].sum()


class WordTargetTrainer(SFTTrainer):  # type: ignore[misc]
    """TRL's SFT trainer with `WordTargets` as its loss."""

    def __init__(self, *args: Any, word_targets: WordTargets, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._word_targets = word_targets

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The mean over the tokens of all processes and of all micro-batches of a step."""
        logits, labels = response_logits(model, inputs, self.accelerator.unwrap_model(model))
        count = (labels != _IGNORED).sum() if num_items_in_batch is None else num_items_in_batch
        loss = self._word_targets(logits, labels) / count
        if num_items_in_batch is not None and self.args.average_tokens_across_devices:
            loss = loss * self.accelerator.num_processes  # gradients are averaged over them
        return (loss, {"logits": logits}) if return_outputs else loss


def word_targets(responses: Sequence[str | Path], tokenizer: Any) -> WordTargets:
    """The targets of tables that the same frontier wrote word by word, by the tokens of `tokenizer`."""
    runs = [read_run(Path(path)) for path in responses]
    if any(run.settings.get("word_strength") is None for run in runs):
        wanted = "--model frontier --strength 1000 --word_strength 300, say"
        raise UserError(f"word_targets needs responses whose words' distribution is known: sample_dat.py {wanted}")
    if any(run.loaded["decoder"] != runs[0].loaded["decoder"] for run in runs):
        raise UserError("word_targets needs responses of one frontier; these are of several")
    settings = runs[0].settings
    kind = task_type(runs[0].task)
    task = kind(_of(kind.Settings, settings))
    generator = load_generator(_of(GeneratorSettings, settings), find_frontier=task.frontier)
    assert isinstance(generator, FrontierNouns)
    nouns = generator.frontier.nouns
    ids = [tokenizer.encode(noun, add_special_tokens=False) for noun in nouns]
    if long := [noun for noun, tokens in zip(nouns, ids, strict=True) if len(tokens) != 1]:
        reason = f"{len(long):,} of the {len(nouns):,} nouns, such as {long[0]}, are not one token of this tokenizer"
        raise UserError(f"word_targets: {reason}; draw the lists from nouns that are (--nouns FILE)")
    return WordTargets(generator.words, [tokens[0] for tokens in ids])


def _of(settings: Any, values: dict[str, Any]) -> Any:
    return settings(**{field.name: values[field.name] for field in fields(settings) if field.name in values})
