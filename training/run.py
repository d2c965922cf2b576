"""What every method does around its trainer: claim the folder, find the model, resume, track, save.

The order matters. What can be wrong is found before a model is loaded, run_config.json is written before anything else,
and metrics.json last: its presence says that the run is finished.
"""

import logging
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from trl import ModelConfig

from sozo.data.checkpoints import (
    is_adapter,
    model_digests,
    newer,
    whole_checkpoint,
)
from sozo.data.errors import OtherSettingsError, UserError, require
from sozo.data.preemption import PREEMPTED, end_preempted
from sozo.data.processes import wait
from sozo.data.record import room, write_whole
from sozo.data.run_folder import RunFolder
from sozo.data.settings import load_dotted
from sozo.data.wandb_run import read_state, start_wandb, write_state
from sozo.data.whole_models import whole_models
from sozo.models.processes import keep_freed_memory, quiet_libraries
from sozo.models.tiny import ensure_tiny, tiny_seed
from sozo.models.trained_on import different, trained_on
from sozo.models.weights import (
    check_model,
    is_model,
    load_adapter,
    load_tokenizer,
    merge_adapter,
    model_window,
    pinned,
    refuse_rounding,
)
from sozo.training.arguments import CommonArguments
from sozo.training.card import write_card
from sozo.training.config import check_start
from sozo.training.decided import TrainingRun
from sozo.training.evaluation import Evaluation
from sozo.training.resumed import go_on
from sozo.training.tracking import (
    UNPAID_STEPS,
    BarOnly,
    RunRecorder,
    start_tensorboard,
    wandb_run,
)

logger = logging.getLogger(__name__)
# TRL's push_to_hub leaves out what begins with an underscore.
_ROWS = "_dataset"
_MERGED = "_merged"
_GRACE = 10.0  # seconds that a preempted run waits for digests: a scheduler gives it little time


def train(
    method: Callable[[Any, Any, ModelConfig], TrainingRun],
    asked: CommonArguments,
    training: Any,
    model: ModelConfig,
) -> Path:
    """Decide a run of a method from what was asked, train, and return the folder of the trained model.

    A run that was cut off continues from its last whole checkpoint, with the rewards' states and as the same W&B run;
    one that is finished is left alone. An `output_dir` with another run is refused.
    """
    if "tensorboard" in training.report_to:
        require("tensorboard", "report_to tensorboard")
    check_start(model)
    quiet_libraries(use_cpu=training.use_cpu)
    run = method(asked, training, model)
    recorder = run.recorder
    output = Path(training.output_dir)
    first = training.process_index == 0
    if (
        training.use_cpu and run.sampler != "trl"
    ):  # its generation would fill the memory
        keep_freed_memory()
    config = output / "run_config.json"
    try:
        folder = RunFolder(output, run.what, config=config, how=run.how)
    except OtherSettingsError as error:
        if error.key != "training.max_steps":
            raise
        raise UserError(
            f"{error.how}; for more steps start a run from this one when it is finished: "
            f"--model_name_or_path {output} --output_dir ..."
        ) from error
    start = Path(str(model.model_name_or_path))
    if folder.metrics() is not None:
        folder.refuse_other_model(start)
        logger.warning(
            "%s is finished; give another --output_dir to train again", output
        )
        return output
    checkpoint = _resume_from(training, say=first)
    new = not folder.begun
    commit = _pin_revision(model)
    # transformers takes any for whole.
    recorder.kept = training.save_total_limit
    training.save_total_limit = None
    if first:
        _start(folder, run, start, commit)
    recorder.passed_over = newer(output, checkpoint)
    try:
        path = _model_path(model, training)
        tokenizer = _tokenizer(path, model.model_revision, say=first)
        run.fit(tokenizer, training, model_window(path, model.model_revision))
        evaluation = None
        if run.evaluate:
            evaluation = Evaluation(run.evaluate, output, run.form)
        own = (load_dotted(path, "callback") for path in asked.callbacks or ())
        # The last one prepares for a checkpoint.
        callbacks = [*filter(None, [evaluation]), *own, recorder]
        common = _model_arguments(model, path, training) | {
            "args": training,
            "processing_class": tokenizer,
            "callbacks": callbacks,
        }
        # TRL stores what it tokenizes, and loads model and reference.
        with room(output, 2**20), whole_models():
            trainer = run.build(tokenizer, common)
    except UserError:
        if new and first:
            shutil.rmtree(output / _ROWS, ignore_errors=True)
            folder.withdraw()
        raise
    _prepare(trainer, run, say=first)
    if "wandb" in training.report_to and first:
        _start_wandb(run, training, checkpoint)
    if "tensorboard" in training.report_to and first:
        start_tensorboard(
            trainer, int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0
        )
    trainer.create_model_card = partial(
        write_card, trainer, str(model.model_name_or_path)
    )
    _fit(trainer, recorder, checkpoint, folder, evaluation)
    return output


