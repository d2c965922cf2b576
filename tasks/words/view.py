"""How results of the word tasks are shown."""

from sozo.tasks.run_result import RunResult
from sozo.tasks.view import View


class WordsView(View[RunResult]):
    """As any task's, in the words of `labels.yaml`."""
