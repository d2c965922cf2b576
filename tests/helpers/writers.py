"""From settings to a generator in one call."""

from sozo.models.settings import resolve
from sozo.tasks.task import Task


def load_generator(asked, *, task=None, **options):
    """Who writes by these settings, loaded."""
    return resolve(asked, task or Task).pinned().load(task, **options)
