"""Open indexes."""

import numbers
import operator
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Self

from . import _quern
from .errors import InvalidArgument, called, set_members, wrong_argument
from .judgements import judgements_file
from .queries import texts_of
from .results import Results
from .sizes import size_bytes
from .tuning import Tuning
from .types import Path, Progress, Size


#: Searchers of other options than the last ones used are closed, with their tables and GPU memory; rerankers, too.
_MAX_OPEN = 4


def _make_room(opened):
    """Drops the least recently used of searchers or rerankers, so that another one may be opened."""
    while len(opened) >= _MAX_OPEN:
        opened.popitem(last=False)


def _version_of(path):
    """A value that changes when a file is replaced; None if there is no file."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino


def _open_same(kind, paths, content_hash):
    """The index that was pickled."""
    index = kind(*paths)
    if index.content_hash != content_hash:
        raise InvalidArgument(f"{paths[0]}: is not the index that was pickled: it has been replaced")
    return index


def _expression(values):
    """A filter for documents that have all these values, or one of those in a list."""
    for name in values:
        if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
            raise ValueError(f"a filter's key must be the name of a field, not {name!r}")
    return " and ".join(
        f"{name} in ({', '.join(map(_value, value))})" if isinstance(value, (list, tuple, set)) else f"{name}={_value(value)}"
        for name, value in values.items()
    )


def _value(value):
    """A value as a filter's expression has it."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, numbers.Real):
        return repr(getattr(value, "item", lambda: value)())
    raise TypeError(f"a filter compares str, numbers and bools, not {value!r}")


