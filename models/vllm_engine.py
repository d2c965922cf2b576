"""vLLM's offline engine as a generator. Tested on a stand-in and with vLLM's own engine for CPUs: not yet on a GPU."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.checkpoints import ADAPTER_FILE, is_adapter
from sozo.data.errors import require
from sozo.data.record import read_json
from sozo.data.schema import Completion
from sozo.models.generator import Generator, entropy
from sozo.models.generators import Loaded
from sozo.models.model_support import Window, encode_text, template_of
from sozo.models.transformers_model import LocalWriter
from sozo.models.weights import cannot_load, check_adapter, load_tokenizer
from sozo.scoring.final_text import decode
from sozo.tasks.task import Task

_LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
_LAUNCHER = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmWriter(LocalWriter):
    """A model in vLLM's engine."""

    def load(
        self, task: Task | None = None, *, loaded: Loaded | None = None, **_: Any
    ) -> Generator:
        """An engine for the model, which starts with the first batch."""
        needed = self._check_room(task)
        require("vllm", "the backend vllm")
        engine = (loaded or Loaded()).load(
            self._weights, lambda: VllmEngine(self, needed), VllmEngine.close
        )
        engine.make_room(needed)
        return VllmGenerator(self, engine)


class VllmEngine:
    """vLLM's engine of a model, on this process's GPU; a folder with a LoRA adapter is served over its base model.

    It starts with the first batch and is seeded by it: a seed for each request would draw row by row, and one fixed
    seed would begin a resumed run, and each process, with the same draws again.
    """

    def __init__(self, writer: VllmWriter, window: int | None) -> None:
        self._writer, self._window = writer, window
        self.lora: Any = None
        self._llm: Any = None

    def llm(self, seed: int) -> Any:
        """The engine, which this call may start."""
        if self._llm is None:
            self._llm = self._start(seed)
        return self._llm

    def make_room(self, tokens: int | None) -> None:
        """Have a window of so many tokens or more, None for the model's; an engine with fewer starts anew.

        vLLM does not start where the GPU has no room for the keys and values of a whole window.
        """
        if self._window is not None and (tokens is None or tokens > self._window):
            self.close()
            self._window = tokens

    def close(self) -> None:
        """Shut the engine down, if it was started: what it holds of the GPU is free afterwards."""
        if self._llm is not None:
            self._llm.llm_engine.engine_core.shutdown()
            self._llm = None

    def _start(self, seed: int) -> Any:
        import vllm

        writer, model, lora = self._writer, self._writer.model, {}
        if is_adapter(model):
            check_adapter(model)
        try:
            if is_adapter(model):
                from vllm.lora.request import LoRARequest

                values = read_json(Path(model) / ADAPTER_FILE)
                self.lora = LoRARequest("adapter", 1, model)
                model = values["base_model_name_or_path"]
                rank = next((r for r in _LORA_RANKS if r >= values["r"]), values["r"])
                lora = {"enable_lora": True, "max_lora_rank": rank}
            options = {
                "revision": writer.model_revision,
                "dtype": writer.dtype,
                "seed": seed,
                **lora,
            }
            # Of its generation config vLLM then takes the end tokens only
            with _own_gpu():
                return vllm.LLM(
                    model,
                    enable_prefix_caching=True,
                    generation_config="vllm",
                    max_model_len=self._window,
                    **options,
                )
        except Exception as error:  # whatever a folder or the engine's start holds, the user needs one line
            raise cannot_load(writer.model, error) from error


class VllmGenerator:
    """A model in vLLM, sampled from its own distribution at a temperature.

    Nothing is truncated but as it was asked for; what ends an answer are the model's end tokens and its tokenizer's, as
    in training, and, with `length`, the engine's window. Under `accelerate launch` every process has an engine on its
    own GPU. vLLM does not promise the same text for the same seed when the load on the GPU differs (its kernels depend
    on the batch): a resumed run has the same distribution, not the same rows. It applies `min_p` before `top_k` and
    `top_p`, transformers behind them: what a combination of them leaves may differ.
    """

    def __init__(self, writer: VllmWriter, engine: VllmEngine) -> None:
        import vllm

        self.name, self._writer, self._engine = writer.source, writer, engine
        how = {"temperature": writer.temperature, "top_k": 0, "top_p": 1.0}
        how |= writer.sampling.truncation
        self._request = vllm.SamplingParams(**how, max_tokens=writer.max_new_tokens)
        self.temperature = self._request.temperature  # vLLM takes 0.01 for less
        self._decoder = how | {"temperature": self.temperature}
        # The engine's is the base's, whatever an adapter brings.
        self._tokenizer = load_tokenizer(writer.model, writer.model_revision)
        self._window: Window | None = None

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One answer for each of `prompts`; vLLM forms its own batches."""
        llm = self._engine.llm(
            int(np.random.SeedSequence(entropy(seed, batch)).generate_state(1)[0])
        )
        tokens = {
            text: encode_text(self._tokenizer, text, self._writer.form)
            for text in set(prompts)
        }
        self._window = self._window or Window(
            self.name, llm.model_config.max_model_len, self._request.max_tokens
        )
        for ids in tokens.values():
            self._window.room(len(ids))
        inputs = [{"prompt_token_ids": tokens[text]} for text in prompts]
        outputs = llm.generate(
            inputs, self._request, use_tqdm=False, lora_request=self._engine.lora
        )
        drawn = [output.outputs[0] for output in outputs]
        return [
            Completion(decode(self._tokenizer, one.token_ids), one.finish_reason)
            for one in drawn
        ]

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        weights = {
            "dtype": self._writer.dtype,
            "max_new_tokens": self._writer.max_new_tokens,
        }
        template = template_of(self._tokenizer)
        return {"generator": "vllm", **self._decoder, **weights, **template}


@contextmanager
def _own_gpu() -> Iterator[None]:
    """While the engine starts, its processes see this process's GPU only, and nothing of the launcher's group."""
    rank, before = os.environ.get("LOCAL_RANK"), dict(os.environ)
    if rank is not None:
        visible = [
            gpu for gpu in before.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu
        ]
        os.environ["CUDA_VISIBLE_DEVICES"] = visible[int(rank)] if visible else rank
        for name in _LAUNCHER:
            os.environ.pop(name, None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
