"""How results of the word tasks are shown."""

from sozo.tasks.finished import Finished
from sozo.tasks.view import View


class WordsView(View[Finished]):
    """As any task's, in the words of `labels.yaml`."""
