"""Imitates the command `jumanpp`: recorded answers of a real Juman++ 2 on stdin's lines, its traps, and ways to fail.

Only the standard library, so that it starts at once. Unknown words are 未定義語; a line that starts with "# " is never
answered; bytes that are not UTF-8 give "# ERROR". The options add faults; with --once only the first process has them.
"""

import argparse
import json
import sys
import time
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "files" / "jumanpp_recorded.jsonl"


def load_answers():
    rows = [
        json.loads(line) for line in RECORDED.read_text("utf-8").split("\n") if line
    ]
    # An output that starts with a comment was given after an unanswered line, not to its input alone.
    rows = [
        r
        for r in rows
        if r["answered"] and r["kind"] != "edge" and not r["output"].startswith("# ")
    ]
    return {row["input"].encode(): row["output"].encode() for row in rows}


def unknown(line):
    try:
        word = line.decode()
    except UnicodeDecodeError:
        return b"# ERROR\nEOS\n"
    kind = "カタカナ" if all("ァ" <= c <= "ー" for c in word) else "その他"
    return f'{word} {word} {word} 未定義語 15 {kind} 1 * 0 * 0 "未知語:{kind} 品詞推定:名詞"\nEOS\n'.encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", help="append every line that arrives to this file")
    parser.add_argument("--starts", help="append one byte to this file at every start")
    parser.add_argument(
        "--once",
        action="store_true",
        help="only the first process (see --starts) has faults",
    )
    parser.add_argument(
        "--die-after",
        type=int,
        help="exit after so many answers; the warm-up is the first",
    )
    parser.add_argument("--hang", help="never answer this word")
    parser.add_argument(
        "--late", type=float, default=0.0, help="seconds before every answer"
    )
    parser.add_argument(
        "--behind",
        action="store_true",
        help="give every word the answer to the one before it",
    )
    parser.add_argument(
        "--empty",
        action="store_true",
        help="give every word but the first an empty answer",
    )
    parser.add_argument(
        "--inner-eos",
        action="store_true",
        help="print an EOS inside every answer but the first",
    )
    parser.add_argument("--deaf", action="store_true", help="never read stdin")
    parser.add_argument(
        "--complain", type=int, default=0, help="start with so many lines on stderr"
    )
    parser.add_argument(
        "--endless",
        type=float,
        help="answer with lines for ever, so many seconds apart",
    )
    parser.add_argument(
        "--echo", help="answer this with {} replaced by the word, and commas by spaces"
    )
    parser.add_argument("--pieces", action="store_true", help="print byte by byte")
    args = parser.parse_args()

    first = True
    if args.starts:
        with Path(args.starts).open("ab") as file:
            first = file.tell() == 0
            file.write(b".")
    faulty = first or not args.once
    for k in range(args.complain):
        sys.stderr.write(f"complaint {k + 1}\n")
    sys.stderr.flush()
    if args.die_after == 0:
        sys.exit(3)
    if args.deaf and faulty:
        time.sleep(3600)

    answers, previous, answered = load_answers(), b"EOS\n", 0
    while line := sys.stdin.buffer.readline():
        word = line.removesuffix(b"\n")
        if args.log:
            with Path(args.log).open("ab") as file:
                file.write(word + b"\n")
        if word.startswith(b"# "):
            continue
        if faulty and args.hang == word.decode("utf-8", "replace"):
            time.sleep(3600)
        while args.endless is not None and faulty:
            sys.stdout.buffer.write(b"y\n" * (1 if args.endless else 1 << 15))
            sys.stdout.buffer.flush()
            time.sleep(args.endless)
        answer = b"EOS\n" if not word else answers.get(word) or unknown(word)
        printed = previous if args.behind and faulty and answered else answer
        if args.inner_eos and faulty and answered:
            printed = printed.replace(b"EOS\n", b"EOS\nEOS\n")
        if args.empty and faulty and answered:
            printed = b"EOS\n"
        if args.echo and faulty:
            printed = (
                args.echo.replace("{}", word.decode()).replace(",", " ").encode()
                + b"\nEOS\n"
            )
        previous, answered = answer, answered + 1
        time.sleep(args.late if faulty else 0)
        for piece in (
            [printed[i : i + 1] for i in range(len(printed))]
            if args.pieces
            else [printed]
        ):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        if faulty and answered == args.die_after:
            sys.exit(1)


main()
