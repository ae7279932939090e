"""Shards with Ray: the steps of a plan as Ray tasks, and live shards as actors.

    import ray
    from quern import shards
    from quern.ray import Service, run

    ray.init("auto")
    run(shards.plan(shards.read_manifest("warc.paths"), "/shared/work", splits=1000, count=16))
    with Service(paths_of_shards, replicas=2) as service:
        print(list(service.batch({"q1": "water mill"}, k=10)))     # (docno, score)

All nodes need this package, and their input files under the same paths; nodes that run steps also need the executable.
Ray schedules, repeats and restarts tasks and actors. As a program:

    python3 -m quern.ray PLAN --address auto
"""

import argparse
import dataclasses
import itertools
import sys

import numpy

from . import shards
from .queries import texts_of

try:
    import ray
    from ray.exceptions import RayActorError, RayError, RayTaskError
except ImportError as error:
    raise ImportError("quern.ray needs Ray: pip install ray") from error

_CELLS = 1 << 20  # number of results merged at a time
_NONE = numpy.uint64(2**64 - 1)  # the key of no result
_OF_BATCHES = ("algorithm", "filter", "threads", "progress")  # options of Index.batch() that its searcher does not have


class ShardsLost(Exception):
    """Shards that did not answer: their numbers and the reasons."""

    def __init__(self, numbers, reasons):
        self.numbers = numbers
        super().__init__(f"no answer from shards {', '.join(map(str, numbers))}: {'; '.join(reasons)}")


def run(plan, runner=shards.Runner(), *, attempts=4, **options):
    """Runs the unfinished steps of a plan, stage by stage, each step as a task.

    attempts: how often a step is tried. options: of ray.remote, such as num_cpus=4.
    Returns plan.results. Raises StepError with the message of a step's last attempt.
    """
    options = {"scheduling_strategy": "SPREAD", "max_retries": attempts - 1, "retry_exceptions": True, **options}
    task = ray.remote(**options)(_run_step)
    for _, steps in plan.stages:
        started = {task.remote(runner, step): step for step in steps if not step.is_done}
        for done, step in started.items():
            try:
                ray.get(done)
            except RayTaskError as error:
                raise error.cause from None
            except RayError as error:
                raise shards.StepError(f"{step.command[0]} for {step.name}: {_last_line(error)}; run again") from None
    return plan.results


def _run_step(runner, step):
    return runner.run(step)


class _Shard:
    """The actor: one open shard."""

    def __init__(self, path, expected, search):
        import quern

        self._index = quern.open(path)
        if shards.manifest_of(path) != expected:
            raise shards.StepError(f"{path}: is not the shard that the service was started with; start it again")
        self._base = expected["statistics"]["docid_base"]
        # Loads the index onto a GPU now instead of with the first batch.
        self._index.searcher(**{name: value for name, value in search.items() if name not in _OF_BATCHES})

    def started(self):
        """Returns once the actor has started."""
        return True

    def batch(self, texts, k, options):
        """Counts of results of each query, then the keys of all results, with docIDs of the whole index: uint64.

        As bytes, which Ray transfers faster than arrays.
        """
        found = self._index.batch(texts, k, **options)
        keys = _keys(found.score, found.docid + numpy.uint32(self._base))
        return numpy.concatenate((numpy.diff(found.offsets), keys)).tobytes()

    def docnos(self, docids):
        return [self._index.docno(int(docid) - self._base) for docid in docids]


@dataclasses.dataclass(frozen=True)
class Results:
    """Results of queries, query after query, best first; equal scores in docID order, as from one index.

    qids: the queries' ids. query: int32, the position of each result's query. docid: uint32, in the whole index.
    score: float32. rank: int32, from 0.
    missing: numbers of shards that did not answer; their documents are not among the results.
    """

    qids: list
    query: numpy.ndarray
    docid: numpy.ndarray
    score: numpy.ndarray
    rank: numpy.ndarray
    missing: tuple
    _service: object

    def docnos(self):
        """The docnos of results, fetched from the shards: a list of str. Raises ShardsLost."""
        return self._service._docnos(self.docid)

    def to_trec(self, tag="quern"):
        """The lines of a TREC run, byte for byte as `quern query` writes them over all shards."""
        rows = zip(self.query.tolist(), self.docnos(), self.rank.tolist(), self.score)
        return "".join(f"{self.qids[query]} Q0 {docno} {rank + 1} {_text_of(score)} {tag}\n"
                       for query, docno, rank, score in rows)

    def __len__(self):
        return len(self.docid)

    def __iter__(self):
        """(docno, score) of each result."""
        return iter(zip(self.docnos(), self.score.tolist()))


