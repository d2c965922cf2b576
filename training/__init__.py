"""Training on DAT rewards: configuration, tracking, the embedded model and the trainers. Never imports eval."""

if __name__ != "sozo.training":
    raise ImportError(
        f"{__name__} is a folder of sozo's repository; import it as sozo.training"
    )
