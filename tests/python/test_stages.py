"""The second stage, evaluation and plans."""
import gzip
import importlib.util
import json
import lzma
import os
import signal
import threading

import numpy
import pytest

import quern
from conftest import SAMPLE


def test_reranked_runs_are_the_command_lines(sample, sample_path, topics, command_line):
    expected = command_line("query", sample_path, "-q", SAMPLE / "topics.txt", "-k", 20, "--rerank", 20, "--ranker",
                            SAMPLE / "ranker.txt")
    first = sample.batch(topics, 20)
    reranked = quern.rerank(sample, first, SAMPLE / "ranker.txt")
    assert reranked.to_trec() == expected
    assert quern.rerank(sample, first, SAMPLE / "ranker.txt", 3, threads=2).offsets[1] == 3
    with pytest.raises(quern.FileError):
        quern.rerank(sample, first, "missing.txt")
    with pytest.raises(ValueError, match="cpu, gpu, auto"):
        quern.rerank(sample, first, SAMPLE / "ranker.txt", device="tpu")
    assert quern.rerank(sample, first, SAMPLE / "ranker.txt", device="auto").to_trec() == expected
    for k in (0, -1):
        with pytest.raises(quern.InvalidArgument, match=f"k must be at least 1, not {k}"):
            quern.rerank(sample, first, SAMPLE / "ranker.txt", k)
    with pytest.raises(quern.InvalidArgument, match="gpu must be at least 0, not -1"):
        quern.rerank(sample, first, SAMPLE / "ranker.txt", gpu=-1)
    for refused in (lambda run: quern.rerank(sample, run, SAMPLE / "ranker.txt"), lambda run: quern.features(sample, run)):
        with pytest.raises(TypeError, match="results must be Results of search.. or batch.., .* not <class 'dict'>"):
            refused(quern.fuse([first, first]))


