"""Fixtures that several files of this room share."""

from model_folders import model_folder, vllm  # noqa: F401
