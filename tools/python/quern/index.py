"""Open indexes."""

import threading
from types import SimpleNamespace

from . import _quern
from .queries import texts_of
from .results import Results
from .sizes import size_bytes


class Index(_quern.Index):
    """An open index, made by `quern.open(path)`. Many threads may use it at once; after a fork, the child may too.

    len(index) is the number of documents. df(), cf(), postings(), terms(), analyze(), docno(), find(), document(),
    length() and text() say what it holds; search() and batch() answer queries.
    """

    def __init__(self, path):
        super().__init__(str(path))
        self._searchers = {}
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
        early_termination: how documents are scored. None: as the index says.
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

    def search(self, query, k=10, algorithm="", **options):
        """The k best documents for a query's text, found by this thread on the CPU: Results of one query.

        algorithm: one of quern.algorithms(). options: as for searcher().
        """
        searcher = self._searcher
        if options or searcher is None:
            searcher = self.searcher(**options)
            if not options:
                self._searcher = searcher
        return Results(searcher.search(query, k, algorithm), ("1",), (query,))

    def batch(self, queries, k=10, *, algorithm="", threads=None, progress=None, **options):
        """The k best documents of each query: Results. Runs without the GIL, and Ctrl-C stops it.

        queries: a list of texts, pairs of id and text, a dict {id: text}, or a DataFrame with qid and query.
        options: as for searcher(), such as device="auto" or scores="quantized".
        """
        qids, texts = texts_of(queries)
        searcher = self.searcher(**options)
        return Results(searcher.batch(texts, k, algorithm, threads or 0, _progress(progress)), qids, texts)

    def __repr__(self):
        return f"<quern.Index {self.path!r}: {len(self)} documents>"


def _progress(progress):
    """A function that takes (stage, done, total, unit), or None. True shows progress on standard error."""
    if progress is True:
        from .progress import show

        return show
    return progress or None
