"""What the evaluation page says, in English and Japanese."""

from __future__ import annotations

import html
import re

LABELS = {
    "overview": ("At a glance", "概要"),
    "table11": ("DAT: Divergent Association Task", "DAT（発散的連想課題）"),
    "table12": ("JCQ by criterion", "JCQ：評価基準別"),
    "table13": ("JCQ by task", "JCQ：課題別"),
    "table5": ("JCQ: task by criterion, all models together", "JCQ：課題×評価基準（全モデル）"),
    "table14": ("SAT: Story Alteration Task", "SAT（物語改変課題）"),
    "changes": ("What changed", "何が変わったか"),
    "task_changes": ("What changed in JCQ, by task", "JCQの変化：課題別"),
    "charts": ("Pictures", "図"),
    "reader": ("Read the answers", "回答を読む"),
    "facts": ("What was run", "実行条件"),
    "paper": ("paper", "論文"),
    "papers_models": ("The paper's models", "論文のモデル"),
    "from_base": ("from", "比較元"),
    "model": ("Model", "モデル"),
    "trials": ("Responses", "応答"),
    "valid": ("Valid", "有効"),
    "mean": ("Mean", "平均"),
    "std": ("Std", "標準偏差"),
    "unique_words": ("Unique words", "異なり語数"),
    "equal_words": ("at equal sample size", "同じ標本数で"),
    "fluency": ("Fluency", "流暢性"),
    "flexibility": ("Flexibility", "柔軟性"),
    "originality": ("Originality", "独創性"),
    "elaboration": ("Elaboration", "精緻性"),
    "unusual uses": ("Unusual uses", "変わった使い方"),
    "consequences": ("Consequences", "結果"),
    "just suppose": ("Just suppose", "仮定"),
    "situation": ("Situation", "状況"),
    "common problem": ("Common problem", "よくある問題"),
    "improvement": ("Improvement", "改善"),
    "imaginative stories": ("Imaginative stories", "想像的な物語"),
    "dat": ("DAT", "DAT"),
    "jcq": ("JCQ", "JCQ"),
    "sat": ("SAT", "SAT"),
    "scored": ("Scored", "採点済み"),
    "compliant": ("Keeps the conditions", "条件を守る"),
    "compliant_mean": ("Mean of these", "その平均"),
    "length": ("Length", "文字数"),
    "copied": ("Copied", "原文の写し"),
    "score_axis": ("DAT score", "DATスコア"),
    "words_axis": ("Unique words at equal sample size", "異なり語数（同じ標本数）"),
    "compliance_axis": ("Rewrites that keep the conditions (%)", "条件を守る書き換え（%）"),
    "distance_axis": ("SAT score (mean distance)", "SATスコア（平均距離）"),
    "radar": ("The four criteria", "四つの評価基準"),
    "dat_chart": ("DAT scores of valid responses", "有効応答のDATスコア"),
    "words_chart": ("Unique words against score", "異なり語数とスコア"),
    "sat_chart": ("SAT score against compliance", "SATスコアと条件の遵守"),
    "language": ("日本語", "English"),
    "dat_note": (
        "Mean of the 45 cosine distances between a response's ten words, 0 to 2, over the valid responses, with its 95% "
        "interval. More valid responses show more words; so the last column gives the words to expect in as many valid "
        "responses as the smallest row has (rarefaction). It has no interval.",
        "応答の10語の45組のコサイン距離の平均（0〜2）。有効応答のみの平均と95%区間。有効応答が多いほど語も増えるため、"
        "最後の列は最も少ない行と同じ数の有効応答で期待される異なり語数（希薄化）。区間はない。",
    ),
    "jcq_note": (
        "Scores of the judge, 1 to 5: mean over questions, 95% bootstrap interval over questions, and n of N answers "
        "that have a score. An answer without a score counts nowhere and stays visible in N.",
        "評価モデルの点（1〜5）：質問についての平均、質問のブートストラップによる95%区間、N件中採点できたn件。"
        "採点できない回答は平均に入れず、Nに残す。",
    ),
    "trial_note": (
        "These are not the 700 questions of the benchmark: no JCQ score, and nothing to set beside the paper's.",
        "これはベンチマークの700問ではない：JCQのスコアではなく、論文の値とは比べられない。",
    ),
    "sat_note": (
        "Mean cosine distance between story and rewrite, 0 to 2, over stories, with its 95% interval. A distance alone "
        "rewards leaving the topic: read it beside how many rewrites keep the prompt's conditions.",
        "元の物語と書き換えのコサイン距離（0〜2）の物語についての平均と95%区間。距離だけでは話題から離れるほど高くなる："
        "条件を守った書き換えの割合と合わせて読むこと。",
    ),
    "scale_note": (
        "The paper's figures stand on its own encoder, judge and stories: with others, compare directions, not digits.",
        "論文の値は論文のエンコーダー・評価モデル・物語によるもの：違うものを使ったときは、値ではなく向きを比べること。",
    ),
    "changes_note": (
        "Difference from the base with its 95% interval, effect size d, and p corrected over the cells of this table "
        "(Holm). JCQ is paired by question, SAT by story. Coloured: corrected p below 0.05.",
        "比較元からの差と95%区間、効果量d、この表のセルで補正したp（Holm）。JCQは質問ごと、SATは物語ごとに対応づける。"
        "色つき：補正後のpが0.05未満。",
    ),
    "search": ("search", "検索"),
    "sort": ("Order", "並べ方"),
    "as_asked": ("as asked", "元の順"),
    "gain": ("largest gain first", "上がった順"),
    "loss": ("largest loss first", "下がった順"),
    "previous": ("Previous", "前へ"),
    "next": ("Next", "次へ"),
    "reply": ("the judge's reply", "評価モデルの返答"),
    "not_asked": ("not judged", "未評価"),
    "gain_note": (
        "A gain is the last model ticked minus the first.",
        "上がり幅は、選んだ最後のモデルから最初のモデルを引いたもの。",
    ),
    "page": ("Page", "ページ"),
    "no_script": (
        "The reader needs JavaScript, which is switched off here; everything above works without it.",
        "回答を読むにはJavaScriptが必要です（ここでは無効）。上の内容はすべて無くても見られます。",
    ),
    "old_browser": ("This browser cannot unpack the answers; use one from 2023 or later.", "このブラウザでは回答を展開できません。2023年以降のものをお使いください。"),
}


def both(key: str) -> str:
    """A label in both languages as HTML; the page's style shows one of them."""
    english, japanese = LABELS[key]
    return f'<span lang="en">{html.escape(english)}</span><span lang="ja">{html.escape(japanese)}</span>'


def translate_chart(svg: str) -> str:
    """A chart whose texts that are English labels come in both languages."""
    found = {html.escape(english): key for key, (english, _) in LABELS.items()}

    def replaced(match: re.Match[str]) -> str:
        key = found.get(match[1])
        if key is None:
            return match[0]
        english, japanese = LABELS[key]
        return f'><tspan lang="en">{html.escape(english)}</tspan><tspan lang="ja">{html.escape(japanese)}</tspan></text>'

    return re.sub(r">([^<>]+)</text>", replaced, svg)
