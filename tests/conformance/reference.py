"""BM25 as formats/scores.md defines it, in plain Python: float32 operations are done in double and rounded once, which gives the
same bits (double has more than twice float32's digits)."""
import collections
import json
import math
from pathlib import Path

import weighting
from weighting import f32

FOLDER = Path(__file__).parent
K1, B, K = 1.2, 0.75, 20


class Collection:
    """The kit's documents, in the order of their file, which is the order of docIDs; words are separated by spaces."""

    def __init__(self, documents):
        self.docnos = [document['docno'] for document in documents]
        self.title_tf = [collections.Counter(document.get('title', '').split()) for document in documents]
        self.body_tf = [collections.Counter(document['text'].split()) for document in documents]
        self.tf = [title + body for title, body in zip(self.title_tf, self.body_tf)]
        self.lengths = [sum(counts.values()) for counts in self.tf]
        self.df = collections.Counter(word for counts in self.tf for word in counts)
        first_seen = sorted(self.df)
        self.order = {word: (self.df[word], i) for i, word in enumerate(first_seen)}  # of summation

    @classmethod
    def of_kit(cls):
        return cls([json.loads(line) for line in open(FOLDER / 'documents.jsonl')])

    def fields(self, word, d):
        """The word's frequency, the document's length and the tokens of all documents: in titles, and in bodies."""
        return [(tf[d][word], tf[d].total(), sum(counts.total() for counts in tf)) for tf in (self.title_tf, self.body_tf)]

    def query(self, text):
        """The query's terms that are in the collection with their counts, in the order of summation."""
        counts = collections.Counter(text.split())
        return [(word, counts[word]) for word in sorted(counts.keys() & self.df.keys(), key=self.order.get)]


def queries_of_kit():
    return dict(line.rstrip('\n').split('\t') for line in open(FOLDER / 'queries.tsv'))


def idf(model, documents, df):
    odds = (documents - df + 0.5) / (df + 0.5)
    return max(1e-6, math.log(odds)) if model == 'robertson' else math.log(1 + odds)


def term_score(collection, d, word, n, model='lucene'):
    """weight ⊗ impact: steps 3 to 6 of formats/scores.md."""
    average = sum(collection.lengths) / len(collection.lengths)
    constant = f32(K1 * (1 - B + B * (collection.lengths[d] / average)))
    weight = f32(n * idf(model, len(collection.docnos), collection.df[word]) * (K1 + 1))
    f = collection.tf[d][word]
    return f32(weight * f32(f / f32(constant + f)))


def bm25(collection, model='lucene'):
    """A function of a query's terms and a document: the float32 sum of its term scores."""
    def score(terms, d):
        total = 0.0
        for word, n in terms:
            if word in collection.tf[d]:
                total = f32(total + term_score(collection, d, word, n, model))
        return total
    return score


def quantized(collection, bits=8):
    """The sum of integers, ImpactQuantizer in lib/core/bm25.hpp."""
    top = max(term_score(collection, d, word, 1) for d, counts in enumerate(collection.tf) for word in counts)
    levels = 2 ** bits - 1
    scale = levels / top

    def score(terms, d):
        return sum(n * max(1, min(levels, math.floor(term_score(collection, d, word, 1) * scale + 0.5)))
                   for word, n in terms if word in collection.tf[d])
    return score


def stored(model, bits=16):
    """A function of a collection: the sum of the integers that `quern index --weights MODEL` stores."""
    def of_collection(collection):
        documents, tokens, levels = len(collection.docnos), sum(collection.lengths), 2 ** bits - 1
        values = weighting.USUAL[model]
        scale = levels / weighting.bound(model, values, documents, tokens)
        cf = sum(collection.tf, collections.Counter())

        def integer(word, d):
            f = collection.tf[d][word]
            if model == 'bm25f':
                f = weighting.field_sum(values, collection.fields(word, d), documents)
            exact = weighting.weight(model, values, f, collection.lengths[d], collection.df[word], cf[word], documents, tokens)
            return max(1, min(levels, math.floor(exact * scale + 0.5)))
        return lambda terms, d: sum(n * integer(word, d) for word, n in terms if word in collection.tf[d])
    return of_collection


MODELS = {'bm25': bm25, 'bm25-robertson': lambda collection: bm25(collection, 'robertson'), 'bm25-quantized': quantized,
          **{f'{model}-stored': stored(model) for model in weighting.MODELS}}


def ranking(collection, text, score, k=K):
    """(docno, score) of the k best documents that have a term of the query; ties go to the lower docID."""
    terms = collection.query(text)
    found = [(score(terms, d), d) for d, counts in enumerate(collection.tf) if any(word in counts for word, _ in terms)]
    found.sort(key=lambda row: (-row[0], row[1]))
    return [(collection.docnos[d], value) for value, d in found[:k]]
