"""Quern in PyTerrier's pipelines (pip install "quern-search[pyterrier]").

    import pyterrier as pt
    from quern.pyterrier import QuernIndex

    index = QuernIndex("my.quern")
    index.index(documents)                          # dicts with docno and text
    pipeline = index.bm25(num_results=100) % 10     # the cut-off is fused: only 10 results are searched
    pt.Experiment([pipeline], topics, qrels, ["map"])

No Java is needed.
"""

import pandas
import pyterrier as pt

from . import building, stages
from .index import Index
from .results import Results


class QuernIndex(pt.Artifact, pt.Indexer):
    """An index as a PyTerrier artifact, which builds itself from documents and creates the transformers that search it.

    path: of the index, which need not exist yet. options: passed to quern.index() by index().
    """

    ARTIFACT_TYPE = "sparse_index"
    ARTIFACT_FORMAT = "quern"
    ARTIFACT_PACKAGE_HINT = "quern-search[pyterrier]"

    def __init__(self, path, **options):
        super().__init__(path)
        self._options = options
        self._index = None

    def index(self, iter, **kwargs):
        """Builds the index from an iterable of dicts with docno and text, and optionally title and url. Returns itself."""
        building.index(iter, self.path, **{**self._options, **kwargs})
        self._index = None
        return self

    def index_inputs(self):
        return [["docno", "text"]]

    def built(self):
        """Whether the index exists."""
        return (self.path / "index.quern").exists()

    @property
    def quern(self):
        """The quern.Index, opened once."""
        if self._index is None:
            self._index = Index(str(self.path))
        return self._index

    def bm25(self, *, k1=None, b=None, num_results=1000, algorithm="", **options):
        """A retriever by BM25: qid and query become qid, query, docno, docid, rank (from 0) and score.

        k1, b: the index's unless given. algorithm, options: as for quern.Index.batch(), such as device="auto".
        """
        return QuernRetriever(self, num_results, algorithm, {"k1": k1, "b": b, **options})

    def quantized(self, *, num_results=1000, algorithm="", **options):
        """A retriever by sums of the integers that quern.index(quantize=8) stores; columns as for bm25()."""
        return QuernRetriever(self, num_results, algorithm, {"scores": "quantized", **options})

    def impacts(self, *, num_results=1000, algorithm="", **options):
        """A retriever for an index of given weights, QuernIndex(path, impacts=8).index(iter) with documents that have
        toks: queries are dicts {term: weight} in the column query_toks, or texts."""
        return QuernRetriever(self, num_results, algorithm, options)

    def features(self, selection="all"):
        """A transformer that adds a column `features` to results: a numpy array for each. Needs forward=True."""
        return QuernFeatures(self, selection)

    def text_loader(self, fields="*", *, verbose=False):
        """A transformer that adds stored fields of the documents as columns.

        fields: a name or a list of names: text (the body, with store_text=True), title, url, and those of keep_fields; "*":
        all that the index has. verbose: has no effect; PyTerrier passes it.
        """
        return QuernTextLoader(self, fields)

    def reranker(self, model, *, features="all", **options):
        """A transformer that rescores results with a learned model. Needs forward=True.

        options: features_from, device, gpu and gpu_memory, as for quern.rerank().
        """
        return QuernReranker(self, model, features, options)

    def __repr__(self):
        return f"QuernIndex({str(self.path)!r})"


def _parameter(name):
    """A parameter of scores as an attribute, which get_parameter(), set_parameter() and pt.GridSearch use."""

    def get(self):
        return self.options.get(name)

    def set_to(self, value):
        self.options = {**self.options, name: value}
        if value is None:
            del self.options[name]

    return property(get, set_to, doc=f"{name} of the scores; None: the index's.")


