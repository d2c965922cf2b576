"""A vocabulary that is cut: the same tokens and the same logits of what is kept, and the way back."""

import json
import random
import sys

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

import cut_vocabulary as script
from fakes import list_text
from sentences import refused, says
from sozo.data.jumandic import load_nouns
from sozo.data.prompts import messages, prompt
from sozo.models.vocabulary import cut_vocabulary, restore_vocabulary

# Nouns within nouns, one with a Latin letter, a rare one, and two that share their first and last characters.
NOUNS = [
    "犬",
    "犬小屋",
    "小屋",
    "山",
    "山猫",
    "猫",
    "猫背",
    "背中",
    "中山",
    "山中",
    "法律",
    "法",
    "律",
]
NOUNS += ["りんご", "ごりら", "X線", "鬱", "台風", "風車", "車"]
PROMPTS = [prompt("dat"), "ab 法律の話をして。\n"]
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|turn|>{{ m.role }}\n\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n\n{% endif %}"
)
LLAMA_3 = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
ADDED = ["<bos>", "<eos>", "<pad>", "<|turn|>", "<|end|>", "<unused>"]


def corpus():
    """Lists of other nouns too, so that most of what is learned is not needed."""
    draw, words = random.Random(0), [*load_nouns()[:3000:3], *NOUNS * 20]
    texts = [list_text(draw.sample(words, 10)) for _ in range(400)] + [prompt("dat")]
    return [text.replace("鬱", "") for text in texts]


def template(tokenizer, number):
    """What puts <bos> before a text."""
    return processors.TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", number)]
    )


def byte_level(**options):
    """In the manner of Llama 3: bytes as characters, special tokens behind the vocabulary, whole words first."""
    made = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(LLAMA_3), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        corpus(), trainers.BpeTrainer(vocab_size=1500, initial_alphabet=alphabet)
    )
    model = json.loads(made.to_str())["model"]
    # A word that no merges make: `ignore_merges` finds it whole.
    whole = pre_tokenizers.ByteLevel(False, use_regex=False).pre_tokenize_str(" 鬱")[0][
        0
    ]
    assert whole not in model["vocab"]
    vocabulary = {**model["vocab"], whole: len(model["vocab"])}
    made.model = models.BPE(
        vocabulary, [tuple(m) for m in model["merges"]], ignore_merges=True, **options
    )
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(ADDED)
    made.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            template(made, made.token_to_id("<bos>")),
        ]
    )
    return made


def sentencepiece_like():
    """In the manner of Gemma: whole texts, a space as ▁, special tokens first, bytes for unknown characters."""
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    lines = [line + "\n" for text in corpus() for line in text.splitlines()]
    made.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=1800, special_tokens=special)
    )
    model = json.loads(made.to_str())["model"]
    vocabulary = model["vocab"] | {
        f"<0x{b:02X}>": len(model["vocab"]) + b for b in range(256)
    }
    known = {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True}
    made.model = models.BPE(vocabulary, [tuple(m) for m in model["merges"]], **known)
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    made.add_special_tokens(ADDED)
    made.add_tokens(["\n\n"])
    made.post_processor = template(made, made.token_to_id("<bos>"))
    return made


def save(folder, tokenizer, kind=LlamaConfig, **settings):
    """A small model with random weights and this tokenizer."""
    names = {
        "bos_token": "<bos>",
        "eos_token": "<eos>",
        "pad_token": "<pad>",
        "model_max_length": 777,
    }
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, chat_template=TEMPLATE, **names
    )
    ids = {
        name: fast.convert_tokens_to_ids(token)
        for name, token in names.items()
        if isinstance(token, str)
    }
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    sizes |= {
        "num_key_value_heads": 1,
        "head_dim": 16,
        "max_position_embeddings": 1024,
        "tie_word_embeddings": True,
    }
    numbers = {f"{name}_id": number for name, number in ids.items()}
    config = kind(
        vocab_size=len(fast) + 24, **sizes | numbers | settings
    )  # more rows than tokens, as Qwen's
    torch.manual_seed(0)
    model = (LlamaForCausalLM if kind is LlamaConfig else Gemma3ForCausalLM)(config)
    model.generation_config.eos_token_id = [
        ids["eos_token"],
        fast.convert_tokens_to_ids("<|end|>"),
    ]
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


KINDS = {
    "llama": (byte_level, LlamaConfig),
    "gemma": (sentencepiece_like, Gemma3TextConfig),
}


@pytest.fixture(scope="module", params=KINDS)
def cut(request, tmp_path_factory):
    """The folder of a whole model and the cut one, what was said, and the old numbers of the tokens."""
    folder = tmp_path_factory.mktemp(request.param)
    tokenizer, kind = KINDS[request.param]
    save(folder / "whole", tokenizer(), kind)
    record = cut_vocabulary(
        str(folder / "whole"), folder / "cut", [*NOUNS, "犬"], PROMPTS
    )
    written = json.loads((folder / "cut/cut.json").read_text("utf-8"))
    assert record.items() <= written.items()
    assert written["packages"]["transformers"]
    return folder, record, written["old_ids"]


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(
        folder
    )


