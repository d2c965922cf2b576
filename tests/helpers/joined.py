"""Packages that add tasks and commands by entry points."""


def declare(folder, package, entries):
    """What an installed package leaves for others to find."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(entries)
    return folder
