"""Many models, raters, judges, encoders or seeds: commands above the core, which never imports them."""

if __name__ != "sozo.studies":
    raise ImportError(
        f"{__name__} is a folder of sozo's repository; import it as sozo.studies"
    )
