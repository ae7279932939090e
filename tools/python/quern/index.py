"""Open indexes."""

import os
import threading
from types import SimpleNamespace

from . import _quern
from .queries import texts_of
from .results import Results
from .sizes import size_bytes


def _version_of(path):
    """What changes when a file is written anew; None if there is none."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino


class Index(_quern.Index):
    """An open index, made by `quern.open(path)`. Many threads may use it at once; after a fork, the child may too.

    len(index) is the number of documents. df(), cf(), postings(), terms(), analyze(), docno(), find(), document(),
    length() and text() say what it holds; search() and batch() answer queries.
    """

    def __init__(self, path):
        super().__init__(str(path))
        self._searchers = {}
        self._rerankers = {}
        self._lock = threading.Lock()
        self._searcher = None

    @property
    def stats(self):
        """What the index is and holds: documents, terms, postings, tokens, average_length, codec, order and more."""
        return SimpleNamespace(**self.statistics())

    def verify(self, *, progress=None, threads=None, memory=None):
        """Checks every byte of the index and of the files beside it. Raises CorruptFile with the place."""
        self.check(_progress(progress), threads or 0, size_bytes(memory))

    def searcher(self, **options):
        """The searcher with these options, opened once and kept: GPUs keep the index, tables are computed once.

        k1, b, idf ("lucene", "robertson"), scores ("exact", "quantized"), scorer ("bm25", "bm25+pagerank"), alpha,
        early_termination: how documents are scored. None: as the index says. query_scale: with given weights, what
        those of queries are multiplied with before they are rounded; None: they are whole.
        device ("cpu", "gpu", "auto"), gpu, gpus, strategy, gpu_memory (bytes or "4G"), plan (a file of quern.plan):
        where batches run.
        threads: of batches. memory: what queries that run may take.
        """
        for name in ("gpu_memory", "memory"):
            if name in options:
                options[name] = size_bytes(options[name])
        options = {name: value for name, value in options.items() if value is not None}
        if "plan" in options:
            options["plan"] = str(options["plan"])
        key = tuple(sorted(options.items()))
        with self._lock:
            if key not in self._searchers:
                self._searchers[key] = _quern.Searcher(self, **options)
            return self._searchers[key]

    def reranker(self, model, *, features="all", **options):
        """What quern.rerank() uses, opened once and kept until the model's file changes: GPUs keep model and documents.

        model, features: as for quern.rerank(). options: device, gpu and gpu_memory, and threads that rerank at a time.
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
        """A set of documents that alone may be results, for search() and batch(), which also take what this takes.

        passing: an expression such as "lang=en and not url^=http://a.example/" over docno, url and kept fields
        (formats/queries/filter.md); or a sequence of docnos (str; those that the index lacks are left out) or of
        docIDs (int).
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

        query: a text, or a dict {term: weight} of terms as the index has them.
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

    def __repr__(self):
        return f"<quern.Index {self.path!r}: {len(self)} documents>"


def _progress(progress):
    """A function that takes (stage, done, total, unit), or None. True shows progress on standard error."""
    if progress is True:
        from .progress import show

        return show
    return progress or None
