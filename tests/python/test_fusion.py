"""Runs of several kinds, combined as the command line combines them."""
import numpy
import pytest

import quern


@pytest.fixture
def found(sample, topics):
    return [sample.batch(topics, 30), sample.batch(dict(list(topics.items())[1:]), 20, k1=2.0, b=0.1)]


@pytest.fixture
def files(found, tmp_path):
    paths = [tmp_path / name for name in ("a.run", "b.run")]
    for path, results in zip(paths, found):
        path.write_text(results.to_trec())
    return paths


def scores_of(run):
    """The lines of a run in their order: (qid, docno, score)."""
    return [(line.split()[0], line.split()[2], float(line.split()[4])) for line in run.splitlines()]


def flat(fused):
    return [(qid, docno, score) for qid, scores in fused.items() for docno, score in scores.items()]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, []),
        ({"rrf_k": 1, "k": 5}, ["--rrf-k", 1, "-k", 5]),
        ({"method": "combsum", "weights": [0.3, 0.7]}, ["--method", "combsum", "--weights", "0.3,0.7"]),
        ({"method": "combmnz", "normalize": "none"}, ["--method", "combmnz", "--normalize", "none"]),
    ],
)
def test_fused_runs_are_the_command_lines(found, files, command_line, options, arguments):
    expected = scores_of(command_line("fuse", *files, *arguments))
    assert len(expected) > 20
    assert flat(quern.fuse(found, **options)) == expected
    assert flat(quern.fuse(files, **options)) == expected
    from_lines = [{}, {}]
    for run, file in zip(from_lines, files):
        for qid, docno, score in scores_of(file.read_text()):
            run.setdefault(qid, {})[docno] = score
    assert flat(quern.fuse([from_lines[0], str(files[1])], **options)) == expected
    # The order within a dict doesn't matter.
    shuffled = {qid: dict(reversed(scores.items())) for qid, scores in from_lines[1].items()}
    assert flat(quern.fuse([found[0], shuffled], **options)) == expected


def test_data_frames_are_fused(found):
    pandas = pytest.importorskip("pandas")
    frames = [results.to_frame() for results in found]
    assert flat(quern.fuse(frames)) == flat(quern.fuse(found))
    renamed = frames[1].rename(columns={"qid": "query_id", "docno": "doc_id"})
    assert flat(quern.fuse([frames[0], renamed])) == flat(quern.fuse(found))
    with pytest.raises(ValueError, match="no column score; its columns: qid, docno"):
        quern.fuse([found[0], pandas.DataFrame({"qid": ["1"], "docno": ["A"]})])


def test_fused_runs_can_be_fused_again():
    once = quern.fuse([{"1": {"A": 2, "B": 1}}, {"1": {"B": numpy.float32(5)}}])
    assert once == {"1": {"B": 1 / 62 + 1 / 61, "A": 1 / 61}} and list(once["1"]) == ["B", "A"]
    assert list(quern.fuse([once, once, {"1": {"A": 1}}])["1"]) == ["A", "B"]


def test_wrong_runs_and_options_are_refused(found):
    run = {"1": {"A": 1.0}}
    for runs, options, message in [
        ([run], {}, "two runs"),
        ([run, run], {"method": "best"}, "rrf, combsum, combmnz"),
        ([run, run], {"normalize": "none"}, "normalize needs method combsum or combmnz"),
        ([run, run], {"method": "combsum", "normalize": "max"}, "min-max, none"),
        ([run, run], {"method": "combsum", "rrf_k": 3}, "rrf_k needs method rrf"),
        ([run, run], {"weights": [1]}, "weights"),
        ([run, run], {"weights": [1, -1]}, "weights"),
        ([run, run], {"k": 0}, "at least 1|from 1"),
        ([run, run], {"k": -1}, "k must be at least 1, not -1"),
        ([run, {"1": {"A B": 1}}], {}, "white space, not 'A B'"),
        ([run, {"": {"A": 1}}], {}, "white space, not ''"),
        ([run, {"1": {"A": numpy.nan}}], {}, "document A for query 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            quern.fuse(runs, **options)
    with pytest.raises(TypeError, match="a run must be"):
        quern.fuse([run, 7])
    for one in ("a.run", run, found[0]):
        with pytest.raises(TypeError, match="runs must be a list of runs, not"):
            quern.fuse(one)
    with pytest.raises(TypeError, match="weights must be a list of numbers, not .'a', 1"):
        quern.fuse([run, run], weights=["a", 1])
    with pytest.raises(TypeError, match="k must be int, not 'many'"):
        quern.fuse([run, run], k="many")
    with pytest.raises(quern.FileError):
        quern.fuse([run, "missing.run"])
    with pytest.raises(quern.CorruptFile, match="infinite"):
        quern.fuse([run, {"1": {"A": numpy.inf}}], method="combsum")
