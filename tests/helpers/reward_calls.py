"""How TRL calls a reward."""

CALLS = {
    "prompts alone": ((), {"prompts": ["1. 犬"]}),
    "without names": ((["1. 犬"], ["?"]), {}),
    "nothing": ((), {}),
    "none": ((), {"completions": None}),
    "none behind prompts": ((), {"prompts": ["?"], "completions": None}),
    "one text": ((), {"completions": "1. 犬"}),
    "more prompts": ((), {"prompts": ["?", "?"], "completions": ["犬"]}),
    "fewer prompts": ((), {"prompts": ["?"], "completions": ["犬", "海"]}),
    "a number": ((), {"completions": [None]}),
    "bytes": ((), {"completions": [b"1. x"]}),
}