class Service:
    """Shards that are open on a Ray cluster, and answer as one index.

    paths: of all shards of an index. replicas: actors of each shard.
    timeout: seconds until the next replica is called.
    start_timeout: seconds until all actors must have opened their shards, and loaded them onto the GPU if they use one.
    pending: calls that may wait for an actor; a further one raises ray.exceptions.PendingCallsLimitExceeded.
    partial: results of the shards that answered, with the others in Results.missing, instead of ShardsLost.
    search: options for all batches, as for quern.Index.batch(), such as {"device": "gpu", "threads": 4}.
    actor: options for Ray's actors, such as {"num_cpus": 4}, {"num_gpus": 1} or {"resources": {"disk": 1}}.

    Raises StepError if the paths are not all shards of one index, and ShardsLost if no replica of a shard has started.
    Ray restarts actors that die, unless their shard has been replaced by one of another build.
    """

    def __init__(self, paths, *, replicas=1, timeout=60.0, start_timeout=600.0, pending=1000, partial=False,
                 search=None, actor=None):
        paths = shards.in_order(paths)
        manifests = [shards.manifest_of(path) for path in paths]
        self._bases = numpy.array([manifest["statistics"]["docid_base"] for manifest in manifests])
        self._timeout = timeout
        self._partial = partial
        self._search = {"threads": 1, **(search or {})}
        self._turns = itertools.count()
        # With one replica, Ray repeats the calls of an actor that died; with several, the next one is called.
        options = {"max_restarts": -1, "max_task_retries": -1 if replicas == 1 else 0, "max_pending_calls": pending,
                   "scheduling_strategy": "SPREAD", **(actor or {})}
        made = ray.remote(**options)(_Shard)
        self._actors = [[made.remote(*shard, self._search) for _ in range(replicas)] for shard in zip(paths, manifests)]
        try:
            started = {actor.started.remote(): shard for shard, actors in enumerate(self._actors) for actor in actors}
            self._require(range(len(paths)), *_gather(started, start_timeout))
        except BaseException:
            self.close()
            raise

    def batch(self, queries, k=10, **search):
        """The k best documents of each query: Results.

        queries: as for quern.Index.batch(). search: its further options, such as algorithm="and"; but not "and-or",
        since a shard doesn't know how many documents of the others contain all terms.
        Raises ShardsLost, exceptions of Index.batch(), and ray.exceptions.PendingCallsLimitExceeded.
        """
        qids, texts = texts_of(queries)
        options = {**self._search, **search}
        if options.get("algorithm") == "and-or":
            raise ValueError(
                "shards can't answer 'and-or'; use 'and', then 'or' for the queries with fewer than k results")
        if options.keys() & {"budget_us", "blocks_left_out"}:
            raise ValueError("shards can't keep to budget_us or blocks_left_out together; use quern.open() over all shards")
        answers, missing = self._ask("batch", {shard: (texts, k, options) for shard in range(len(self._actors))})
        numbers = [numpy.frombuffer(answer, numpy.uint64) for answer in answers.values()]
        counted = [(found[: len(texts)].astype(numpy.int64), found[len(texts) :]) for found in numbers]
        found = merge(counted, len(texts), k)
        return Results(qids, *found, tuple(missing), self)

    def close(self):
        """Stops the actors."""
        for actor in itertools.chain(*self._actors):
            ray.kill(actor)

    def _docnos(self, docids):
        """The docnos of documents, fetched from their shards."""
        owners = numpy.searchsorted(self._bases, docids, side="right") - 1
        places = {int(shard): numpy.flatnonzero(owners == shard) for shard in numpy.unique(owners)}
        answers, missing = self._ask("docnos", {shard: (docids[place],) for shard, place in places.items()})
        if missing:
            raise ShardsLost(missing, ["docnos are not known without them"])
        names = [None] * len(docids)
        for shard, place in places.items():
            for i, docno in zip(place.tolist(), answers[shard]):
                names[i] = docno
        return names

    def _ask(self, method, arguments):
        """Calls a method of shards, numbered from 0. Returns their answers, and the numbers, from 1, of those that failed.

        Raises ShardsLost if any failed, unless the service allows partial results.
        """
        answers, reasons = {}, {}
        turn = next(self._turns)
        for attempt in range(len(self._actors[0])):
            asked = self._send(method, {s: given for s, given in arguments.items() if s not in answers}, turn + attempt)
            if not asked:
                break
            found, whys = _gather(asked, self._timeout)
            answers.update(found)
            reasons.update(whys)
        missing = self._require(arguments, answers, reasons)
        return {shard: answers[shard] for shard in sorted(answers)}, missing

    def _require(self, asked, answers, reasons):
        """The numbers, from 1, of called shards that did not answer. Raises ShardsLost as _ask() does."""
        missing = [shard for shard in asked if shard not in answers]
        numbers = [shard + 1 for shard in missing]
        if missing and (not self._partial or not answers):
            raise ShardsLost(numbers, [reasons[shard] for shard in missing])
        return numbers

    def _send(self, method, arguments, turn):
        """Sends the calls to each shard's current replica: {call: shard}."""
        asked = {}
        try:
            for shard, given in arguments.items():
                replicas = self._actors[shard]
                asked[getattr(replicas[turn % len(replicas)], method).remote(*given)] = shard
        except ray.exceptions.PendingCallsLimitExceeded:
            for call in asked:
                ray.cancel(call)
            raise
        return asked

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _gather(asked, timeout):
    """Waits for calls, {call: shard}, for this many seconds. Returns the shards' answers, and the reasons of failures."""
    answers, reasons = {}, {}
    ready, late = ray.wait(list(asked), num_returns=len(asked), timeout=timeout)
    for call in late:
        reasons[asked[call]] = f"shard {asked[call] + 1} took longer than {timeout:g} s"
        ray.cancel(call)
    for call in ready:
        try:
            answers[asked[call]] = ray.get(call)
        except RayTaskError as error:
            raise error.cause from None
        except RayActorError as error:
            reasons[asked[call]] = f"shard {asked[call] + 1}: {_last_line(error)}"
    return answers, reasons


