"""Fixtures that several files of this room share."""

from model_folders import model_folder, vllm  # noqa: F401
from sft_dpo_runs import answers, words  # noqa: F401
from small_encoders import tiny_bert  # noqa: F401
