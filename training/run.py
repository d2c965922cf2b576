"""What every method does around its trainer: claim the folder, find the model, resume, track, save.

The order matters. What can be wrong is found before a model is loaded, run_config.json is written before anything else,
and metrics.json last: its presence says that the run is finished.
"""

import logging
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from transformers import PrinterCallback, ProgressCallback
from trl import ModelConfig, get_peft_config, get_quantization_config

from sozo.data.checkpoints import is_adapter, model_digests, newer, whole_checkpoint
from sozo.data.errors import UserError
from sozo.data.preemption import end_preempted
from sozo.data.processes import wait
from sozo.data.record import room, whole_folder
from sozo.data.run_folder import RunFolder
from sozo.data.wandb_run import read_state, start_wandb, write_state
from sozo.data.whole_models import whole_models
from sozo.models.processes import keep_freed_memory, quiet_libraries
from sozo.models.trained_on import different, trained_on
from sozo.models.weights import (
    check_model,
    load_adapter,
    load_tokenizer,
    model_window,
    pinned,
    refuse_rounding,
)
from sozo.training.arguments import CommonArguments
from sozo.training.card import write_card
from sozo.training.decided import TrainingRun, sharding
from sozo.training.evaluation import Evaluation
from sozo.training.resumed import go_on
from sozo.training.tracking import (
    UNPAID_STEPS,
    RunRecorder,
    start_tensorboard,
    wandb_run,
)

logger = logging.getLogger(__name__)
# TRL's push_to_hub leaves out what begins with an underscore.
_ROWS = "_dataset"
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
    quiet_libraries(use_cpu=training.use_cpu)
    run = method(asked, training, model)
    output = Path(training.output_dir)
    start = Path(str(model.model_name_or_path))
    first = training.process_index == 0
    # TRL's cache would fill the memory.
    if training.use_cpu and getattr(asked, "sampler", None) != "trl":
        keep_freed_memory()
    folder, checkpoint, notes = opened(run, training, start)
    for line in notes * first:
        logger.warning("%s", line)
    if folder.metrics() is not None:
        return output
    new = not folder.begun
    path, commit = _pinned(model, training)
    if first:
        weights = {**model_digests(start), "model_commit": commit}
        origins = different([*trained_on(start), *run.sources])
        facts = {"how": run.how, "free": run.free, "trained_on": origins}
        folder.start(weights, facts)
    # transformers, which would remove old ones, takes any for whole.
    run.recorder.kept, training.save_total_limit = training.save_total_limit, None
    run.recorder.passed_over = newer(output, checkpoint)
    try:
        # TRL stores what it tokenizes, and loads model and reference.
        with room(output, 2**20), whole_models():
            trainer = _trainer(run, training, model, path)
    except UserError:
        if new and first:
            shutil.rmtree(output / _ROWS, ignore_errors=True)
            folder.withdraw()
        raise
    _prepare(trainer, run)
    if "wandb" in training.report_to and first:
        start_wandb(
            read_state(checkpoint) if checkpoint else None,
            name=training.run_name,
            folder=output,
            config={"sozo": {"what": run.what, "how": run.how, "free": run.free}},
        )
    if "tensorboard" in training.report_to and first:
        step = int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0
        start_tensorboard(trainer, step)
    trainer.create_model_card = partial(write_card, trainer, str(start))
    _fit(trainer, run.recorder, checkpoint, folder)
    return output


def opened(
    run: TrainingRun, training: Any, start: Path
) -> tuple[RunFolder, Path | None, list[str]]:
    """A run's folder, the checkpoint that it goes on from, and what its user is told; another run's folder is refused."""
    output = Path(training.output_dir)
    config = output / "run_config.json"
    folder = RunFolder(output, run.what, config=config, how=run.how)
    folder.refuse_other_model(start)
    if folder.metrics() is not None:
        note = f"{output} is finished; give another --output_dir to train again"
        return folder, None, [note]
    named = training.resume_from_checkpoint
    return folder, *whole_checkpoint(output, Path(named) if named else None)