def logits(model, ids):
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids])).logits[0]


def test_tokens_and_logits_are_those_of_the_whole_model(cut):
    folder, record, old = cut
    (whole, tokenizer), (model, small) = load(folder / "whole"), load(folder / "cut")
    assert (
        record["tokens"]
        == len(old)
        == len(small)
        == model.config.vocab_size
        < record["tokens_before"] - 400
    )
    assert whole.config.vocab_size == record["tokens_before"] + 24
    assert small.convert_ids_to_tokens(
        range(len(old))
    ) == tokenizer.convert_ids_to_tokens(old)
    assert (folder / "cut/nouns.txt").read_text("utf-8").split() == NOUNS
    draw = random.Random(1)
    for k in range(200):
        asked = messages(PROMPTS[k == 0])
        answer = {"role": "assistant", "content": list_text(draw.sample(NOUNS, 10))}
        ids, others = (
            t.apply_chat_template([*asked, answer], return_dict=False)
            for t in (tokenizer, small)
        )
        assert [old[number] for number in others] == ids
        assert small.decode(others) == tokenizer.decode(ids)
        if k < 5:
            assert torch.equal(logits(model, others), logits(whole, ids)[:, old])
    assert [old[number] for number in small("犬")["input_ids"]] == tokenizer("犬")[
        "input_ids"
    ]  # with <bos>


def test_numbers_in_settings_are_the_cut_ones(cut):
    folder, *_ = cut
    model, small = load(folder / "cut")
    for name in ("bos", "eos", "pad"):
        number = getattr(small, f"{name}_token_id")
        assert getattr(model.config, f"{name}_token_id") == number
        assert small.convert_ids_to_tokens(number) == f"<{name}>"
    ends = [small.eos_token_id, small.convert_tokens_to_ids("<|end|>")]
    assert model.generation_config.eos_token_id == ends
    assert small.model_max_length == 777
    assert "<unused>" not in small.get_vocab()
    again = AutoTokenizer.from_pretrained(folder / "cut")
    again.save_pretrained(folder / "again")
    assert (
        AutoTokenizer.from_pretrained(folder / "again").get_vocab() == small.get_vocab()
    )


def test_any_other_text_is_cut_into_bytes_and_comes_back(cut):
    tokenizer = AutoTokenizer.from_pretrained(cut[0] / "cut")
    for text in ("ghost 鯨 🙂", "\t\n\n\n 1.  ２", "犬<eos>x"):
        ids = tokenizer.encode(text, add_special_tokens=False)
        assert tokenizer.decode(ids) == text


TRAINED_TEMPLATE = TEMPLATE + "{# as it was trained #}"


def train(folder, output, dtype=torch.float32):
    """As a training would: every weight is another one, and so is the form of a conversation."""
    model, tokenizer = load(folder)
    tokenizer.chat_template = TRAINED_TEMPLATE
    model = model.to(dtype)
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)
    (output / "run_config.json").write_text("{}", "utf-8")
    return load(output)[0]  # not the one in memory, whose buffers have another type


def test_the_command_cuts_and_puts_back(cut, tmp_path, monkeypatch, capsys):
    folder, record, _ = cut
    (tmp_path / "nouns.txt").write_text("\n".join(NOUNS), "utf-8")
    (tmp_path / "prompt.txt").write_text(PROMPTS[1], "utf-8")
    monkeypatch.chdir(tmp_path)

    def command(model, output, *words):
        words = [str(model), "--output_dir", output, *map(str, words)]
        monkeypatch.setattr(sys, "argv", ["cut_vocabulary.py", *words])
        script.main()
        return capsys.readouterr().out

    kept = ("--nouns", "nouns.txt", "--texts", "prompt.txt")
    counts = f"20 nouns: {record['tokens_before']:,} -> {record['tokens']:,} tokens, "
    assert counts in command(folder / "whole", "cut", *kept)
    said = command("cut", "full", "--restore", folder / "whole")
    assert f"\n{record['tokens']:,} rows put back; " in f"\n{said}"
    full, whole = (
        load_file(place / "model.safetensors")
        for place in (tmp_path / "full", folder / "whole")
    )
    assert full.keys() == whole.keys()
    assert all(torch.equal(full[name], whole[name]) for name in whole)
    with pytest.raises(SystemExit) as ended:
        command("cut", "x", "--nouns", "nouns.txt", "--texts", "nowhere")
    assert ended.value.code == 2
    assert says("cut_vocabulary: no such text", capsys.readouterr().err)