def test_reranking_tells_its_progress_and_can_be_stopped(sample, topics):
    first = sample.batch(list(topics.values()) * 20_000, 20)
    steps = []
    few = sample.batch(topics, 20)
    quern.rerank(sample, few, SAMPLE / "ranker.txt", threads=2, progress=lambda *step: steps.append(step))
    assert steps[-1] == ("rerank", len(topics), len(topics), "queries")
    with pytest.raises(ZeroDivisionError):
        quern.rerank(sample, few, SAMPLE / "ranker.txt", threads=2, progress=lambda *_: 1 // 0)
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        quern.rerank(sample, first, SAMPLE / "ranker.txt", threads=2)


def test_a_model_is_kept_until_its_file_changes(sample, topics, tmp_path):
    model = tmp_path / "ranker.txt"
    model.write_bytes((SAMPLE / "ranker.txt").read_bytes())
    first = sample.reranker(model)
    assert sample.reranker(model) is first
    assert sample.reranker(model, threads=2) is not first
    model.write_bytes((SAMPLE / "ranker.txt").read_bytes() + b"\n")
    assert sample.reranker(model) is not first


def test_features_have_a_row_for_each_result(sample, topics):
    first = sample.batch(topics, 10)
    names = quern.feature_names("body.*")
    values = quern.features(sample, first, "body.*")
    assert values.shape == (len(first), len(names)) and values.dtype == numpy.float32
    everything = quern.features(sample, first)
    columns = [quern.feature_names().index(name) for name in names]
    assert numpy.array_equal(everything[:, columns], values)
    assert numpy.array_equal(everything[:, quern.feature_names().index("query.first_stage_score")], first.score) \
        if "query.first_stage_score" in quern.feature_names() else True
    with pytest.raises(quern.InvalidArgument):
        quern.features(sample, first, "no.such*")


def test_an_index_without_a_forward_file_says_so(tmp_path):
    quern.index([{"docno": "a", "text": "mill"}], tmp_path / "ix")
    ix = quern.open(tmp_path / "ix")
    with pytest.raises(quern.InvalidArgument, match="forward"):
        quern.features(ix, ix.search("mill"))
    with pytest.raises(quern.InvalidArgument, match="store_text"):
        ix.text(0)


def test_measures_are_the_command_lines(sample, sample_path, topics, command_line, tmp_path):
    found = sample.batch(topics, 100)
    (tmp_path / "run").write_text(found.to_trec())
    printed = command_line("eval", tmp_path / "run", SAMPLE / "qrels.txt")
    expected = {line.split("\t")[0].strip(): line.split("\t")[2] for line in printed.splitlines()[1:]}
    measures = found.evaluate(SAMPLE / "qrels.txt")
    assert set(measures) == set(expected)
    for name, value in measures.items():
        assert float(expected[name]) == pytest.approx(value, abs=6e-5)
    by_query = quern.evaluate(found.to_trec(), SAMPLE / "qrels.txt", ["map"])["by_query"]
    assert sum(query["map"] for query in by_query.values()) / len(by_query) == pytest.approx(measures["map"])
    with pytest.raises(quern.InvalidArgument):
        found.evaluate(SAMPLE / "qrels.txt", ["nothing"])


def test_one_measure_may_be_a_str(sample, topics):
    found, qrels = sample.batch(topics, 20), SAMPLE / "qrels.txt"
    assert found.evaluate(qrels, "nDCG@10") == found.evaluate(qrels, ["nDCG@10"])
    assert quern.evaluate(found, qrels, "MAP") == quern.evaluate(found, qrels, ["MAP"])
    assert quern.compare([found, found], qrels, "map") == quern.compare([found, found], qrels, ["map"])
    with pytest.raises(quern.InvalidArgument, match="unknown measure 'bert'"):
        quern.evaluate(found, qrels, "bert")


def forms_of(found, path):
    """Results as a text, a dict, a file and, where pandas is, a frame."""
    by_query = {qid: dict(found[qid]) for qid in found.qids}
    path.write_text(found.to_trec())
    return [found.to_trec(), by_query, path, str(path)] + ([found.to_frame()] if importlib.util.find_spec("pandas") else [])


def test_runs_of_all_forms_are_evaluated_compared_and_fused(sample, topics, tmp_path):
    first, second = sample.batch(topics, 50), sample.batch(topics, 50, k1=2.0, b=0.1)
    expected = quern.evaluate(first, SAMPLE / "qrels.txt")
    assert expected["all"] == first.evaluate(SAMPLE / "qrels.txt") and len(expected["by_query"]) > 5
    compared = quern.compare([first, second], SAMPLE / "qrels.txt", ["map"])
    assert compared["map"]["others"][0]["difference"] != 0
    fused = quern.fuse([first, second])
    for form, other in zip(forms_of(first, tmp_path / "a run"), forms_of(second, tmp_path / "other.run")):
        assert quern.fuse([form, other]) == fused
        assert quern.evaluate(form, SAMPLE / "qrels.txt") == expected
        assert quern.compare([first, other], SAMPLE / "qrels.txt", ["map"]) == compared
        assert quern.compare([form, second], SAMPLE / "qrels.txt", ["map"]) == compared
    assert quern.evaluate(fused, SAMPLE / "qrels.txt")["all"]["num_ret"] > expected["all"]["num_ret"]
    for wrong in (7, [first]):
        with pytest.raises(TypeError, match="a run must be a path, a text, Results"):
            quern.evaluate(wrong, SAMPLE / "qrels.txt")
    for missing in ("missing.run", SAMPLE / "missing.run"):
        with pytest.raises(quern.FileError, match="can't open .*missing.run: No such file"):
            quern.evaluate(missing, SAMPLE / "qrels.txt")
    packed, qrels = tmp_path / "a.run.gz", tmp_path / "qrels.xz"
    packed.write_bytes(gzip.compress(first.to_trec().encode()))
    qrels.write_bytes(lzma.compress((SAMPLE / "qrels.txt").read_bytes()))
    assert quern.evaluate(packed, qrels) == expected
    assert quern.compare([packed, second], qrels, ["map"]) == compared
    one_line = first.to_trec().splitlines()[0]
    assert quern.evaluate(one_line, SAMPLE / "qrels.txt", "num_ret")["all"] == {"num_ret": 1}
    with pytest.raises(ValueError, match="white space, not 'A B'"):
        quern.evaluate({"1": {"A B": 1.0}}, SAMPLE / "qrels.txt")
    for one in (first, first.to_trec(), {"1": {"A": 1.0}}):
        with pytest.raises(TypeError, match="runs must be a list of runs, not"):
            quern.compare(one, SAMPLE / "qrels.txt")


def test_comparisons_are_the_command_lines(sample, topics, command_line, tmp_path):
    runs = [sample.batch(topics, 100).to_trec(), sample.batch(topics, 100, k1=2.0, b=0.1).to_trec(),
            sample.batch(topics, 5).to_trec()]
    files = [tmp_path / f"{i}.run" for i in range(3)]
    for file, run in zip(files, runs):
        file.write_text(run)
    printed = json.loads(command_line("eval", "--compare", "--json", *files, SAMPLE / "qrels.txt"))
    found = quern.compare(runs, SAMPLE / "qrels.txt")
    assert list(found) == [row["measure"] for row in printed["measures"]]
    for row in printed["measures"]:
        assert found[row["measure"]]["mean"] == row["baseline_mean"]
        for other, expected in zip(found[row["measure"]]["others"], row["runs"], strict=True):
            assert [other[name] for name in ("mean", "wins", "ties", "losses")] == \
                [expected[name] for name in ("mean", "wins", "ties", "losses")]
            assert other["randomization_p"] == expected["randomization_test"]["p"]
            assert other["t_p"] == (expected["t_test"] or {}).get("p")
    with pytest.raises(quern.InvalidArgument):
        quern.compare(runs[:1], SAMPLE / "qrels.txt", ["num_ret"])


def test_plans_are_the_command_lines(sample, sample_path, tmp_path, command_line):
    log = (SAMPLE / "query_log.txt").read_text().splitlines()
    report = quern.plan(sample, log, tmp_path / "a.plan", budget="20%")
    assert 0 < report.cached_bytes <= report.index_bytes // 5 + 1 and report.queries == len(log)
    command_line("plan", sample_path, "-q", SAMPLE / "query_log.txt", "--queries-format", "lines", "--budget", "20%",
                 "-o", tmp_path / "b.plan")
    assert (tmp_path / "a.plan").read_bytes() == (tmp_path / "b.plan").read_bytes()
    with pytest.raises(quern.InvalidArgument):
        quern.plan(sample, log, tmp_path / "a.plan", budget="20%")
    vectors = [{term: 0.5 for term in sample.analyze(text)} for text in log if sample.analyze(text)]
    texts_of_vectors = [" ".join(vector) for vector in vectors]
    by_vectors = quern.plan(sample, vectors, tmp_path / "v.plan", budget="20%")
    assert by_vectors == quern.plan(sample, texts_of_vectors, tmp_path / "t.plan", budget="20%")
    with pytest.raises(quern.InvalidArgument, match="outside"):
        quern.plan(sample, [{"mill": numpy.inf}], tmp_path / "n.plan", budget="20%")
    with pytest.raises(TypeError):
        quern.plan(sample, [{"mill": 1}, "mill"], tmp_path / "n.plan", budget="20%")
    with pytest.raises(quern.InvalidArgument, match="k must be at least 1, not -1"):
        quern.plan(sample, log, tmp_path / "c.plan", budget="20%", k=-1)
    for budget in ("x", "0%", "1"):
        with pytest.raises(ValueError):
            quern.plan(sample, log, tmp_path / "c.plan", budget=budget)
