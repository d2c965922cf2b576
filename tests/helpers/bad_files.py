"""Files that no reader takes."""

import pytest

from sozo.data.errors import UserError

DIGITS, DEEP = "1" * 5_000, "[" * 3_000


BAD_YAML = (
    *(
        f"a: {DIGITS}",
        DEEP,
        "a: {b: " * 3_000,
        DEEP + "]" * 3_000,
        "- " * 3_000,
        "a: 1\na: 2",
        "a: {b: 1, b: 2}",
    ),
    *(
        "1: a\n1: b",
        "a: !!timestamp x",
        "a: !!int ''",
        "a: !!float '.'",
        "a: !!python/object:os.system x",
        "a: *b",
    ),
    *(
        "? [a]\n: b",
        "a: !!bool x",
        "a: &b [*b]",
        "a: &b {c: *b}",
        "\x00",
        "a: \x07",
        "%YAML 9.9\n---\na: 1",
        "a",
    ),
    "\n".join(
        ["a0: &a0 [x, x]"]
        + [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 30)]
    ),
    "a0: &a0 {k: 1}\n"
    + "".join(
        f"a{k}: &a{k} {{<<: [{', '.join([f'*a{k - 1}'] * 10)}]}}\n"
        for k in range(1, 12)
    ),
    f"a: &a [{'x, ' * 10_000}]\nb: [{'*a, ' * 10_000}]",
    *(f"a: 0x{'f' * 5_000}", f"a: {'1:' * 3_000}1", 'a: "\\ud800"'),
    *(
        "a: 'b",
        'a: "\\x"',
        "<<: 1",
        "<<: [1]",
        "a: !!binary é",
        "a: !!set [1]",
        "a: !!omap 1",
    ),
)


def one_line(function, *arguments):
    with pytest.raises((UserError, ValueError)) as caught:
        function(*arguments)
    assert type(caught.value) in (UserError, ValueError)
    assert "\n" not in str(caught.value)
    assert 0 < len(str(caught.value)) < 1_000
    return str(caught.value)
