"""Settings by the words of other tools are told by ours, and nothing is told that helps nobody."""

import pytest

from sozo.data.errors import UserError
from sozo.data.settings import _NOT_HERE, _OTHERS, hint
from sozo.training.arguments import GrpoArguments
from sozo.training.config import parse
from sozo.training.grpo import GrpoSettings


@pytest.mark.parametrize("name", ["torch_dtype", "lr", "lora_rank", "max_new_tokens"])
def test_a_setting_of_another_tool_is_told_by_ours(name, tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(f"tasks: [dat]\n{name}: 1\n")
    with pytest.raises(UserError, match=f"here it is {_OTHERS[name]}"):
        parse(GrpoArguments, GrpoSettings, ["--config", str(file)])


def test_what_has_no_counterpart_says_why():
    assert _NOT_HERE["max_prompt_length"] in hint("max_prompt_length", ["max_length"])


def test_a_word_of_ours_comes_only_where_it_exists():
    assert hint("torch_dtype", ["torch_compile"]) == " (did you mean torch_compile?)"
    assert hint("learning_rat", ["learning_rate"]) == " (did you mean learning_rate?)"
