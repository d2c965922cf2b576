"""How an answer is measured: words, encoders, distances, endpoints, judges and statistics."""

if __name__ != "sozo.scoring":
    raise ImportError(
        f"{__name__} is a folder of sozo's repository; import it as sozo.scoring"
    )
