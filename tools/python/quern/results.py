"""Results of queries."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy

from . import _quern

if TYPE_CHECKING:
    import pandas


def _restored(index, counts, docids, scores, qids, texts, bounds_left):
    """Results that were pickled."""
    found = Results.of(index, counts.tolist(), docids, scores)
    found.bounds_left = bounds_left
    return Results(index, found, qids, texts)


class Results:
    """Results of queries: parallel arrays, query by query, best first, ties in docID order.

    query: int32, the position of each result's query in the batch, from 0.
    docid: uint32.
    score: float32.
    rank: int32, from 0.
    offsets: uint64, one more than queries: the results of query i are at [offsets[i], offsets[i + 1]).
    qids: the queries' ids, str.
    statistics: the work done to find them, a dict of counts.
    bound_left: with budget_us or blocks_left_out, a list: for each query the highest upper bound of the scores of
        documents that were left out and may be results; None if the results are exact. Without, None.
    exact: with budget_us or blocks_left_out, a list: for each query whether its results are proven to be those of an
        exhaustive search. Without, None.

    The arrays are views of shared memory, which lives as long as any of them.

    results[i] is (docno, score), results[i:j] a list of these, and results[qid] the list of one query. Results are equal if
    their ids, docIDs and scores are; pickled ones keep these and bound_left, and open their index again.
    """

    __slots__ = ("_found", "_index", "_texts", "qids")

    def __init__(self, index, found, qids, texts):
        self._index = index
        self._found = found
        self.qids = qids
        self._texts = texts

    @staticmethod
    def of(index, counts, docids, scores):
        """Results from elsewhere: for each query the number of its documents, then all docIDs and scores, query by query."""
        return _quern.found_of(index, counts, docids, scores)

    @property
    def query(self) -> numpy.ndarray:
        return self._found.query

    @property
    def docid(self) -> numpy.ndarray:
        return self._found.docid

    @property
    def score(self) -> numpy.ndarray:
        return self._found.score

    @property
    def rank(self) -> numpy.ndarray:
        return self._found.rank

    @property
    def offsets(self) -> numpy.ndarray:
        return self._found.offsets

    @property
    def statistics(self) -> dict[str, Any]:
        return self._found.statistics

    @property
    def bound_left(self) -> list[float | None] | None:
        return self._found.bounds_left or None

    @property
    def exact(self) -> list[bool] | None:
        bounds = self.bound_left
        return None if bounds is None else [bound is None for bound in bounds]

    def docnos(self) -> list[str]:
        """The documents' docnos: a list of str of the same length as docid."""
        return self._found.docnos()

    def snippets(self) -> list[str]:
        """For each result the passage of its text that best shows why the query matches, on one line, as `quern query
        --fields text` shows it: a list of str of the same length as docid.

        Needs an index built with store_text=True, and queries that are texts.
        """
        offsets = self.offsets.tolist()
        found = []
        for text, begin, end in zip(self._texts, offsets, offsets[1:]):
            if not isinstance(text, str):
                raise TypeError("snippets() needs queries that are texts, not dicts of terms")
            found += self._index.snippets(text, self.docid[begin:end].tolist())
        return found

    def to_frame(self) -> "pandas.DataFrame":
        """A pandas.DataFrame with the columns qid, docno, score, rank (from 0), docid and query (the text)."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas; to_run() does without") from error
        query = self.query
        qids, texts = list(self.qids), list(self._texts)
        return pandas.DataFrame(
            {
                "qid": [qids[i] for i in query],
                "docid": self.docid,
                "docno": self.docnos(),
                "rank": self.rank,
                "score": self.score,
                "query": [texts[i] for i in query],
            }
        )

    def to_run(self) -> dict[str, dict[str, float]]:
        """A run in the form of ir_measures and pytrec_eval: {qid: {docno: score}}."""
        run = {qid: {} for qid in self.qids}
        qids = list(self.qids)
        for i, docno, score in zip(self.query.tolist(), self.docnos(), self.score.tolist()):
            run[qids[i]][docno] = score
        return run

    def to_trec(self, tag: str = "quern") -> str:
        """The lines of a TREC run, byte for byte as `quern query` writes them."""
        return self._found.trec_run(self.qids, tag)

    def evaluate(
        self, qrels: Any = None, measures: str | Iterable[str] = (), *, exact: Any = None
    ) -> dict[str, float]:
        """Evaluates the results with relevance judgements, as `quern eval` and trec_eval do, or with exact results.

        qrels, measures, exact: as for quern.evaluate().
        Returns {measure: value} over all queries.
        """
        from .stages import evaluate  # which needs this module

        return evaluate(self, qrels, measures, exact=exact)["all"]

    def __len__(self) -> int:
        """The number of results of all queries."""
        return len(self._found)

    @overload
    def __getitem__(self, which: int) -> tuple[str, float]: ...
    @overload
    def __getitem__(self, which: slice | str) -> list[tuple[str, float]]: ...
    def __getitem__(self, which: int | slice | str) -> Any:
        if isinstance(which, str):
            try:
                query = list(self.qids).index(which)
            except ValueError:
                raise KeyError(which) from None
            return self[int(self.offsets[query]) : int(self.offsets[query + 1])]
        found = range(len(self))[which]
        if isinstance(found, int):
            return self._index.docno(int(self.docid[found])), float(self.score[found])
        return [self[i] for i in found]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Results):
            return NotImplemented
        return list(self.qids) == list(other.qids) and all(
            numpy.array_equal(getattr(self, name), getattr(other, name)) for name in ("offsets", "docid", "score")
        )

    __hash__ = None

    def __reduce__(self):
        counts = numpy.diff(self.offsets).astype(numpy.uint32)
        texts, bounds = list(self._texts), self._found.bounds_left
        return _restored, (self._index, counts, self.docid, self.score, list(self.qids), texts, bounds)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        """(docno, score) of each result."""
        return iter(zip(self.docnos(), self.score.tolist()))

    def __repr__(self):
        return f"<quern.Results: {len(self)} results of {len(self.qids)} queries>"
