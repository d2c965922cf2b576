"""What a run's folder holds."""

import json


def config_of(folder):
    return json.loads((folder / "config.json").read_text("utf-8"))


def metrics_of(folder):
    return json.loads((folder / "metrics.json").read_text("utf-8"))


def change_config(folder, part, **values):
    config = config_of(folder)
    config.setdefault(part, {}).update(values)
    (folder / "config.json").write_text(json.dumps(config), "utf-8")


def bytes_of(folder):
    """Every file of a table with its bytes."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
