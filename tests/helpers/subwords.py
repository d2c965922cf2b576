"""A tokenizer that writes nouns in one to three tokens, with a space before each, as tokenizers of real models do."""

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

NOUNS = ["犬", "犬小", "犬小屋", "猫", "山", "山猫"]
_TOKENS = [
    "<pad>",
    "</s>",
    "<unk>",
    "\n",
    "1.",
    "2.",
    "3.",
    " ",
    "犬",
    "小",
    "屋",
    "猫",
    "山",
    "桜",
]


def tokenizer():
    """One token for each character, and for the numbers of a list."""
    made = Tokenizer(
        models.WordLevel(
            {token: number for number, token in enumerate(_TOKENS)}, unk_token="<unk>"
        )
    )
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"[0-9]\.|.|\n"), "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=128,
    )
