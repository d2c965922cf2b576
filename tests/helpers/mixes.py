"""Rows and batches of a mix."""

import torch


def batches(*prompts, size):
    """Micro-batches of rows with these prompts, padded on the left; a row's number stands in all its columns."""
    rows = torch.arange(len(prompts))
    ids = torch.tensor([[0] * (3 - len(p)) + [ord(c) for c in p] for p in prompts])
    whole = {
        "prompt_ids": ids,
        "prompt_mask": (ids > 0).int(),
        "completion_ids": rows[:, None],
        "advantages": rows,
    }
    cut = [
        {name: value[i : i + size] for name, value in whole.items()}
        for i in range(0, len(prompts), size)
    ]
    return [
        batch | {"num_items_in_batch": torch.tensor(7), "ref_per_token_logps": None}
        for batch in cut
    ]


def rows_of(result):
    return [batch["advantages"].tolist() for batch in result]
