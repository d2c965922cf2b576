"""Tables from which a row may be trained on once."""

import json

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from fakes import list_text
from grpo_runs import ROOT, flags
from scripted_grpo import tiny_llama
from sozo.eval.run import score_answers
from sozo.models.trained_on import YES, target
from sozo.tasks import task_types
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.training.arguments import DpoArguments, SftArguments
from sozo.training.config import parse
from sozo.training.sft_dpo import DpoSettings, SftSettings, train_dpo, train_sft

METHODS = {
    "sft": (train_sft, SftArguments, SftSettings),
    "dpo": (train_dpo, DpoArguments, DpoSettings),
}


COUNT = {"sft": "top_k", "dpo": "num_pairs"}


def train(method, model, tables, output, count, **settings):
    """One step on `count` examples."""
    function, script, config = METHODS[method]
    short = {
        "examples_per_step": count,
        "per_device_train_batch_size": count,
        COUNT[method]: count,
        "max_steps": 1,
    }
    short |= {
        "model_name_or_path": model,
        "answers": tables,
        "output_dir": output,
        "report_to": "none",
    }
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / f"{method}.yaml")]
    return function(*parse(script, config, [*yaml, *flags(short | settings)]))


def dat():
    return Dat(DatSettings(noun_checker="jumandic", embedding_model="ja-ginza"))


def answered(task, folder, *texts):
    """A finished run whose answers are `texts`, to its items in turn."""
    items = [item.id for item in task.items()]
    file = folder.with_suffix(".jsonl")
    lines = (
        {"id": f"a{k}", "item": items[k % len(items)], "text": text}
        for k, text in enumerate(texts)
    )
    file.write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8"
    )
    return score_answers(task, file, folder).folder


NOUNS = [
    *"犬猫山海空石木花鳥魚馬牛虫雨雪風火土星月川森米茶酒",
    *["時計", "電車", "法律", "音楽", "病気", "天気", "祝日"],
]


TEN = NOUNS[:10]


TEXTS = {
    "a story": "昔、山と川のある森に犬と猫と鳥がいた。雨の日、魚は海で火を見た。",
    "a chat's reply": "はい、承知しました。犬、猫、山、海、空、石、木、花、鳥、魚です。",
    "one noun ten times": "犬" * 10,
    "bullets": "\n".join(f"・{noun}を飼う" for noun in TEN),
    "spaces": " ".join(TEN),
    "JSON": json.dumps(TEN, ensure_ascii=False),
    "a numbered list": list_text(TEN),
    "the same list backwards": list_text(TEN[::-1]),
    "a numbered list after a heading": "回答:\n" + list_text(TEN),
    "two lists of five": list_text(TEN[:5]) + "\n" + list_text(TEN[5:]),
    "nine nouns": list_text(TEN[:9]),
    "no noun": "わからない",
}


def byte_pairs():
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=alphabet, special_tokens=special
    )
    made.train_from_iterator(
        [list_text(NOUNS[k : k + 10]) for k in range(0, 30, 5)] * 5, trainer
    )
    made.decoder = decoders.ByteLevel()
    return made


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A random model that spells nouns with one token or several."""
    folder = tmp_path_factory.mktemp("model") / "model"
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_pairs(), model_max_length=1024, **special
    )
    tiny_llama(
        len(tokenizer), max_position_embeddings=1024, initializer_range=1.0
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def targets(trainings, said=YES):
    """The tasks whose first measure training went for; or those of which that is not so, or not known."""
    return {
        task.name
        for task in task_types().values()
        if target(trainings, task, task.measures[0]) == said
    }
