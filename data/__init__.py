"""What every other room reads: the answer table, the protocol's prompts, the noun list and the stories."""

if __name__ != "sozo.data":
    raise ImportError(
        f"{__name__} is a folder of sozo's repository; import it as sozo.data"
    )
