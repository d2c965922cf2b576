"""An endpoint is part of a result: two servers under one name are told apart, and one that moved is not."""

import json
from dataclasses import replace as changed

import numpy as np
import pytest

from fakes import FakeEncoder
from finished_runs import JUDGE, given_dat, given_jcq
from judge_asked import ask
from judge_server import completion as judged
from model_server import server
from sentences import refused, says
from sozo.data.run_folder import RunFolder
from sozo.eval.evaluated import find_evaluated, not_alike
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.judges.endpoint import endpoint_judge
from sozo.scoring.judges.protocol import JudgeSettings

KNOWN = {"水": [1, 2, 3], "理論": [3, 1, 0], "走り": [0, 1, 1], "犬": [1, 0, 0]}
SCORES = {str(k): [[4, 4, 4, 4]] for k in range(1, 8)}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-server-9876543210")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def served(noise=0.0, revision="api", **vectors):
    known = {
        word: np.array(vector) + noise for word, vector in {**KNOWN, **vectors}.items()
    }
    return FakeEncoder(known, name="openai:e", revision=revision)


# A model in a folder, too: its name is where it lies, and what is there may be trained anew.
@pytest.mark.parametrize("revision", ["api[水:]", "0.5000 * unknown + 0.5000 * 5.2.0"])
def test_a_cache_is_of_one_server_and_noise_does_not_make_it_another(
    revision, tmp_path
):
    first = WordVectors(served(revision=revision), tmp_path)
    row = first.unit(["犬"])
    same = served(noise=1e-5, revision=revision)
    assert WordVectors(same, tmp_path).rows(["犬"]) == [0]
    assert same.batches == [
        ["水", "理論", "走り"]
    ]  # who is there is asked, the word is not
    other = WordVectors(served(revision=revision, 水=[3, 2, 1], 犬=[0, 1, 0]), tmp_path)
    assert (other.unit(["犬"]) != row).any()
    longer = {word: [*vector, 1] for word, vector in KNOWN.items()}
    assert WordVectors(
        FakeEncoder(longer, name="openai:e", revision=revision), tmp_path
    ).unit(["犬"]).shape == (1, 4)
    assert len(list(tmp_path.glob("*.sqlite"))) == 3


def test_a_run_continues_at_a_server_with_the_same_vectors_and_at_no_other(tmp_path):
    def start(encoder):
        RunFolder(tmp_path / "run", {}).start(
            {"scorer": WordVectors(encoder).describe()}, {}
        )

    start(served())
    start(served(noise=1e-5))
    with refused("run folder: another server of vectors"):
        start(served(水=[3, 2, 1]))


def test_scores_by_two_servers_of_one_name_are_not_compared(tmp_path):
    facts = [
        WordVectors(encoder).describe()
        for encoder in (served(), served(1e-5), served(水=[3, 2, 1]))
    ]
    places = [
        str(given_dat(tmp_path / str(k), f"m{k}", 0.8, scorer=fact))
        for k, fact in enumerate(facts)
    ]
    one, moved, other = (model.run("dat") for model in find_evaluated(places))
    assert not_alike(one, moved) is None
    assert not_alike(one, other).startswith("embedding_probe.水 is ")


def test_an_encoder_behind_a_server_says_where_it_is_and_what_replied(tmp_path):
    def reply(body):
        data = [
            {"index": k, "embedding": [1.0, len(word)]}
            for k, word in enumerate(body["input"])
        ]
        return 200, {"data": data, "model": "e-2026"}

    with server(reply) as (url, _):
        vectors = WordVectors(
            make_encoder(
                "openai:e", endpoint={"base_url": url.replace("//", "//me:pass-word@")}
            )
        )
        described = vectors.describe()
    assert (described["embedding_revision"], described["embedding_dimensions"]) == (
        "api",
        2,
    )
    assert described["embedding_probe"]["理論"] == "0.4472 0.8944"
    assert vectors.servers == (
        {"encoder": "openai:e", "base_url": url, "reply_models": ["e-2026"]},
    )


