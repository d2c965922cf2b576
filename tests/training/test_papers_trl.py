"""The paper's YAMLs say, or leave at TRL 0.18's default, every field that changes what is trained."""

from dataclasses import fields

import pytest
import yaml

from documents import ROOT
from shipped import METHODS, PAPER, settings_of

TABLE = yaml.safe_load(
    (ROOT / "tests" / "files" / "trl_fields.yaml").read_text("utf-8")
)
MINE = ("sft", "dpo", "grpo")


def of(section, method):
    """What the table says in a section for a method: of all three and of its own; lists as mappings to None."""
    parts = [TABLE[section].get(part, {}) for part in ("all", method)]
    return {
        name: part[name] if isinstance(part, dict) else None
        for part in parts
        for name in part
    }


@pytest.mark.parametrize("method", MINE)
def test_every_field_is_classified_once(method):
    told = [name for section in TABLE for name in of(section, method)]
    assert len(told) == len(set(told))
    there = {field.name for field in fields(METHODS[method][1])}
    assert there == set(told), (
        "a field came or went: read what it does, and classify it in tests/files/trl_fields.yaml"
    )
    assert set(of("idle", method).values()) <= set(of("changes", method))


@pytest.mark.parametrize("method", MINE)
@pytest.mark.parametrize("name", PAPER)
def test_what_changes_the_loss_is_written_down_or_trl_0_18s(name, method):
    path = ROOT / "recipes" / name / f"{method}.yaml"
    written = yaml.safe_load(path.read_text("utf-8"))
    _, training, _ = settings_of(path)
    values = {
        field: getattr(training, field)
        for field in of("changes", method).keys() - written.keys()
    }
    assert {
        field: getattr(value, "value", value) for field, value in values.items()
    } == {field: of("changes", method)[field] for field in values}


@pytest.mark.parametrize("method", ["sft", "grpo"])
def test_the_other_reading_differs_where_trl_0_14_did(method):
    recipes = ROOT / "recipes" / "swallow-8b"
    files = (
        yaml.safe_load((recipes / f"{name}.yaml").read_text("utf-8"))
        for name in (method, f"{method}-0.14")
    )
    of_018, of_014 = files
    differ = {
        name: (of_018[name], of_014[name])
        for name in of_018.keys() | of_014
        if of_018[name] != of_014[name]
    }
    # A mean per completion does not see the micro-batch, so it may be larger.
    batch = {
        "completions_per_step": (256, 256 * 8),
        "per_device_train_batch_size": (4, 16),
    }
    apart = ("output_dir", "run_name", "save_steps", "evaluate")
    assert {name: pair for name, pair in differ.items() if name not in apart} == {
        "sft": {"completion_only_loss": (True, False)},
        "grpo": batch | {"temperature": (1.0, 0.9), "loss_type": ("bnpo", "grpo")},
    }[method]