class QuernRetriever(pt.Transformer):
    """Searches an index. A rank cut-off after it is fused into the search.

    k1, b and alpha can be set, also by pt.GridSearch and pt.GridScan; quern.Index.tune() does the same much faster.
    """

    k1 = _parameter("k1")
    b = _parameter("b")
    alpha = _parameter("alpha")

    def __init__(self, index, num_results, algorithm, options):
        if num_results < 1:
            raise ValueError(f"num_results must be at least 1, not {num_results}")
        self.index = index
        self.num_results = num_results
        self.algorithm = algorithm
        self.options = {name: value for name, value in options.items() if value is not None}

    def fuse_rank_cutoff(self, k):
        if k >= self.num_results:
            return self
        return QuernRetriever(self.index, k, self.algorithm, self.options)

    def transform(self, inp):
        column = "query_toks" if "query_toks" in inp.columns else "query"
        pt.validate.query_frame(inp, extra_columns=[column])
        queries = inp.reset_index(drop=True)
        texts = queries[column].tolist()
        found = self._search([str(qid) for qid in queries["qid"]], texts)
        rows = queries.drop(columns=["docno", "docid", "rank", "score"], errors="ignore").iloc[found.query]
        rows = rows.reset_index(drop=True)
        return rows.assign(docno=found.docnos(), docid=found.docid, rank=found.rank, score=found.score.astype("float64"))

    def text_loader(self, fields="*", *, verbose=False):
        """As QuernIndex.text_loader()."""
        return self.index.text_loader(fields, verbose=verbose)

    def _search(self, qids, texts):
        return self.index.quern.batch(
            list(zip(qids, texts)), self.num_results, algorithm=self.algorithm, **self.options
        )

    def __repr__(self):
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"QuernRetriever({self.index!r}, num_results={self.num_results}{options})"


def _docids(index, docnos):
    """The docIDs of documents."""
    docids = [index.quern.find(docno) for docno in docnos]
    if None in docids:
        raise ValueError(f"{index.path} has no document {docnos[docids.index(None)]!r}")
    return docids


class QuernTextLoader(pt.Transformer):
    """Adds stored fields of documents."""

    def __init__(self, index, fields):
        self.index = index
        self.fields = fields

    def transform(self, inp):
        pt.validate.columns(inp, includes=["docno"])
        docids = _docids(self.index, inp["docno"].tolist())
        return inp.assign(**{name: self._values(name, docids) for name in self._names()})

    def _names(self):
        if self.fields != "*":
            return [self.fields] if isinstance(self.fields, str) else list(self.fields)
        ix = self.index.quern
        return [*(["text"] if ix.stats.has_texts else []), "title", "url", *ix.kept_fields()]

    def _values(self, name, docids):
        ix = self.index.quern
        if name == "text":
            return [ix.text(docid).partition("\n")[2] for docid in docids]  # after the line of the title
        if name in ("title", "url"):
            return [ix.document(docid)[name] for docid in docids]
        return ix.kept_values(name, docids)

    def __repr__(self):
        return f"{self.index!r}.text_loader({self.fields!r})"


class _OfResults(pt.Transformer):
    """Base class of transformers of query results."""

    def _results(self, inp):
        """The rows, grouped by query, and their Results."""
        rows = inp.reset_index(drop=True)
        rows = rows.iloc[rows.groupby("qid", sort=False).ngroup().argsort(kind="stable")].reset_index(drop=True)
        docids = _docids(self.index, rows["docno"].tolist())
        first = rows.groupby("qid", sort=False).head(1)
        counts = rows.groupby("qid", sort=False).size()
        scores = rows["score"].tolist() if "score" in rows else [0.0] * len(rows)
        found = Results.of(self.index.quern, counts.tolist(), docids, scores)
        return rows, Results(self.index.quern, found, [str(qid) for qid in first["qid"]], first["query"].tolist())


class QuernFeatures(_OfResults):
    """Adds features of documents for their queries."""

    def __init__(self, index, selection):
        self.index = index
        self.selection = selection

    def transform(self, inp):
        pt.validate.result_frame(inp, extra_columns=["query"])
        rows, results = self._results(inp)
        values = stages.features(self.index.quern, results, self.selection)
        return rows.assign(features=list(values))


class QuernReranker(_OfResults):
    """Rescores results with a learned model."""

    def __init__(self, index, model, features, options):
        self.index = index
        self.model = model
        self.features = features
        self.options = options

    def transform(self, inp):
        pt.validate.result_frame(inp, extra_columns=["query"])
        rows, results = self._results(inp)
        reranked = stages.rerank(self.index.quern, results, self.model, features=self.features, **self.options)
        scores = pandas.DataFrame(
            {
                "qid": [results.qids[i] for i in reranked.query],
                "docno": reranked.docnos(),
                "rank": reranked.rank,
                "score": reranked.score.astype("float64"),
            }
        )
        others = rows.drop(columns=["rank", "score", "docid"], errors="ignore")
        return scores.merge(others.astype({"qid": str}), on=["qid", "docno"], how="left")


def metadata_of(path, directory_listing):
    """Called by PyTerrier for a folder without pt_meta.json, to find out whether it is a Quern index."""
    if "index.quern" not in directory_listing:
        return None
    return {"type": QuernIndex.ARTIFACT_TYPE, "format": QuernIndex.ARTIFACT_FORMAT}