def _start(
    folder: RunFolder, run: TrainingRun, start: Path, commit: str | None
) -> None:
    weights = {**model_digests(start), "model_commit": commit}
    origins = different([*trained_on(start), *run.sources])
    facts = {"how": run.how, "free": run.free, "trained_on": origins}
    folder.start(weights, facts)


def _resume_from(training: Any, *, say: bool) -> Path | None:
    """The checkpoint to go on from, and a line on each newer one that is damaged; None where the run begins."""
    named = (
        Path(training.resume_from_checkpoint)
        if training.resume_from_checkpoint
        else None
    )
    checkpoint, wrong = whole_checkpoint(Path(training.output_dir), named)
    if say:
        for line in wrong:
            logger.warning("%s", line)
    return checkpoint


def _pin_revision(model: ModelConfig) -> str | None:
    """Check the model, and replace the revision of one on the hub by its commit, which is returned; None for all else.

    So model, tokenizer and reference are of one commit, and a run that resumes refuses another.
    """
    name = str(model.model_name_or_path)
    if tiny_seed(name) is not None:
        return None
    check_model(name)
    if Path(name).is_dir():
        if is_adapter(name):  # so that the commit of its base is known
            model_window(name)
        return None
    _, model.model_revision = pinned(name, model.model_revision)
    return model.model_revision


def _model_path(model: ModelConfig, training: Any) -> str:
    """Where the model's weights are; `tiny` is built, and a LoRA adapter merged if all weights are to be trained."""
    name = str(model.model_name_or_path)
    if tiny_seed(name) is not None:
        with training.main_process_first(desc="building the embedded model"):
            return str(ensure_tiny(name))
    if not is_adapter(name) or model.use_peft:
        return name
    merged = Path(training.output_dir).resolve() / _MERGED
    with training.main_process_first(local=False, desc="merging the LoRA adapter"):
        if not is_model(merged):
            merge_adapter(name, merged, model.dtype or "auto")
    return str(merged)


