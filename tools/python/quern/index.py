"""Open indexes."""

import os
import threading
from types import SimpleNamespace

from . import _quern
from .queries import texts_of
from .results import Results
from .sizes import size_bytes


def _version_of(path):
    """A value that changes when a file is replaced; None if there is no file."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino


class Index(_quern.Index):
    """An open index, made by `quern.open(path)`. Many threads may use it at once; after a fork, the child may too.

    len(index) is the number of documents. df(), cf(), postings(), terms(), analyze(), docno(), find(), document(),
    length() and text() return its contents; search(), batch() and intersect() answer queries. Over several shards, stats
    and the functions of terms raise InvalidArgument.
    """

    def __init__(self, *paths):
        super().__init__([os.fspath(path) for path in paths])
        self._searchers = {}
        self._rerankers = {}
        self._lock = threading.Lock()
        self._searcher = None

    @property
    def stats(self):
        """Properties and sizes of the index: documents, terms, postings, tokens, average_length, codec, order and more."""
        return SimpleNamespace(**self.statistics())

    def verify(self, *, progress=None, threads=None, memory=None):
        """Verifies every byte of the index and of the files next to it. Raises CorruptFile with the position."""
        self.check(_progress(progress), threads or 0, size_bytes(memory))

    def searcher(self, **options):
        """The searcher with these options. Opened once and kept: GPUs keep the index, and tables are computed once.

        k1, b, idf ("lucene", "robertson"), scores ("exact", "quantized"), scorer ("bm25", "bm25+pagerank"), alpha,
        early_termination: how documents are scored. None: the index's setting. query_scale: with given weights, a factor
        for query weights before they are rounded; None: they are integers.
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
                options[name] = size_bytes(options[name])
        plans = options.pop("plan", ())
        plans = (plans,) if isinstance(plans, (str, os.PathLike)) else plans
        options["plans"] = tuple(os.fspath(plan) for plan in plans)
        key = (kind, *sorted(options.items()))
        with self._lock:
            if key not in self._searchers:
                self._searchers[key] = kind(self, **options)
            return self._searchers[key]

    def reranker(self, model, *, features="all", **options):
        """The reranker that quern.rerank() uses. Opened once and kept until the model file changes: GPUs keep model and
        documents.

        model, features: as for quern.rerank(). options: features_from, device, gpu, gpu_memory, and threads, the number
        that rerank at a time.
        """
        path = os.fspath(model)
        if "gpu_memory" in options:
            options["gpu_memory"] = size_bytes(options["gpu_memory"])
        options = {name: value for name, value in options.items() if value is not None}
        key = (path, features, *sorted(options.items()))
        version = _version_of(path)
        with self._lock:
            if key not in self._rerankers or self._rerankers[key][0] != version:
                self._rerankers[key] = (version, _quern.Reranker(self, path, features, **options))
            return self._rerankers[key][1]

    def filter(self, passing, *, threads=None):
        """A set of documents to which search() and batch() restrict results. Both also accept this function's argument.

        passing: an expression such as "lang=en and not url^=http://a.example/" over docno, url and kept fields
        (formats/queries/filter.md); or a sequence of docnos (str; unknown ones are ignored) or of docIDs (int).
        """
        if isinstance(passing, _quern.Filter):
            return passing
        if isinstance(passing, str):
            return _quern.filter_matching(self, passing, threads or 0)
        passing = list(passing)
        if any(isinstance(docno, str) for docno in passing):
            return _quern.filter_of_docnos(self, passing)
        return _quern.filter_of_docids(self, passing)

    def search(self, query, k=10, algorithm="", filter=None, **options):
        """The k best documents for a query, found by this thread on the CPU: Results of one query.

        query: a text, or a dict {term: weight} of analyzed terms.
        algorithm: one of quern.algorithms(). filter: as for filter(). options: as for searcher().
        """
        searcher = self._searcher
        if options or searcher is None:
            searcher = self.searcher(**options)
            if not options:
                self._searcher = searcher
        if filter is not None:
            filter = self.filter(filter)
        return Results(searcher.search(query, k, algorithm, filter), ("1",), (query,))

    def batch(self, queries, k=10, *, algorithm="", filter=None, threads=None, progress=None, **options):
        """The k best documents of each query: Results. Runs without the GIL, and Ctrl-C stops it.

        queries: a list of texts or of dicts {term: weight}, pairs of id and query, a dict {id: query}, or a DataFrame
        with qid and query.
        filter: as for filter(); on GPUs, with the strategy "range". options: as for searcher(), such as device="auto" or
        scores="quantized".
        """
        qids, texts = texts_of(queries)
        searcher = self.searcher(**options)
        if filter is not None:
            filter = self.filter(filter, threads=threads)
        return Results(searcher.batch(texts, k, algorithm, threads or 0, _progress(progress), filter), qids, texts)

    def intersect(self, queries, *, filter=None, threads=None, progress=None, **options):
        """All documents that contain every term of each query, without scores: Results in docID order, with scores of 0.

        queries, filter: as for batch(). options: method, as for `quern intersect`; device, gpu, gpus, gpu_memory, plan,
        threads and memory, as for searcher(). Raises InvalidArgument over several shards.
        """
        qids, texts = texts_of(queries)
        if filter is not None:
            filter = self.filter(filter, threads=threads)
        intersector = self._opened(_quern.Intersector, options)
        return Results(intersector.batch(texts, threads or 0, _progress(progress), filter), qids, texts)

    def __repr__(self):
        return f"<quern.Index {self.path!r}: {len(self)} documents>"


def _progress(progress):
    """A function of (stage, done, total, unit), or None. True shows progress on standard error."""
    if progress is True:
        from .progress import show

        return show
    return progress or None
