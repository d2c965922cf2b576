"""Texts and settings that each integration is given."""

from fakes import list_text

TEN = list_text(
    ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
)


OTHER = list_text(
    ["猫", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
)


SETTINGS = {"noun_checker": "jumandic", "embedding_model": "ja-ginza"}


FREE = {**SETTINGS, "penalise_duplicates": False}


STORY = "鶴を助けた若者の家に、美しい娘が来て機を織った。"


REWRITE = "鶴の着ぐるみの若者が動画を撮っていると、次の日、布を売りたいという娘が来た。"
