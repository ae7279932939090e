"""Recall against exact runs, as formats/queries/measures.md defines it, computed anew."""
import importlib.util
import random
import warnings

import pytest

import quern

from conftest import SAMPLE


def plain_recall(exact, run, k):
    """The mean share of the k best results of `exact`, and of those that tie with the last of them, in the first k of `run`."""
    values = {}
    for qid, truth in exact.items():
        found = sorted(run.get(qid, {}).items(), key=lambda result: (result[1], result[0]), reverse=True)[:k]
        best = min(k, len(truth))
        ranks = {docno: 1 + sum(other > score for other in truth.values()) for docno, score in truth.items()}
        values[qid] = min(best, sum(ranks.get(docno, best + 1) <= best for docno, _ in found)) / best
    return sum(values.values()) / len(values), values


def random_run(bits, queries, documents, scores):
    return {
        str(qid): {f"D{docno}": float(bits.randrange(scores)) for docno in bits.sample(range(30), documents)}
        for qid in range(queries)
    }


def test_recall_follows_its_definition():
    bits = random.Random(51)
    for scores in (2, 5, 1000):
        exact, run = random_run(bits, 9, 20, scores), random_run(bits, 7, 12, scores)
        for k in (1, 3, 10, 100):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = quern.evaluate(run, exact=exact, measures=f"exact_recall.{k}")
            expected, by_query = plain_recall(exact, run, k)
            assert found["all"][f"exact_recall_{k}"] == pytest.approx(expected, abs=1e-12)
            got = {qid: values[f"exact_recall_{k}"] for qid, values in found["by_query"].items()}
            assert got == {qid: by_query[qid] for qid in run}


def test_exact_runs_may_have_all_forms(sample, topics, command_line, tmp_path):
    exact, coarse = sample.batch(topics, 100), sample.batch(topics, 10, scores="quantized")
    files = [tmp_path / "exact.run", tmp_path / "coarse.run"]
    for path, results in zip(files, (exact, coarse)):
        path.write_text(results.to_trec())
    measure = "exact_recall.10"
    printed = command_line("eval", files[1], "--exact", files[0], "--measures", measure, "--json")
    expected = quern.evaluate(coarse, exact=exact, measures=measure)
    assert 0.5 < expected["all"]["exact_recall_10"] < 1 and f"{expected['all']['exact_recall_10']!r}" in printed
    forms = [files[0], str(files[0]), exact.to_trec(), exact.to_run()]
    forms += [exact.to_frame()] if importlib.util.find_spec("pandas") else []
    for form in forms:
        assert quern.evaluate(coarse, exact=form, measures=measure) == expected
        assert quern.evaluate(files[1], exact=form, measures=measure) == expected
    assert coarse.evaluate(exact=exact, measures=measure) == expected["all"]
    compared = quern.compare([coarse, exact], exact=exact, measures=measure)["exact_recall_10"]
    assert compared["mean"] == expected["all"]["exact_recall_10"] and compared["others"][0]["mean"] == 1
    assert set(quern.evaluate(exact, exact=exact)["all"].values()) == {1.0}


def test_ties_that_an_exact_run_may_lack_are_told():
    exact = {"1": {"A": 2, "B": 1}, "2": {"A": 3, "B": 1}}
    run = {"1": {"A": 2, "C": 1}, "2": {"A": 1}}
    with pytest.warns(UserWarning, match="for 1 query, results that the exact run doesn't have may tie"):
        assert quern.evaluate(run, exact=exact, measures="exact_recall.2")["all"]["exact_recall_2"] == 0.5
    with pytest.warns(UserWarning, match="no result is among the exact ones"):
        quern.evaluate({"1": {"Z": 1}}, exact=exact, measures="exact_recall.1")


def test_wrong_calls_are_refused(sample):
    run = {"1": {"A": 1.0}}
    for truth in ({}, {"qrels": {"1": {"A": 1}}, "exact": run}):
        for call in (lambda **more: quern.evaluate(run, **more), lambda **more: quern.compare([run, run], **more)):
            with pytest.raises(TypeError, match="either qrels or exact"):
                call(**truth)
    with pytest.raises(TypeError, match="a run must be a path"):
        quern.evaluate(run, exact=7)
    with pytest.raises(quern.InvalidArgument, match="measures: .*exact"):
        quern.evaluate(run, exact=run, measures="map")
    with pytest.raises(quern.InvalidArgument, match="measures: .*exact"):
        quern.evaluate(run, SAMPLE / "qrels.txt", measures="exact_recall.10")
    with pytest.raises(quern.FileError, match="missing.run"):
        quern.evaluate(run, exact="missing.run")
