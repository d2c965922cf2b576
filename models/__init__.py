"""What a language model is, for those who run it and those who train it: its folder, its attention, its memory."""

if __name__ != "sozo.models":
    raise ImportError(
        f"{__name__} is a folder of sozo's repository; import it as sozo.models"
    )