def _pinned(model: ModelConfig, training: Any) -> tuple[str, str | None]:
    """Where a checked model's files are, and its commit if it is on the hub; `tiny` is built.

    The commit takes the place of the revision, so that model, tokenizer and reference are one's, and a run that resumes
    refuses another.
    """
    name = str(model.model_name_or_path)
    check_model(name)
    if is_adapter(name):
        if not model.use_peft:
            raise UserError(
                f"{name}: is a LoRA adapter, which --use_peft true trains on; to train all weights, merge it: "
                f"python -m sozo.models.weights {name} FOLDER float32"
            )
        model_window(name)  # so that the commit of its base is known
    with training.main_process_first(desc="looking for the model"):
        path, revision = pinned(name, model.model_revision)
    if Path(path).is_dir():
        return path, None
    model.model_revision = revision
    return path, revision


def _trainer(run: TrainingRun, training: Any, model: ModelConfig, path: str) -> Any:
    """The method's trainer, with what evaluates while it trains."""
    tokenizer = load_tokenizer(path, model.model_revision)
    if tokenizer.eos_token is None:
        raise UserError(
            f"the tokenizer of {path} has no eos_token, so the model could never learn to stop; set one"
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    run.fit(tokenizer, training, model_window(path, model.model_revision))
    evaluations = []
    if run.evaluate:
        evaluations.append(
            Evaluation(run.evaluate, Path(training.output_dir), run.form)
        )
    if model.use_peft and sharding(training) == "ZeRO-3":
        # It lets go of frozen weights before activations are computed anew. TRL says so under a name that is not read.
        again = training.activation_checkpointing_kwargs or {}
        training.activation_checkpointing_kwargs = again | {"use_reentrant": True}
    common = _model_arguments(model, path, training) | {
        "args": training,
        "processing_class": tokenizer,
        # The last one prepares for a checkpoint.
        "callbacks": [*evaluations, *run.callbacks, run.recorder],
    }
    trainer = run.build(tokenizer, common)
    for evaluation in evaluations:
        evaluation.trainer = trainer
    return trainer


def _model_arguments(model: ModelConfig, path: str, training: Any) -> dict[str, Any]:
    """What TRL's trainers load the model by; of an adapter that is trained on, the model itself."""
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


def _prepare(trainer: Any, run: TrainingRun) -> None:
    """Slow or freeze the embeddings and share prompts, where the settings say so."""
    if (rate := run.asked.embedding_rate) != 1:
        slow_embeddings(trainer, rate)
    if run.asked.share_prompt:
        from sozo.training.shared_prompt import share_prompt

        unwrapped = trainer.accelerator.unwrap_model
        shared = share_prompt(unwrapped(trainer.model))
        if shared and (reference := getattr(trainer, "ref_model", None)):
            share_prompt(unwrapped(reference))


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
            others = [each for each in group["params"] if each is not weight]
            # Asked again, it gives the optimizer that it has.
            if 0 < len(others) < len(group["params"]):
                group["params"] = others
                slowed = {"params": [weight], "lr": group["lr"] * rate}
                optimizer.add_param_group({**group, **slowed})
        return optimizer

    trainer.create_optimizer = create_optimizer


def _fit(
    trainer: Any,
    recorder: RunRecorder,
    checkpoint: Path | None,
    folder: RunFolder,
) -> None:
    for shown in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(shown)
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
    """End a run that stands behind a checkpoint and is not finished, which W&B sees by the exit status."""
    recorder.digests.join(_GRACE)  # without them sizes must do
    wait()  # a launcher ends all processes once one has ended
    trainer.end()
    end_preempted(
        f"checkpoint-{trainer.state.global_step} is written; the same command goes on, without resume_from_checkpoint"
    )


def stored_dataset(rows: Sequence[dict[str, Any]], training: Any) -> Any:
    """The rows as a dataset on disk: TRL caches tokens and reference log-probabilities beside it.

    So all processes share them, and a run that resumes after a kill finds them.
    """
    from datasets import Dataset

    path = Path(training.output_dir) / _ROWS
    with training.main_process_first(desc="writing the dataset"):
        if not (path / "state.json").is_file():
            with whole_folder(path) as partial:
                Dataset.from_list(list(rows)).save_to_disk(partial)
    return Dataset.load_from_disk(path)
