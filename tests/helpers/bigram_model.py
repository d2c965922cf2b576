"""A model made by hand that writes known texts, so that a real server can give a real verdict without training."""

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

END, UNKNOWN = "</s>", "<unk>"


def build_bigrams(folder, follows):
    """Save a Llama that writes after a token one of those that may follow it, each as likely, whatever came before.

    A token is a whole text: `{UNKNOWN: ["a", "b"], "a": [END], "b": [END]}` answers every prompt with a or b.
    """
    tokens = list(
        dict.fromkeys(
            [
                "<pad>",
                END,
                UNKNOWN,
                *follows,
                *(text for after in follows.values() for text in after),
            ]
        )
    )
    number = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordLevel(number, unk_token=UNKNOWN))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_tokens(
        [AddedToken(token, normalized=False) for token in follows if token != UNKNOWN]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token=END,
        unk_token=UNKNOWN,
        model_max_length=128,
    )
    fast.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokens),
            hidden_size=2 * len(tokens),
            intermediate_size=8,
            num_hidden_layers=1,
            num_attention_heads=1,
            max_position_embeddings=128,
            pad_token_id=0,
            eos_token_id=number[END],
            bos_token_id=None,
        )
    )
    with torch.no_grad():
        # Without what attention and the layer would add, the last token alone decides.
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.zero_()
        model.model.embed_tokens.weight[:, : len(tokens)] = torch.eye(len(tokens))
        for token, after in follows.items():
            model.lm_head.weight[[number[text] for text in after], number[token]] = 20.0
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
