"""A model of 64 nouns in the manner of sozo.models.tiny, made in seconds; some of its answers are usable."""

import random
from unittest.mock import patch

import numpy as np
from transformers import set_seed

from fakes import list_text
from sozo.models import tiny
from sozo.scoring.parse import script_reason


def build_mini(folder, encoder, checker, nouns, *, lists=None):
    """Save the model in `folder`. With `lists`, it learns that many lists only, by heart."""
    candidates = [word for word in nouns[:4000:40] if script_reason(word) is None]
    candidates = [
        w
        for w, verdict in zip(candidates, checker.check(candidates), strict=True)
        if verdict.is_noun
    ]
    vectors = np.asarray(encoder.encode(candidates))
    usable = np.flatnonzero(np.abs(vectors).sum(axis=1))[:64]
    words = [candidates[row] for row in usable]

    set_seed(0)
    draw = random.Random(0)
    texts = [list_text(draw.sample(words, 10)) for _ in range(lists or 2000)]
    with patch.dict(tiny._SETTINGS, hidden=32, layers=1):
        tokenizer = tiny.build_tokenizer(words)
        # A prompt of several tokens, so that there is something to share, and an argument of the template.
        assert "{{ m.content }}" in tokenizer.chat_template
        tokenizer.chat_template = tokenizer.chat_template.replace(
            "{{ m.content }}", "{{ m.content * 3 }}{{ tone }}"
        )
        model = tiny.build_model(len(tokenizer), vectors[usable])
    model = tiny.warm_start(
        model,
        tokenizer,
        texts if lists is None else texts * (2000 // lists),
        folder.with_name("sft"),
        per_device_train_batch_size=64,
        max_steps=120,
        warmup_steps=10,
        learning_rate=3e-2,
        disable_tqdm=True,
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