def _keys(scores, docids):
    """uint64 keys that sort results best first: by descending score, then by docID."""
    bits = numpy.ascontiguousarray(scores, dtype=numpy.float32).view(numpy.uint32)
    falling = numpy.where(bits >> 31, bits, ~bits & numpy.uint32(0x7FFFFFFF))
    return falling.astype(numpy.uint64) << numpy.uint64(32) | docids


def _results_of(keys):
    """The docIDs and scores from which _keys() computed the keys."""
    falling = (keys >> numpy.uint64(32)).astype(numpy.uint32)
    bits = numpy.where(falling >> 31, falling, ~falling & numpy.uint32(0x7FFFFFFF))
    return keys.astype(numpy.uint32), bits.view(numpy.float32)


def merge(answers, queries, k):
    """The k best results of each query: arrays query, docid, score and rank.

    answers: of each shard, the counts of results of each query, and the keys of all results.
    """
    rows = max(1, _CELLS // max(1, len(answers) * k))
    starts = [numpy.concatenate(([0], numpy.cumsum(counts))) for counts, _ in answers]
    parts = []
    for first in range(0, max(queries, 1), rows):
        last = min(queries, first + rows)
        part = [(counts[first:last], keys[start[first] : start[last]])
                for (counts, keys), start in zip(answers, starts)]
        query, rank, keys = _merge_rows(part, last - first, k)
        parts.append(((query + first).astype(numpy.int32), *_results_of(keys), rank.astype(numpy.int32)))
    return [numpy.concatenate(arrays) for arrays in zip(*parts)]


def _merge_rows(answers, queries, k):
    """merge() for few queries, so that a table of all results fits in memory: a row per query, k columns per shard."""
    table = numpy.full((queries, len(answers), k), _NONE, dtype=numpy.uint64)
    for shard, (counts, keys) in enumerate(answers):
        table[:, shard][numpy.arange(k) < counts[:, None]] = keys
    best = numpy.sort(table.reshape(queries, len(answers) * k), axis=1)[:, :k]
    query, rank = numpy.nonzero(best != _NONE)
    return query, rank, best[query, rank]


def _text_of(score):
    """A float32 as the shortest text that reads back to it, as quern writes it."""
    plain = numpy.format_float_positional(score, trim="-")
    power = numpy.format_float_scientific(score, trim="-", exp_digits=2)
    return plain if len(plain) <= len(power) else power


def _last_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def main():
    """The program. If a step failed, exits with 1 and one line on standard error."""
    parser = argparse.ArgumentParser(prog="quern.ray", description="Runs a plan of quern.shards on Ray.")
    parser.add_argument("plan")
    parser.add_argument("--address", metavar="ADDRESS", help="address of the cluster (default: one on this machine)")
    parser.add_argument("--cpus", type=float, default=1, metavar="N", help="CPUs per step (default: 1)")
    shards.add_runner_options(parser)
    options = parser.parse_args()
    try:
        plan = shards.Plan.load(options.plan)
        ray.init(options.address)
        print("\n".join(run(plan, shards.runner_of(options), num_cpus=options.cpus)))
    except (shards.StepError, OSError) as error:
        sys.exit(f"quern.ray: error: {error}")


if __name__ == "__main__":
    main()