def test_the_way_back_takes_what_was_trained_and_leaves_the_rest(cut, tmp_path):
    dtype = torch.bfloat16
    folder, record, old = cut
    model, (whole, tokenizer) = (
        train(folder / "cut", tmp_path / "trained", dtype),
        load(folder / "whole"),
    )
    done = restore_vocabulary(
        str(tmp_path / "trained"), str(folder / "whole"), tmp_path / "full"
    )
    full, whole_tokenizer = load(tmp_path / "full")
    assert full.dtype == dtype
    assert (done["tokens"], done["tokens_untrained"]) == (
        record["tokens"],
        len(tokenizer) - record["tokens"],
    )
    assert whole_tokenizer.get_vocab() == tokenizer.get_vocab()
    assert whole_tokenizer.chat_template == TRAINED_TEMPLATE
    assert full.generation_config.eos_token_id == whole.generation_config.eos_token_id
    assert (tmp_path / "full/run_config.json").is_file()
    rows = full.get_input_embeddings().weight
    others = torch.tensor(sorted(set(range(len(rows))) - set(old)))
    assert torch.equal(rows[old], model.get_input_embeddings().weight)
    assert torch.equal(
        rows[others], whole.get_input_embeddings().weight[others].to(dtype)
    )
    ids = tokenizer.apply_chat_template(messages(prompt("dat")), return_dict=False)
    numbers = [old.index(number) for number in ids]
    assert torch.equal(logits(full, ids)[:, old], logits(model, numbers))
    assert getattr(full.config, "cut_from", None) is None


def test_another_model_with_the_same_embedding_is_refused(cut, tmp_path):
    folder, _, _ = cut
    model, tokenizer = load(folder / "whole")
    model.config.tie_word_embeddings = False
    model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight))
    model.save_pretrained(tmp_path / "untied")
    tokenizer.save_pretrained(tmp_path / "untied")
    untied = load(tmp_path / "untied")[0]
    assert torch.equal(
        untied.get_input_embeddings().weight, model.get_input_embeddings().weight
    )
    assert not torch.equal(
        untied.get_output_embeddings().weight, untied.get_input_embeddings().weight
    )
    with refused("vocabulary: cut from another model"):
        restore_vocabulary(
            str(folder / "cut"), str(tmp_path / "untied"), tmp_path / "full"
        )
    assert not list(tmp_path.glob("full*"))


def test_an_adapter_is_merged(cut, tmp_path):
    from peft import LoraConfig, get_peft_model

    folder, record, old = cut
    adapted = get_peft_model(
        load(folder / "cut")[0],
        LoraConfig(target_modules=["q_proj"], init_lora_weights=False),
    )
    adapted.save_pretrained(tmp_path / "adapter")
    restore_vocabulary(
        str(tmp_path / "adapter"), str(folder / "whole"), tmp_path / "full"
    )
    full, merged = load(tmp_path / "full")[0], adapted.merge_and_unload()
    ids = list(range(record["tokens"]))
    assert torch.equal(logits(full, old)[:, old], logits(merged, ids))


WORDS = {"<bos>": 0, "<eos>": 1, "<pad>": 2, "犬": 3}


@pytest.mark.parametrize(
    ("made", "row"),
    [
        (
            Tokenizer(models.WordPiece(WORDS, unk_token="<pad>")),
            "vocabulary: another kind of tokenizer",
        ),
        (byte_level(dropout=0.1), "vocabulary: a tokenizer with dropout"),
    ],
    ids=["WordPiece", "dropout"],
)
def test_other_tokenizers_are_refused(made, row, tmp_path):
    save(tmp_path / "whole", made)
    with refused(row):
        cut_vocabulary(str(tmp_path / "whole"), tmp_path / "cut", NOUNS, PROMPTS)
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]


def test_what_cannot_be_cut_or_restored_is_refused(cut, tmp_path):
    folder, *_ = cut
    whole = str(folder / "whole")
    for nouns in ([], NOUNS[:9], ["犬"] * 10):
        with refused("vocabulary: a list has fewer nouns"):
            cut_vocabulary(whole, tmp_path / "x", nouns, PROMPTS)
    with refused("vocabulary: the output exists"):
        cut_vocabulary(whole, folder / "cut", NOUNS, PROMPTS)
    with refused("vocabulary: no such model"):
        cut_vocabulary("./nowhere", tmp_path / "x", NOUNS, PROMPTS)
    with refused("vocabulary: no such whole model"):
        restore_vocabulary(str(folder / "cut"), "./nowhere", tmp_path / "x")
    with refused("vocabulary: was not cut"):
        restore_vocabulary(whole, whole, tmp_path / "x")
    save(tmp_path / "untied", byte_level(), tie_word_embeddings=False)
    with refused("vocabulary: untied embeddings"):
        cut_vocabulary(str(tmp_path / "untied"), tmp_path / "x", NOUNS, PROMPTS)
    (tmp_path / "untied/tokenizer.json").unlink()
    with refused("vocabulary: no tokenizer"):
        cut_vocabulary(str(tmp_path / "untied"), tmp_path / "x", NOUNS, PROMPTS)
    assert [path.name for path in tmp_path.iterdir()] == ["untied"]
