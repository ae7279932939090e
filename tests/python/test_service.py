"""Live shards in Ray actors: results are those of one index, even if actors die, stall or are busy."""
import os
import shutil
import signal
import time

import numpy
import pytest

ray = pytest.importorskip("ray")

import quern  # noqa: E402
from cluster import SETTINGS, TOPICS, whole  # noqa: E402, F401
from quern import shards  # noqa: E402
from quern.ray import Service, ShardsLost, _keys, _results_of, merge  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def node():
    ray.init("local", num_cpus=8, include_dashboard=False, logging_level="error")
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def paths(whole, tmp_path_factory):
    return shards.run(shards.plan(whole.files, tmp_path_factory.mktemp("live"), count=4, **SETTINGS))


def process_of(actor):
    """The number of an actor's process."""
    return ray.get(actor.__ray_call__.remote(lambda _: os.getpid()), timeout=60)


def until(answers):
    """Waits until a call returns something true, and returns that."""
    for _ in range(300):
        found = answers()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("nothing came")


def check_same(found, expected):
    """Results of all shards and of the single index."""
    for name in ("query", "docid", "score", "rank"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
        assert getattr(found, name).dtype == getattr(expected, name).dtype
    assert found.to_trec() == expected.to_trec() and list(found) == list(expected)
    assert found.missing == ()


def test_results_are_those_of_one_index(whole, paths, topics):
    index = quern.open(whole.index)
    with Service(paths[::-1]) as service:
        ways = [(10, {}), (1000, {"algorithm": "and"}), (3, {"scores": "quantized"}), (20, {"filter": "docno>=M"})]
        for k, options in ways:
            check_same(service.batch(topics, k, **options), index.batch(topics, k, **options))
        assert service.batch(topics, 20).to_trec() == whole.run.read_text()
        assert len(service.batch([])) == 0 and len(service.batch(["nosuchterm"])) == 0
        with pytest.raises(ValueError, match="can't answer 'and-or'"):
            service.batch(topics, algorithm="and-or")
        with pytest.raises(quern.InvalidArgument):
            service.batch(topics, algorithm="nosuch")


def test_keys_are_in_the_order_of_results():
    scores = numpy.array([0.0, 1e-30, 1e30, -1.0, -2e5, 3.5, 3.5], dtype=numpy.float32)
    docids = numpy.array([0, 4_000_000_000, 2, 3, 4, 6, 5], dtype=numpy.uint32)
    keys = _keys(scores, docids)
    assert _results_of(numpy.sort(keys))[0].tolist() == [2, 5, 6, 4_000_000_000, 0, 3, 4]
    assert _results_of(keys)[1].tolist() == scores.tolist() and _results_of(keys)[0].tolist() == docids.tolist()


def test_batches_are_merged_in_parts(monkeypatch):
    random = numpy.random.default_rng(1)
    answers = []
    for _ in range(3):
        counts = random.integers(0, 5, 50)
        scores = random.random(counts.sum(), dtype=numpy.float32)
        answers.append((counts, _keys(scores, numpy.arange(len(scores), dtype=numpy.uint32))))
    at_once = merge(answers, 50, 4)
    monkeypatch.setattr("quern.ray._CELLS", 100)
    for part, expected in zip(merge(answers, 50, 4), at_once):
        assert part.tolist() == expected.tolist() and part.dtype == expected.dtype


def test_an_actor_that_dies_is_restarted(paths, topics):
    with Service(paths) as service:
        expected = service.batch(topics).to_trec()
        for actors in service._actors:
            os.kill(process_of(actors[0]), signal.SIGKILL)
        assert service.batch(topics).to_trec() == expected


def test_actors_answer_on_gpus(whole, paths, topics):
    index = quern.open(whole.index)
    try:
        index.batch(topics, device="gpu")
    except quern.GpuError as error:
        pytest.skip(f"no GPU: {error}")
    with Service(paths, search={"device": "gpu"}, actor={"num_gpus": 1 / len(paths)}) as service:
        for k, options in [(10, {}), (1000, {"algorithm": "and"}), (20, {"algorithm": "bmw"})]:
            check_same(service.batch(topics, k, **options), index.batch(topics, k, **options))
        for actors in service._actors:
            os.kill(process_of(actors[0]), signal.SIGKILL)
        check_same(service.batch(topics), index.batch(topics))


def test_another_replica_answers_for_one_that_stalls(paths, topics):
    with Service(paths, replicas=2, timeout=2) as service:
        expected = service.batch(topics)
        stalled = process_of(service._actors[2][0])
        os.kill(stalled, signal.SIGSTOP)
        try:
            for _ in range(2):
                found = service.batch(topics)
                assert found.docid.tolist() == expected.docid.tolist() and found.missing == ()
        finally:
            os.kill(stalled, signal.SIGKILL)


def test_a_lost_shard_is_an_error_or_said(paths, topics):
    with Service(paths) as service, Service(paths, partial=True) as partial:
        expected = service.batch(topics, 1000)
        partial.batch(topics)
        for asked in (service, partial):
            ray.kill(asked._actors[1][0])
        with pytest.raises(ShardsLost, match="no answer from shards 2: shard 2: ") as raised:
            service.batch(topics)
        assert raised.value.numbers == [2]
        found = partial.batch(topics, 1000)
        assert found.missing == (2,)
        of_lost = quern.open(paths[1])
        first = shards.manifest_of(paths[1])["statistics"]["docid_base"]
        there = (expected.docid < first) | (expected.docid >= first + len(of_lost))
        assert found.docid.tolist() == expected.docid[there].tolist()
        assert len(found.docnos()) == len(found)


def test_a_shard_of_another_build_is_not_opened_again(whole, paths, topics, tmp_path):
    copies = [shutil.copytree(path, tmp_path / os.path.basename(path)) for path in paths]
    other = shards.run(shards.plan(whole.files, tmp_path, count=4))
    with Service(copies, timeout=20) as service:
        expected = service.batch(topics).to_trec()
        shutil.rmtree(copies[3])
        shutil.copytree(other[3], copies[3])
        assert service.batch(topics).to_trec() == expected
        os.kill(process_of(service._actors[3][0]), signal.SIGKILL)
        with pytest.raises(ShardsLost, match="is not the shard that the service was started with"):
            service.batch(topics)


def test_calls_beyond_the_limit_are_refused(paths, topics):
    with Service(paths, pending=2, timeout=5) as service:
        service.batch(topics)
        stalled = process_of(service._actors[0][0])
        os.kill(stalled, signal.SIGSTOP)
        waiting = [service._actors[0][0].docnos.remote([]) for _ in range(2)]
        with pytest.raises(ray.exceptions.PendingCallsLimitExceeded):
            service.batch(topics)
        os.kill(stalled, signal.SIGCONT)
        ray.get(waiting)
        until(lambda: len(service.batch(topics)))


def test_actors_must_start(paths, topics, tmp_path):
    with pytest.raises(ShardsLost, match="no answer from shards 1, 2, 3, 4: shard 1 took longer than 0.001 s"):
        Service(paths, start_timeout=0.001)
    with pytest.raises(ShardsLost, match="shard 1: .*scores"):
        Service(paths, search={"scores": "nosuch"})
    copies = [shutil.copytree(path, tmp_path / os.path.basename(path)) for path in paths]
    file = copies[2] / "index.quern"
    file.write_bytes(file.read_bytes().replace(b'"codec"', b'"cODEC"'))
    with pytest.raises(ShardsLost, match="no answer from shards 3: shard 3: .*CorruptFile"):
        Service(copies)
    with Service(copies, partial=True) as service:
        assert service.batch(topics).missing == (3,)


def test_shards_must_belong_together(paths):
    with pytest.raises(shards.StepError, match="shards are missing: 1 of 4"):
        Service(paths[1:])
