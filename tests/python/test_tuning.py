"""Index.tune() against batches that are evaluated, and the command line."""
import json
import random
import sys

import pytest

import quern
from conftest import SAMPLE, SOURCE

QRELS = SAMPLE / "qrels.txt"
sys.path.insert(0, str(SOURCE / "tests" / "conformance"))


def test_values_are_those_of_batches(sample, topics):
    tuned = sample.tune(topics, QRELS, measure="nDCG@10", k1=[0.4, 1.2, 3], b=(0.1, 0.75), k=50)
    assert tuned.measure == "ndcg_cut_10" and tuned.parameters == ["k1", "b"] and tuned.queries == 20
    for point in tuned.points:
        found = sample.batch(topics, 50, k1=point["k1"], b=point["b"])
        assert found.evaluate(QRELS, ["nDCG@10"])["ndcg_cut_10"] == point["value"]
    assert tuned.value == max(point["value"] for point in tuned.points)
    assert tuned.best in tuned.points and tuned.options == {"k1": tuned.best["k1"], "b": tuned.best["b"]}
    assert tuned.start["k1"] == 1.2 and tuned.folds == [] and tuned.cross_validated is None
    assert "ndcg_cut_10" in repr(tuned)


def test_values_are_those_of_the_command_line(sample, sample_path, topics, command_line):
    options = ["--folds", 4, "--by-coordinates", "--start", "b=0.2", "--k1", "0.2:2.0:0.2", "--b", "0:1:0.1"]
    printed = json.loads(
        command_line("tune", sample_path, "-q", SAMPLE / "topics.txt", "--qrels", QRELS, "--json", *options)
    )
    steps = range(1, 11)
    tuned = sample.tune(
        topics, QRELS, folds=4, by_coordinates=True, start={"b": 0.2}, k1=[i / 5 for i in steps], b=[i / 10 for i in range(11)]
    )
    assert tuned.points == printed["points"] and tuned.best == printed["best"]
    assert tuned.cross_validated == printed["cross_validated"]
    assert [fold["value"] for fold in tuned.folds] == [fold["value"] for fold in printed["folds"]]


def test_judgements_in_other_forms_and_page_rank(sample, topics):
    qrels = {}
    for line in QRELS.read_text().splitlines():
        qid, _, docno, grade = line.split()
        qrels.setdefault(qid, {})[docno] = int(grade)
    assert sample.tune(topics, qrels).points == sample.tune(list(topics.items()), QRELS, threads=1).points
    tuned = sample.tune(topics, qrels, scorer="bm25+pagerank", alpha=[0, 0.5], complete=True)
    assert [point["alpha"] for point in tuned.points] == [0, 0.5]


def test_frames(sample, topics):
    pandas = pytest.importorskip("pandas")
    tuned = sample.tune(pandas.DataFrame({"qid": list(topics), "query": list(topics.values())}), QRELS, k1=[1, 2])
    frame = tuned.to_frame()
    assert list(frame.columns) == ["k1", "map"] and list(frame["map"]) == [point["value"] for point in tuned.points]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"k1": [-1]}, ValueError, "k1"),
        ({"k1": [float("nan")]}, ValueError, "k1"),
        ({"k1": []}, ValueError, "k1"),
        ({"k1": ["high"]}, TypeError, "k1 must be a list of numbers"),
        ({"b": 0.5}, TypeError, "b must be a list of numbers"),
        ({"folds": "x"}, TypeError, "folds must be int, not 'x'"),
        ({"idf": 3}, TypeError, "idf must be str, not 3"),
        ({"start": {"k1": "x"}, "by_coordinates": True}, TypeError, "^k1 must be float, not 'x'"),
        ({"mu": 5}, TypeError, "mu"),
        ({"start": {"mu": 5}}, TypeError, "mu"),
        ({"measure": "bert"}, ValueError, "unknown measure"),
        ({"folds": 1}, ValueError, "folds"),
        ({"folds": 21}, ValueError, "there are 20"),
        ({"alpha": [0.5]}, ValueError, "scorer"),
        ({"idf": "other"}, ValueError, "idf"),
        ({"k1": [i / 1000 for i in range(1000)], "b": [i / 1000 for i in range(1000)]}, ValueError, "1000000 points"),
    ],
)
def test_wrong_arguments(sample, topics, arguments, error, text):
    with pytest.raises(error, match=text):
        sample.tune(topics, QRELS, **arguments)


def test_stored_weights_are_refused(tmp_path):
    quern.index([{"docno": "M1", "text": "mill"}], tmp_path / "ix", weights="qld")
    with pytest.raises(quern.InvalidArgument, match="qld.*fixed when it was built"):
        quern.open(tmp_path / "ix").tune({"1": "mill"}, {"1": {"M1": 1}})


def average_precision(ranked, relevant):
    found = total = 0
    for rank, docno in enumerate(ranked, 1):
        if docno in relevant:
            found += 1
            total += found / rank
    return total / len(relevant)


def test_values_are_those_of_a_plain_grid(tmp_path, monkeypatch):
    import reference

    draw = random.Random(7)
    words = [f"w{i}" for i in range(30)]
    documents = [
        {"docno": f"D{i}", "text": " ".join(draw.choices(words, range(30, 0, -1), k=draw.randrange(1, 40)))} for i in range(300)
    ]
    queries = {f"q{i}": " ".join(draw.choices(words, k=3)) for i in range(8)}
    qrels = {qid: {document["docno"]: 1 for document in draw.sample(documents, 12)} for qid in queries}
    quern.index(documents, tmp_path / "ix")
    tuned = quern.open(tmp_path / "ix").tune(queries, qrels, k1=[0, 0.7, 2], b=[0, 0.4, 1])
    collection = reference.Collection(documents)
    for point in tuned.points:
        monkeypatch.setattr(reference, "K1", point["k1"])
        monkeypatch.setattr(reference, "B", point["b"])
        score, total = reference.bm25(collection), 0
        for qid in sorted(queries):
            terms = collection.query(queries[qid])
            scored = [(score(terms, d), docno) for d, docno in enumerate(collection.docnos)]
            ranked = [docno for value, docno in sorted(scored, reverse=True) if value > 0]
            total += average_precision(ranked, qrels[qid])
        assert point["value"] == total / len(queries)
