"""How TRL calls a reward."""

CALLS = {
    "prompts alone": ((["1. 犬"],), {}),
    "nothing": ((), {}),
    "none": ((), {"completions": None}),
    "none behind prompts": ((["?"], None), {}),
    "one text": ((), {"completions": "1. 犬"}),
    "more prompts": ((["?", "?"], ["犬"]), {}),
    "fewer prompts": ((["?"], ["犬", "海"]), {}),
    "a number": ((), {"completions": [None]}),
    "bytes": ((), {"completions": [b"1. x"]}),
}
