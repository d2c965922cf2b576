"""A training run, decided: what was asked is read, checked and completed here, and nowhere behind it."""

from collections.abc import Mapping, Sequence
from typing import Any

from trl import ModelConfig

from sozo.data.prompts.form import read_form, settled_form
from sozo.models.trained_on import Training
from sozo.training.arguments import CommonArguments
from sozo.training.evaluation import read_evaluate
from sozo.training.run_settings import hide_token, resolved_settings, split
from sozo.training.tracking import RunRecorder


class TrainingRun:
    """One training as it is decided, from what was asked: nothing of the command line is read after it.

    A method's own says how its trainer is built (`build`) and what must fit into the model's window (`fit`);
    `sozo.training.run.train` does all around them.
    """

    sampler: str | None = None  # who draws, of GRPO

    def __init__(
        self,
        asked: CommonArguments,  # the method's own settings
        training: Any,  # TRL's
        model: ModelConfig,
        *,
        facts: dict[str, Any],
        sources: Sequence[Training],
        free_arguments: Sequence[Mapping[str, Sequence[str]]] = (),
        recorder: RunRecorder | None = None,
    ) -> None:
        """Decide; `facts` are what else decides the run, JSON-able: rewards as built, the data's identity.

        `sources` are what answers were drawn and chosen by, or what pays for them. `free_arguments` are of each entry
        of `asked.tasks`, by reward, those that decide nothing.
        """
        hide_token(training)
        # What it does is done here, and by a checkpoint that is marked.
        training.enable_jit_checkpoint = False
        asked.system_prompt, training.chat_template_kwargs = settled_form(
            asked.system_prompt,
            training.chat_template_kwargs,
            model.model_name_or_path,
        )
        self.form = read_form(asked.system_prompt, training.chat_template_kwargs)
        self.evaluate = read_evaluate(asked.evaluate)
        self.embedding_rate = asked.embedding_rate
        self.share_prompt = asked.share_prompt
        self.sources = sources
        self.recorder = recorder or RunRecorder()
        self.settings = resolved_settings(asked, training, model, facts)
        self.what, self.how, self.free = split(
            self.settings, asked, training, free_arguments
        )

    def fit(self, tokenizer: Any, training: Any, window: int | None) -> None:
        """Fit limits into the model's window (None: no limit); refuse what cannot be, such as a form without template."""
        raise NotImplementedError

    def build(self, tokenizer: Any, common: dict[str, Any]) -> Any:
        """The trainer; `common` is what all of TRL's trainers take."""
        raise NotImplementedError
