"""Batches of a prompt and its completions, for models of `small_models`."""

import torch
from trl.trainer.utils import add_fused_lm_head

PROMPT, LENGTHS, LONGEST = [5, 9, 3, 7, 7, 2, 8, 8, 1], (7, 3, 1, 5, 7), 7


def batch():
    """Ids, mask and labels of five answers behind one prompt, padded on the right."""
    torch.manual_seed(3)
    prompts = torch.tensor(PROMPT).expand(len(LENGTHS), -1)
    ids = torch.cat([prompts, torch.randint(0, 700, (len(LENGTHS), LONGEST))], dim=1)
    mask = torch.ones_like(ids)
    for row, length in enumerate(LENGTHS):
        mask[row, len(PROMPT) + length :] = 0
    labels = ids.masked_fill(mask == 0, -100)
    labels[:, : len(PROMPT)] = -100
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def spied(model):
    """The shapes of what a model with TRL's fused head is given from now on."""
    shapes, forward = [], model.forward

    def recording(*args, **kwargs):
        if kwargs.get("fused_lm_head"):
            shapes.append(tuple(kwargs["input_ids"].shape))
        return forward(*args, **kwargs)

    model.forward = recording
    return shapes


def fused(model):
    """The model with TRL's fused head, and the shapes of what it then computes."""
    add_fused_lm_head(
        model,
        temperature=0.9,
        outputs=("log_probs", "entropy", "mean_logits", "is_top1"),
    )
    return model, spied(model)
