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
@pytest.mark.parametrize("model", PAPER)
def test_the_other_reading_differs_where_trl_0_17_did(model, method):
    recipes = ROOT / "recipes" / model
    of_018, of_017 = (
        yaml.safe_load((recipes / f"{name}.yaml").read_text("utf-8"))
        for name in (method, f"{method}-0.17")
    )
    differ = {
        name: (of_018.get(name), of_017.get(name))
        for name in of_018.keys() | of_017
        if of_018.get(name) != of_017.get(name)
    }
    assert differ.pop("output_dir")[1] == f"runs/{model}/{method}-0.17"
    assert differ.pop("run_name")[1] == f"{model}-{method}-0.17"
    assert (
        differ
        == {
            "sft": {"completion_only_loss": (True, False)},
            "grpo": {
                "sampler": (None, "trl"),
                "temperature": (1.0, 0.9),
                "top_k": (0, 50),
            },
        }[method]
    )
