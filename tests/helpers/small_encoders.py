"""Small encoders: of random weights, behind a server."""

from types import SimpleNamespace

import pytest

from judge_server import serving


@pytest.fixture
def endpoint(monkeypatch):
    """Gives [length, index in the batch] for every word, in reverse order, of `most` words at a time."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    server = SimpleNamespace(requests=[], most=10_000, refusal=413)

    def reply(request, headers):
        server.requests.append((headers["Authorization"], request))
        if len(request["input"]) > server.most:
            return server.refusal, {}, {"error": {"message": "no luck"}}
        data = [
            {"index": i, "embedding": [len(word), i]}
            for i, word in enumerate(request["input"])
        ]
        return 200, {}, {"data": data[::-1]}

    with serving(reply) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        yield server


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory):
    """A folder with a random BERT, one character a token."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = str(tmp_path_factory.mktemp("tiny-bert"))
    vocabulary = {
        token: i
        for i, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"犬猫子水山:w"])
    }
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=32,
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    BertModel(config).save_pretrained(folder)
    return folder
