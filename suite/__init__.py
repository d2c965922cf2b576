"""What joins the core by entry points, as another package does: tasks, and people's sheets; the core imports none of it."""

if __name__ != "sozo.suite":
    raise ImportError(
        f"{__name__} is a folder of sozo's repository; import it as sozo.suite"
    )
