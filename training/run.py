"""What every method does around its trainer: claim the folder, find the model, resume, track, save.

The order matters. What can be wrong is found before a model is loaded, run_config.json is written before anything else,
and metrics.json last: its presence says that the run is finished.
"""

import logging
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trl import ModelConfig

from sozo.data.errors import UserError
from sozo.data.prompts.form import read_form, settled_form
from sozo.data.record import folder_sha256, write_whole
from sozo.data.run_folder import RunFolder
from sozo.data.wandb_run import last_checkpoint, read_state, start_wandb, write_state
from sozo.models.processes import keep_freed_memory, quiet_libraries
from sozo.models.traits import encode_text
from sozo.training.claim import hide_token, resolved_settings, split
from sozo.training.evaluate import read_evaluate
from sozo.training.evaluation import Evaluation
from sozo.training.models import model_path, pin_revision, training_tokenizer
from sozo.training.tracking import BarOnly, RunRecorder, wandb_run

logger = logging.getLogger(__name__)
_ROWS = "_dataset"  # TRL's push_to_hub leaves out what begins with an underscore


def train(
    script: Any,  # the method's own arguments
    training: Any,  # TRL's
    model: ModelConfig,
    build: Callable[[Any, dict[str, Any]], Any],  # the trainer from a tokenizer and what all of TRL's trainers take
    *,
    facts: dict[str, Any],  # what else decides the run, JSON-able: rewards as built, the data's identity
    recorder: RunRecorder | None = None,
    examples: tuple[str, Sequence[str], Sequence[Sequence[Any]]] | None = None,  # a W&B table: name, columns, rows
) -> Path:
    """Train and return the folder of the trained model.

    A run that was cut off continues from its last whole checkpoint, with the duplicate histories and as the same W&B
    run; one that is finished is left alone. An `output_dir` with another run is refused.
    """
    recorder = recorder or RunRecorder()
    output = Path(training.output_dir)
    hide_token(training)
    given = script.system_prompt, training.chat_template_kwargs
    script.system_prompt, training.chat_template_kwargs = settled_form(*given, model.model_name_or_path)
    evaluate = read_evaluate(script.evaluate)
    settings = resolved_settings(script, training, model, facts)
    decide, free = split(settings, script)
    folder = RunFolder(output, decide, config=output / "run_config.json")
    if folder.metrics() is not None:
        logger.warning("%s is finished; give another --output_dir to train again", output)
        return output
    new, first, commit = not folder.begun, training.process_index == 0, pin_revision(model)
    if first:
        name = Path(str(model.model_name_or_path))
        weights = {"model_sha256": folder_sha256(name) if name.is_dir() else None, "model_commit": commit}
        folder.start(weights, {"free": free})
    checkpoint = Path(training.resume_from_checkpoint) if training.resume_from_checkpoint else last_checkpoint(output)

    quiet_libraries(use_cpu=training.use_cpu)
    if training.use_cpu and getattr(script, "sampler", None) != "trl":  # its generation would fill the memory
        keep_freed_memory()
    from trl import get_peft_config, get_quantization_config

    try:
        path = model_path(model, training)
        tokenizer = training_tokenizer(path, model.model_revision, say=first)
        form = read_form(script.system_prompt, training.chat_template_kwargs)
        encode_text(tokenizer, "", form)  # may be refused
        evaluation = Evaluation(evaluate, output, form, first=first) if evaluate else None
    except UserError:
        if new and first:
            folder.withdraw()
        raise
    training.model_init_kwargs = {
        "revision": model.model_revision,
        "attn_implementation": model.attn_implementation,
        "dtype": model.dtype,
        "quantization_config": get_quantization_config(model),
        **(training.model_init_kwargs or {}),
    }
    if "wandb" in (training.report_to or []) and first:
        before = read_state(checkpoint) if checkpoint else None
        start_wandb(before, name=training.run_name, folder=output, config={"sozo": settings})
        if examples and not checkpoint:
            import wandb

            title, columns, rows = examples
            wandb.log({title: wandb.Table(columns=list(columns), data=[list(row) for row in rows])})
    common = {"model": path, "args": training, "processing_class": tokenizer}
    common["callbacks"] = [recorder, *([evaluation] if evaluation else [])]
    trainer = build(tokenizer, common | {"peft_config": get_peft_config(model)})
    if script.freeze_embeddings:
        trainer.model.get_input_embeddings().requires_grad_(False)
    if script.share_prompt:
        from sozo.training.shared_prompt import share_prompt

        reference, unwrapped = getattr(trainer, "ref_model", None), trainer.accelerator.unwrap_model
        if share_prompt(unwrapped(trainer.model), say=first) and reference is not None:
            share_prompt(unwrapped(reference), say=False)
    if evaluation:
        evaluation.trainer = trainer
    _fit(trainer, recorder, checkpoint, folder, evaluation)
    return output


def _fit(
    trainer: Any, recorder: RunRecorder, checkpoint: Path | None, folder: RunFolder, evaluation: Evaluation | None
) -> None:
    from transformers import PrinterCallback, ProgressCallback

    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    if sys.stderr.isatty():
        trainer.add_callback(BarOnly())
    if checkpoint:
        recorder.restore(checkpoint)
    result = trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    trainer.save_model()
    output = Path(trainer.args.output_dir)
    trainer.create_model_card(model_name=output.name, tags=["sozo"])
    if trainer.accelerator.is_main_process:
        trainer.processing_class.save_pretrained(output)
        trainer.state.save_to_json(str(output / "trainer_state.json"))
        write_state(output, wandb_run())
    if trainer.args.push_to_hub:
        trainer.push_to_hub()
    if trainer.accelerator.is_main_process:
        shutil.rmtree(output / _ROWS, ignore_errors=True)
        stopped = {"stopped": evaluation.stopped} if evaluation and evaluation.stopped else {}
        folder.finish(result.metrics | stopped)
    trainer.end()


def stored_dataset(rows: Sequence[dict[str, Any]], training: Any) -> Any:
    """The rows as a dataset on disk: TRL caches tokens and reference log-probabilities beside it.

    So all processes share them, and a run that resumes after a kill finds them.
    """
    import pyarrow as pa
    from datasets import Dataset

    path = Path(training.output_dir) / _ROWS / "rows.arrow"
    with training.main_process_first(desc="writing the dataset"):
        if not path.is_file():
            table, sink = pa.Table.from_pylist(list(rows)), pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            write_whole(path, sink.getvalue().to_pybytes())
    return Dataset.from_file(str(path))