class Index(_quern.Index):
    """An open index, made by `quern.open(path)`. Many threads may use it at once; after a fork, the child may too.

    len(index) is the number of documents. df(), cf(), postings(), terms(), analyze(), docno(), find(), document(),
    length() and text() return its contents; search(), batch() and intersect() answer queries. Over several shards, stats
    and the functions of terms raise InvalidArgument.

    index[docid] and index[docno] are document() of these, docno in index tells whether there is one. A pickled index is
    opened again at its absolute path, where the same index must be: so it can be passed to multiprocessing.Pool. As a
    context manager, an index closes its searchers and rerankers, with the GPU memory that they hold.
    """

    def __init__(self, *paths: Path) -> None:
        super().__init__([os.fspath(path) for path in paths])
        self._paths = [os.path.abspath(path) for path in paths]
        self._searchers = OrderedDict()
        self._rerankers = OrderedDict()
        self._lock = threading.Lock()
        self._searcher = None

    @property
    def stats(self) -> SimpleNamespace:
        """Properties and sizes of the index: documents, terms, postings, tokens, average_length, codec, order and more."""
        return SimpleNamespace(**self.statistics())

    def verify(self, *, progress: Progress = None, threads: int | None = None, memory: Size = None) -> None:
        """Verifies every byte of the index and of the files next to it. Raises CorruptFile with the position."""
        called(self.check, _progress(progress), threads or 0, size_bytes("memory", memory))

    def searcher(self, **options: Any) -> _quern.Searcher:
        """The searcher with these options. Opened once and kept: GPUs keep the index, and tables are computed once. Of several
        sets of options, the four used last are kept.

        k1, b, idf ("lucene", "robertson"), scores ("exact", "quantized"), scorer ("bm25", "bm25+pagerank"), alpha,
        early_termination: how documents are scored. None: the index's setting. query_scale: with given weights, a factor
        for query weights before they are rounded; None: they are integers.
        expand: how queries are expanded with terms of their best documents: "rm3", "bo1", or with parameters, as in
        "rm3:documents=20,weight=0.6"; the index needs a forward file (forward=True).
        device ("cpu", "gpu", "auto"), gpu, gpus, strategy, gpu_memory (bytes or "4G"), plan (a file of quern.plan, or a
        list with one for each shard): where batches run.
        threads: number of threads for batches. memory: limit for the running queries.
        """
        return self._opened(_quern.Searcher, options)

    def _opened(self, kind, options):
        """The searcher or intersector with these options; opened once."""
        options = {name: value for name, value in options.items() if value is not None}
        for name in ("gpu_memory", "memory"):
            if name in options:
                options[name] = size_bytes(name, options[name])
        plans = options.pop("plan", ())
        plans = (plans,) if isinstance(plans, (str, os.PathLike)) else plans
        options["plan"] = tuple(os.fspath(plan) for plan in plans)
        key = (kind, *sorted(options.items()))
        with self._lock:
            if key not in self._searchers:
                _make_room(self._searchers)
                self._searchers[key] = called(kind, self, **options)
            self._searchers.move_to_end(key)
            return self._searchers[key]

    def reranker(self, model: Path, *, features: str = "all", **options: Any) -> _quern.Reranker:
        """The reranker that quern.rerank() uses. Opened once and kept until the model file changes: GPUs keep model and
        documents. The four used last are kept.

        model, features: as for quern.rerank(). options: features_from, device, gpu, gpu_memory, and threads, the number
        that rerank at a time.
        """
        path = os.fspath(model)
        if "gpu_memory" in options:
            options["gpu_memory"] = size_bytes("gpu_memory", options["gpu_memory"])
        options = {name: value for name, value in options.items() if value is not None}
        key = (path, features, *sorted(options.items()))
        version = _version_of(path)
        with self._lock:
            if key not in self._rerankers or self._rerankers[key][0] != version:
                self._rerankers.pop(key, None)
                _make_room(self._rerankers)
                self._rerankers[key] = (version, called(_quern.Reranker, self, path, features, **options))
            self._rerankers.move_to_end(key)
            return self._rerankers[key][1]

    def filter(self, passing: Any, *, threads: int | None = None) -> _quern.Filter:
        """A set of documents to which search() and batch() restrict results. Both also accept this function's argument.

        passing: an expression such as "lang=en and not url^=http://a.example/" over docno, url and kept fields
        (formats/queries/filter.md); a dict {field: value}, or {field: list of values}, which a document must all match; or
        a sequence of docnos (str; unknown ones are ignored) or of docIDs (int).
        """
        if isinstance(passing, _quern.Filter):
            return passing
        if isinstance(passing, dict):
            passing = _expression(passing)
        if isinstance(passing, str):
            return called(_quern.filter_matching, self, passing, threads or 0)
        passing = list(passing)
        if any(isinstance(docno, str) for docno in passing):
            return _quern.filter_of_docnos(self, passing)
        return called(_quern.filter_of_docids, self, passing)

    def search(
        self,
        query: str | dict[str, float],
        k: int = 10,
        algorithm: str = "",
        filter: Any = None,
        *,
        budget_us: float | None = None,
        blocks_left_out: float | None = None,
        **options: Any,
    ) -> Results:
        """The k best documents for a query, best first, found by this thread on the CPU: Results of one query.

            for docno, score in ix.search("water mill", k=3, filter={"lang": "en"}): ...

        query: a text, or a dict {term: weight} of analyzed terms.
        algorithm: one of quern.algorithms(). "and" and "hash-segments" find documents with all terms, "and-or" those or, if
        they are fewer than k, documents with any; the others find documents with any, and the same ones.
        filter: as for filter(). options: as for searcher(), such as k1, b, scores="quantized" or expand="rm3".
        budget_us, blocks_left_out: stop the search early, after that many microseconds, or when that percentage of the
        windows of documents that may contain results is left, those with the lowest upper bounds. Results.exact and
        Results.bound_left say what is known of the results, whose scores are exact. For the algorithms auto, maxscore and
        bmp on the CPU.
        Raises InvalidArgument, a ValueError, for a wrong value.
        """
        searcher = self._searcher
        if options or searcher is None:
            searcher = self.searcher(**options)
            if not options:
                self._searcher = searcher
        if filter is not None:
            filter = self.filter(filter)
        try:  # as called() does, which takes a tenth of the time of a short query
            found = searcher.search(query, k, algorithm, filter, budget_us, blocks_left_out)
        except TypeError as raised:
            named = {"budget_us": budget_us, "blocks_left_out": blocks_left_out}
            raise wrong_argument(raised, (query, k, algorithm, filter), named) from raised.__cause__
        return Results(self, found, ("1",), (query,))

    def expand(
        self, query: str | dict[str, float], model: str = "rm3", *, algorithm: str = "", filter: Any = None, **options: Any
    ) -> dict[str, float]:
        """The terms and weights of a query that search() finds documents for with `expand=model`.

        query, algorithm, filter, options: as for search().
        """
        if filter is not None:
            filter = self.filter(filter)
        return called(self.searcher(expand=model, **options).terms, query, algorithm, filter)

    def batch(
        self,
        queries: Any,
        k: int = 10,
        *,
        algorithm: str = "",
        filter: Any = None,
        threads: int | None = None,
        progress: Progress = None,
        budget_us: float | None = None,
        blocks_left_out: float | None = None,
        **options: Any,
    ) -> Results:
        """The k best documents of each query: Results. Runs without the GIL, and Ctrl-C stops it.

            ix.batch({"q1": "mill", "q2": "hand"}, k=100).to_frame()
            ix.batch(quern.read_queries("topics.txt"), k=1000, device="auto").to_trec()

        queries: a list of texts or of dicts {term: weight}, pairs of id and query, a dict {id: query}, or a DataFrame
        with qid and query.
        algorithm, filter: as for search(); on GPUs, filters need the strategy "range". threads: default all cores.
        progress: True, or a function that is called with (stage, done, total, unit).
        budget_us, blocks_left_out: of each query, as for search().
        options: as for searcher(), such as device="auto" or scores="quantized".
        """
        qids, texts = texts_of(queries)
        searcher = self.searcher(**options)
        if filter is not None:
            filter = self.filter(filter, threads=threads)
        arguments = (texts, k, algorithm, threads or 0, _progress(progress), filter, budget_us, blocks_left_out)
        found = called(searcher.batch, *arguments)
        return Results(self, found, qids, texts)

    def intersect(
        self, queries: Any, *, filter: Any = None, threads: int | None = None, progress: Progress = None, **options: Any
    ) -> Results:
        """All documents that contain every term of each query, without scores: Results in docID order, with scores of 0.

        queries, filter: as for batch(). options: method, as for `quern intersect`; device, gpu, gpus, gpu_memory, plan,
        threads and memory, as for searcher(). Raises InvalidArgument over several shards.
        """
        qids, texts = texts_of(queries)
        if filter is not None:
            filter = self.filter(filter, threads=threads)
        intersector = self._opened(_quern.Intersector, options)
        found = called(intersector.batch, texts, threads or 0, _progress(progress), filter)
        return Results(self, found, qids, texts)

    def tune(
        self,
        queries: Any,
        qrels: Any,
        *,
        measure: str = "map",
        k1: Iterable[float] | None = None,
        b: Iterable[float] | None = None,
        alpha: Iterable[float] | None = None,
        folds: int = 0,
        by_coordinates: bool = False,
        start: Mapping[str, float] | None = None,
        k: int = 1000,
        idf: str = "lucene",
        scorer: str = "bm25",
        threads: int | None = None,
        memory: Size = None,
        progress: Progress = None,
        **options: Any,
    ) -> Tuning:
        """The parameters of scores with which judged queries have the best results: a Tuning.

        queries: as for batch(). qrels: as for Results.evaluate(). measure: one of those of `quern eval`, such as "nDCG@10".
        k1, b, alpha: the values to try, in all combinations; None: the index's. If all are None, k1 is 0.4, 0.8, ... 2 and
        b is 0.1, 0.3, ... 0.9. alpha is that of scorer="bm25+pagerank".
        by_coordinates: tries the values of one parameter after the other, from start on, such as {"k1": 0.9} (default: the
        index's parameters), until none is better.
        folds: number of parts of the queries; parameters for each are chosen on the others. 0: no cross-validation.
        k: results per query. options: relevance_level, depth, complete and trec_eval, as for `quern eval`.

        The values equal those of batch(queries, k, k1=..., b=...).evaluate(qrels). Runs without the GIL, and Ctrl-C stops it.
        """
        qids, texts = texts_of(queries)
        chosen = _quern.TuningOptions()
        values = {name: _values_to_try(name, given) for name, given in (("k1", k1), ("b", b), ("alpha", alpha)) if given is not None}
        starts = {f"start_{name}": value for name, value in (start or {}).items()}
        settings = {"measure": measure, "folds": folds, "by_coordinates": by_coordinates, "k": k}
        members = {**settings, **values, **starts, **options, "idf": idf, "scorer": scorer}
        for name in members:
            if not hasattr(chosen, name):
                raise TypeError(f"tune() has no option {name.removeprefix('start_')!r}")
        set_members(chosen, members, "start_")
        work = (threads or 0, size_bytes("memory", memory), _progress(progress))
        with judgements_file(qrels) as path:
            found = called(_quern.tune, self, qids, texts, path, chosen, *work)
        return Tuning(found)

    def __contains__(self, docno: object) -> bool:
        return isinstance(docno, str) and self.find(docno) is not None

    def __getitem__(self, document: int | str) -> dict[str, Any]:
        if isinstance(document, str):
            docid = self.find(document)
            if docid is None:
                raise KeyError(document)
            return self.document(docid)
        docid = operator.index(document)
        if not -len(self) <= docid < len(self):
            raise IndexError(f"no document has docID {docid}; docIDs are below {len(self)}")
        return self.document(docid % len(self))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The documents in docID order."""
        return map(self.document, range(len(self)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._searchers.clear()
            self._rerankers.clear()
            self._searcher = None

    def __reduce__(self):
        return _open_same, (type(self), self._paths, self.content_hash)

    def __repr__(self):
        return f"<quern.Index {self.path!r}: {len(self)} documents>"


def _numbers(name, values):
    """An option's numbers."""
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a list of numbers, not {values!r:.80}") from None


def _values_to_try(name, values):
    """A parameter's values."""
    numbers = _numbers(name, values)
    if not numbers:
        raise ValueError(f"{name} has no value to try; None means the index's")
    return numbers


def _progress(progress):
    """A function of (stage, done, total, unit), or None. True shows progress on standard error."""
    if progress is True:
        from .progress import shown

        return shown()
    return progress or None