def _tokenizer(path: str, revision: str | None, *, say: bool) -> Any:
    """The tokenizer of a model; one without a pad token pads with its end-of-sequence token, which is said once."""
    tokenizer = load_tokenizer(path, revision)
    if tokenizer.eos_token is None:
        raise UserError(
            f"the tokenizer of {path} has no eos_token, so the model could never learn to stop; set one"
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
        if say:
            logger.warning(
                "the tokenizer of %s has no pad token; padding with %r",
                path,
                tokenizer.eos_token,
            )
    return tokenizer


def _model_arguments(model: ModelConfig, path: str, training: Any) -> dict[str, Any]:
    """What TRL's trainers load the model by; of an adapter that is trained on, the model itself."""
    from trl import get_peft_config, get_quantization_config

    training.model_init_kwargs = {
        "revision": model.model_revision,
        "attn_implementation": model.attn_implementation,
        "dtype": model.dtype,
        "quantization_config": get_quantization_config(model),
        **(training.model_init_kwargs or {}),
    }
    lora = get_peft_config(model)
    if not is_adapter(path):
        return {"model": path, "peft_config": lora}
    adapted = load_adapter(path, is_trainable=True, **training.model_init_kwargs)
    training.model_init_kwargs = None
    own = adapted.peft_config["default"]
    for name in ("r", "lora_alpha", "lora_dropout", "use_rslora", "use_dora"):
        if getattr(own, name) != getattr(lora, name):
            raise UserError(
                f"{path}: an adapter is trained on as it is, and its {name} is {getattr(own, name)}; set that"
            )
    if getattr(training, "use_vllm", False):  # TRL merges it for the engine
        refuse_rounding(path, adapted)
    # TRL's reference is a copy, which is not saved.
    adapted.save_pretrained = partial(
        adapted.save_pretrained, selected_adapters=["default"]
    )
    return {"model": adapted}


def _start_wandb(run: TrainingRun, training: Any, checkpoint: Path | None) -> None:
    """Start the W&B run, or continue that of the checkpoint."""
    before = read_state(checkpoint) if checkpoint else None
    start_wandb(
        before,
        name=training.run_name,
        folder=Path(training.output_dir),
        config={"sozo": run.settings},
    )


def _prepare(trainer: Any, run: TrainingRun, *, say: bool) -> None:
    """Slow or freeze the embeddings and share prompts, where the settings say so."""
    if run.embedding_rate != 1:
        slow_embeddings(trainer, run.embedding_rate)
    if run.share_prompt:
        from sozo.training.shared_prompt import share_prompt

        reference = getattr(trainer, "ref_model", None)
        unwrapped = trainer.accelerator.unwrap_model
        if share_prompt(unwrapped(trainer.model), say=say) and reference is not None:
            share_prompt(unwrapped(reference), say=False)


def slow_embeddings(trainer: Any, rate: float) -> None:
    """Let the embeddings learn at `rate` times the others' learning rate; 0 freezes them.

    Adam moves every weight of a row by about the learning rate, and a tied row's logit by that times the sum of what
    the last layer hands it: some 2,500 in Gemma 3 270M, so that 3e-4 moves the logit of every token by 0.75 in a step.
    """
    weight = trainer.model.get_input_embeddings().weight
    if rate == 0:
        weight.requires_grad_(False)
        return
    create = trainer.create_optimizer

    def create_optimizer(*args: Any, **kwargs: Any) -> Any:
        optimizer = create(*args, **kwargs)
        for group in list(optimizer.param_groups):
            others = [
                parameter for parameter in group["params"] if parameter is not weight
            ]
            if (
                0 < len(others) < len(group["params"])
            ):  # asked again, it gives the optimizer that it has
                group["params"] = others
                optimizer.add_param_group(
                    {**group, "params": [weight], "lr": group["lr"] * rate}
                )
        return optimizer

    trainer.create_optimizer = create_optimizer


def _fit(
    trainer: Any,
    recorder: RunRecorder,
    checkpoint: Path | None,
    folder: RunFolder,
    evaluation: Evaluation | None,
) -> None:
    from transformers import PrinterCallback, ProgressCallback

    if evaluation:
        evaluation.trainer = trainer
    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    if sys.stderr.isatty():
        trainer.add_callback(BarOnly())
    if checkpoint:
        go_on(trainer, checkpoint)
        recorder.restore(checkpoint)
    with room(folder.path, 2**20):
        result = trainer.train(
            resume_from_checkpoint=str(checkpoint) if checkpoint else None
        )
    if recorder.in_vain:
        raise UserError(
            f"step {trainer.state.global_step}: every reward of {UNPAID_STEPS} logged steps in a row was 0, so nothing "
            "is learned; warm the model up by SFT on drawn lists (docs/train.md), "
            "put sozo.rewards.make_dat_usable beside the reward where some lists are usable, or ask in another form "
            "(system_prompt)"
        )
    if recorder.preempted:
        _end_preempted(trainer, recorder)
    first = trainer.accelerator.is_main_process
    with room(folder.path, 2**20):
        trainer.save_model()
        trainer.create_model_card()
        if first:
            trainer.processing_class.save_pretrained(folder.path)
            trainer.state.save_to_json(str(folder.path / "trainer_state.json"))
            write_state(folder.path, wandb_run())
    if trainer.args.push_to_hub:
        trainer.push_to_hub()
    recorder.digests.join()
    if first:
        shutil.rmtree(folder.path / _ROWS, ignore_errors=True)
        folder.finish(result.metrics)
    trainer.end()


def _end_preempted(trainer: Any, recorder: RunRecorder) -> NoReturn:
    """End a run that stands behind a checkpoint and is not finished, which W&B is told too."""
    if run := wandb_run():
        run.mark_preempting()
        run.finish(exit_code=PREEMPTED)
    recorder.digests.join(_GRACE)  # without them sizes must do
    wait()  # a launcher ends all processes once one has ended
    trainer.end()
    command = "the same command" + " without resume_from_checkpoint" * bool(
        trainer.args.resume_from_checkpoint
    )
    end_preempted(
        f"checkpoint-{trainer.state.global_step} is written; {command} goes on"
    )


def stored_dataset(rows: Sequence[dict[str, Any]], training: Any) -> Any:
    """The rows as a dataset on disk: TRL caches tokens and reference log-probabilities beside it.

    So all processes share them, and a run that resumes after a kill finds them.
    """
    import pyarrow as pa
    from datasets import Dataset

    path = Path(training.output_dir) / _ROWS / "rows.arrow"
    with training.main_process_first(desc="writing the dataset"):
        if not path.is_file():
            table = pa.Table.from_pylist(list(rows))
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            write_whole(path, sink.getvalue().to_pybytes())
    return Dataset.from_file(str(path))
