#!/usr/bin/env python3
"""Compares an engine's run over the kit with the exact scores, and says where and by how much it differs.

    tests/conformance/check.py RUN [MODEL]    MODEL: bm25 (default) or another one of scores.json

RUN has lines of TREC runs: query, Q0, docno, rank, score, tag. Exits with 0 if the best 20 documents of each query and their
float32 scores are those of scores.json, else with 1, after naming the definition of BM25 that explains the scores best.
"""
import collections
import itertools
import json
import math
import sys

import reference

IDFS = {
    'ln(1 + (N - df + 0.5) / (df + 0.5))': lambda n, df: math.log(1 + (n - df + 0.5) / (df + 0.5)),
    'ln((N - df + 0.5) / (df + 0.5)), at least 1e-6': lambda n, df: max(1e-6, math.log((n - df + 0.5) / (df + 0.5))),
    'ln((N - df + 0.5) / (df + 0.5)), which can be negative': lambda n, df: math.log((n - df + 0.5) / (df + 0.5)),
    'ln(N / df)': lambda n, df: math.log(n / df),
    'ln((N + 1) / df)': lambda n, df: math.log((n + 1) / df),
    'log2((N - df + 0.5) / (df + 0.5))': lambda n, df: math.log2((n - df + 0.5) / (df + 0.5)),
}
# Of words in more than half of the documents, whose idf would be negative.
REPLACED = "ln((N - df + 0.5) / (df + 0.5)), a quarter of all words' mean where negative"
PARAMETERS = [(1.2, 0.75), (0.9, 0.4), (1.5, 0.75), (2.0, 0.75), (0.82, 0.68)]


def one_byte(length):
    """A length as Lucene's SmallFloat.intToByte4 keeps it: exact below 40, else its four highest bits."""
    if length < 40:
        return length
    shift = (length - 24).bit_length() - 4
    return 24 + ((length - 24) >> shift << shift)


LENGTHS = {'exact lengths': lambda length: length, "lengths in one byte, as Lucene keeps them": one_byte}


def idfs(collection, name):
    """The idf of each word."""
    documents = len(collection.docnos)
    if name != REPLACED:
        return {word: IDFS[name](documents, df) for word, df in collection.df.items()}
    found = {word: math.log((documents - df + 0.5) / (df + 0.5)) for word, df in collection.df.items()}
    mean = sum(found.values()) / len(found)
    return {word: value if value >= 0 else mean / 4 for word, value in found.items()}


def variants(collection):
    """(description, function of a query's counts and a document) of each known definition of BM25, the kit's first."""
    documents = len(collection.lengths)
    for (k1, b), idf, (lengths, length_of), plus_one, of_whom, repeats in itertools.product(
            PARAMETERS, [*IDFS, REPLACED], LENGTHS.items(), (True, False), ('all documents', 'documents with words'), (True, False)):
        average = sum(collection.lengths) / (documents if of_whom == 'all documents' else sum(map(bool, collection.lengths)))
        weights = {word: weight * (k1 + 1 if plus_one else 1) for word, weight in idfs(collection, idf).items()}
        constants = [k1 * (1 - b + b * length_of(length) / average) for length in collection.lengths]

        def score(counts, d, weights=weights, constants=constants, repeats=repeats):
            tf = collection.tf[d]
            return sum((n if repeats else 1) * weights[word] * tf[word] / (constants[d] + tf[word])
                       for word, n in counts if word in tf)
        yield (f'k1 {k1}, b {b}; idf {idf}; {"" if plus_one else "no "}factor k1 + 1; {lengths}; average length of {of_whom}; '
               f'a repeated word counts {"as often" if repeats else "once"}'), score


def read_run(path):
    run = collections.defaultdict(dict)
    for number, line in enumerate(open(path), 1):
        fields = line.split()
        if len(fields) != 6:
            sys.exit(f'check: error: {path}, line {number}: has {len(fields)} fields; a TREC run has 6')
        run[fields[0]][fields[2]] = float(fields[4])
    return run


def explain(collection, queries, run):
    """The definition whose scores differ least from the run's, and by how much."""
    place = {docno: d for d, docno in enumerate(collection.docnos)}
    rows = [(collection.query(queries[qid]), place[docno], score) for qid, scores in run.items() for docno, score in scores.items()]

    def difference(function, limit):
        worst = 0
        for counts, d, score in rows:
            expected = function(counts, d)
            worst = max(worst, abs(score - expected) / max(abs(expected), 1e-6))
            if worst >= limit:  # another definition is better
                break
        return worst
    best, least = '', math.inf
    for description, function in variants(collection):
        found = difference(function, least)
        if found < least * 0.99:
            best, least = description, found
    return best, least


def main(path, model='bm25'):
    collection, queries = reference.Collection.of_kit(), reference.queries_of_kit()
    expected = json.load(open(reference.FOLDER / 'scores.json'))
    if model not in expected:
        sys.exit(f'check: error: unknown model {model}; known models: {", ".join(expected)}')
    run = read_run(path)
    if strange := (run.keys() - queries.keys()) or {docno for scores in run.values() for docno in scores} - set(collection.docnos):
        sys.exit(f'check: error: {path}: {sorted(strange)[0]} is not in the kit')
    documents = missing = extra = scores = order = 0
    example = ''
    for qid, rows in expected[model].items():
        best = sorted(run[qid].items(), key=lambda row: -row[1])[:reference.K]  # stable: ties as in the file
        missing += max(0, len(rows) - len(best))
        extra += max(0, len(best) - len(rows))
        for (docno, score), (found, its_score) in zip(rows, best):
            documents += 1
            if reference.f32(its_score) != reference.f32(score):
                scores += 1
                example = example or f'query {qid}, rank {rows.index([docno, score]) + 1}: {found} {its_score:.9g}, expected {docno} {score:.9g}'
            elif found != docno:
                order += 1
    print(f'{documents} ranks compared: {missing} missing, {extra} too many, {scores} other scores, {order} ties in another order')
    if missing + extra + scores + order == 0:
        print(f'identical to {model}, bit for bit')
        return 0
    if example:
        print('the first difference: ' + example)
    if scores and model in ('bm25', 'bm25-robertson'):
        description, difference = explain(collection, queries, run)
        known = 'the definition of these scores' if difference < 1e-4 else 'no known definition; the nearest'
        print(f'{known}, within {difference:.1e} of all of them (rounding of float32 alone is some 1e-7): {description}')
    if order:
        print('the kit orders equal scores by the documents\' place in documents.jsonl')
    return 1


if __name__ == '__main__':
    if len(sys.argv) not in (2, 3) or sys.argv[1] in ('-h', '--help'):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