def jcq(folder, name, *, server=None, reply_model=None):
    judge = {**JUDGE, **({"server": server} if server else {})}
    path = given_jcq(folder / name, name, SCORES, judge=judge)
    metrics = json.loads((path / "metrics.json").read_text("utf-8"))
    judged_by = [{"model": reply_model, "fingerprint": None, "judgements": 1}]
    (path / "metrics.json").write_text(
        json.dumps({**metrics, "judged_by": judged_by}), "utf-8"
    )
    return find_evaluated([str(path)])[0].run("jcq")


def test_judgements_of_two_servers_or_models_under_one_name_are_not_compared(tmp_path):
    one = jcq(tmp_path, "a", server="http://one/v1", reply_model="j-1")
    assert (
        not_alike(one, jcq(tmp_path, "b", server="http://one/v1", reply_model="j-1"))
        is None
    )
    other = jcq(tmp_path, "c", server="http://two/v1", reply_model="j-1")
    assert (
        not_alike(one, other) == "the judge's server is http://one/v1 and http://two/v1"
    )
    moved_on = jcq(tmp_path, "d", server="http://one/v1", reply_model="j-2")
    assert not_alike(one, moved_on) == "what judged is j-1 and j-2"


def test_another_server_is_another_judgement_unless_it_has_a_name():
    first, second = (
        endpoint_judge(JudgeSettings("j", f"http://{host}/v1"))
        for host in ("one", "two")
    )
    assert first.parameters != second.parameters
    named = JudgeSettings("j", "http://one/v1", judge_endpoint="{server: the lab's}")
    first, second = (
        endpoint_judge(named),
        endpoint_judge(changed(named, judge_base_url="http://two/v1")),
    )
    assert first.parameters == second.parameters
    assert first.parameters["server"] == "the lab's"


def test_a_reply_says_what_it_is_of_and_a_change_is_told(capsys):
    replies = iter(("j-1", "j-1", "j-2\x1b[31m"))

    def reply(body):
        return 200, {**judged(), "model": next(replies), "system_fingerprint": "fp_1"}

    with server(reply) as (url, _):
        judge = endpoint_judge(JudgeSettings("j", url))
        first, second = ask(judge, "p")[0], ask(judge, "p")[0]
        assert (first.model, second.fingerprint) == ("j-1", "fp_1")
        assert capsys.readouterr().err == ""
        assert ask(judge, "p")[0].model == "j-2 [31m"
    assert says("client: replies come from another", capsys.readouterr().err)


ONE = {"decoder": {"server": "http://one/v1", "reply_model": "m"}}
TWO = {"decoder": {"server": "http://two/v1", "reply_model": "m"}}
WEIGHTS = {"model_sha256": "a" * 64, "base_sha256": "b" * 64}


@pytest.mark.parametrize(
    ("one", "two", "row"),
    [
        (ONE, TWO, "two servers"),
        (WEIGHTS, WEIGHTS | {"base_sha256": "c" * 64}, "two bases"),
    ],
)
def test_runs_of_two_servers_are_one_model_only_if_somebody_says_so(
    one, two, row, tmp_path
):
    template = given_dat(tmp_path / "template", "m", 0.8)
    metrics = find_evaluated([str(template)])[0].run("dat").metrics
    for name, where, trials in (("one", one, 10), ("two", two, None)):
        folder = RunFolder(tmp_path / name, {"task": "dat", "num_usable": trials})
        folder.start(where, {})
        folder.finish(metrics | {"trials": trials})
    places = [str(tmp_path / name) for name in ("one", "two")]
    with refused(f"evaluated: one name, {row}"):
        find_evaluated(places)
    [model] = find_evaluated([f"m={place}" for place in places])
    assert len(model.runs) == 2
