"""Results of queries."""

from . import _quern


class Results:
    """Results of queries: parallel arrays, query by query, best first, ties in docID order.

    query: int32, the position of each result's query in the batch, from 0.
    docid: uint32.
    score: float32.
    rank: int32, from 0.
    offsets: uint64, one more than queries: the results of query i are at [offsets[i], offsets[i + 1]).
    qids: the queries' ids, str.
    statistics: the work done to find them, a dict of counts.

    The arrays are views of shared memory, which lives as long as any of them.
    """

    __slots__ = ("_found", "_texts", "qids")

    def __init__(self, found, qids, texts):
        self._found = found
        self.qids = qids
        self._texts = texts

    @staticmethod
    def of(index, counts, docids, scores):
        """Results from elsewhere: for each query the number of its documents, then all docIDs and scores, query by query."""
        return _quern.found_of(index, counts, docids, scores)

    @property
    def query(self):
        return self._found.query

    @property
    def docid(self):
        return self._found.docid

    @property
    def score(self):
        return self._found.score

    @property
    def rank(self):
        return self._found.rank

    @property
    def offsets(self):
        return self._found.offsets

    @property
    def statistics(self):
        return self._found.statistics

    def docnos(self):
        """The documents' docnos: a list of str of the same length as docid."""
        return self._found.docnos()

    def to_frame(self):
        """A pandas.DataFrame with the columns qid, docno, score, rank (from 0), docid and query (the text)."""
        import pandas

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

    def to_run(self):
        """A run in the form of ir_measures and pytrec_eval: {qid: {docno: score}}."""
        run = {qid: {} for qid in self.qids}
        qids = list(self.qids)
        for i, docno, score in zip(self.query.tolist(), self.docnos(), self.score.tolist()):
            run[qids[i]][docno] = score
        return run

    def to_trec(self, tag="quern"):
        """The lines of a TREC run, byte for byte as `quern query` writes them."""
        return self._found.trec_run(self.qids, tag)

    def evaluate(self, qrels, measures=()):
        """Evaluates the results with the judgements in a file, as `quern eval` and trec_eval do.

        measures: names such as "map", "P.10" or "ndcg_cut.10"; none: the usual ones.
        Returns {measure: value} over all queries.
        """
        return _quern.evaluate(self.to_trec(), str(qrels), list(measures))["all"]

    def __len__(self):
        """The number of results of all queries."""
        return len(self._found)

    def __iter__(self):
        """(docno, score) of each result."""
        return iter(zip(self.docnos(), self.score.tolist()))

    def __repr__(self):
        return f"<quern.Results: {len(self)} results of {len(self.qids)} queries>"
