#!/usr/bin/env python3
"""Recomputes features from the documents' tokens and compares them bit for bit with those of `quern features`.

    reference_features.py QUERN INDEX TOPICS RUN

TOPICS contains lines "id<TAB>text". Frequencies, document frequencies, lengths and averages are all computed from the tokens that
`quern inspect --tokens` prints. formats/features.md defines the features. Exits with 1 after the first differences, if any.
"""
import json
import math
import struct
import subprocess
import sys
from collections import Counter, defaultdict

STREAMS = ("title", "body", "url", "anchor")


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def bits_of(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def double_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits & 0xFFFFFFFFFFFFFFFF))[0]


def natural_log(x):
    """ln(x) of a normal, positive number, in the operations of lib/core/natural_log.hpp."""
    ln2_high, ln2_low = 6.93147180369123816490e-01, 1.90821492927058770002e-10
    root_half, one, fraction = 0x3FE6A09E667F3BCD, 0x3FF0000000000000, 0x000FFFFFFFFFFFFF
    bits = bits_of(x) + (one - root_half)
    k = float((bits >> 52) - 1023)
    m = double_of((bits & fraction) + root_half)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    odd = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 +
                                                                           w * 1.479819860511658591e-01)))
    half_square = 0.5 * f * f
    return k * ln2_high - ((half_square - (s * (half_square + (odd + even)) + k * ln2_low)) - f)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Index:
    """All documents of an index, as lists of phrases, and derived statistics."""

    def __init__(self, quern, path):
        manifest = json.loads(run(quern, "inspect", path, "--json"))
        self.k1, self.b = manifest["k1"], manifest["b"]
        rows = [json.loads(line) for line in run(quern, "inspect", path, "--docs", "--json").splitlines()]
        self.pagerank = {row["docno"]: row["pagerank"] for row in rows}
        self.documents = {}
        for begin in range(0, len(rows), 400):
            asked = [argument for row in rows[begin:begin + 400] for argument in ("--tokens", row["docno"])]
            for line in run(quern, "inspect", path, "--json", *asked).splitlines():
                document = json.loads(line)
                self.documents[document["docno"]] = document
        self.tokens = Counter()
        self.df, self.cf = Counter(), Counter()
        for document in self.documents.values():
            for stream in STREAMS:
                self.tokens[stream] += sum(len(phrase) for phrase in document.get(stream, []))
            counts = Counter(token for stream in ("title", "body") for phrase in document.get(stream, []) for token in phrase)
            self.df.update(counts.keys())
            self.cf.update(counts)

    def average(self, stream):
        return 1.0 if self.tokens[stream] == 0 else self.tokens[stream] / len(self.documents)


class Query:
    def __init__(self, index, tokens):
        self.sequence = tokens
        self.terms = list(dict.fromkeys(tokens))
        count = Counter(tokens)
        self.n = [float(count[term]) for term in self.terms]
        documents, all_tokens = float(len(index.documents)), max(float(index.tokens["title"] + index.tokens["body"]), 1.0)
        self.idf = [natural_log(1.0 + (documents - index.df[t] + 0.5) / (index.df[t] + 0.5)) for t in self.terms]
        self.share = [max(float(index.cf[t]), 0.5) / all_tokens for t in self.terms]


def left_sum(values):
    total = 0.0
    for value in values:
        total += value
    return total


def aggregates(values):
    if not values:
        return [0.0] * 5
    total = left_sum(values)
    mean = total / len(values)
    return [total, min(values), max(values), mean, left_sum((x - mean) * (x - mean) for x in values) / len(values)]


def least_span(hits):
    """The shortest run with all occurring terms, by trying all starts."""
    wanted = {term for _, term, _ in hits}
    best = 0
    for begin in range(len(hits)):
        met = set()
        for offset, term, _ in hits[begin:]:
            met.add(term)
            if met == wanted:
                span = offset - hits[begin][0] + 1
                best = span if best == 0 else min(best, span)
                break
    return float(best)


def stream_features(index, query, stream, phrases):
    tokens = [(token, number) for number, phrase in enumerate(phrases) for token in phrase]
    length = len(tokens)
    hits = [(offset, token, phrase) for offset, (token, phrase) in enumerate(tokens) if token in query.terms]
    counts = Counter(token for _, token, _ in hits)
    tf = [float(counts[term]) for term in query.terms]
    terms = len(query.terms)
    matched = sum(1 for x in tf if x > 0)
    f = {"length": length, "phrases": len(phrases), "matched": matched, "matched_share": matched / terms if terms else 0.0}
    for name, values in (("tf", tf), ("tf_by_length", [x / length if length else 0.0 for x in tf]),
                         ("tf_idf", [x * idf for x, idf in zip(tf, query.idf)])):
        for kind, value in zip(("sum", "min", "max", "mean", "variance"), aggregates(values)):
            f[f"{name}_{kind}"] = value
    f["first"] = hits[0][0] if hits else length
    f["last"] = hits[-1][0] + 1 if hits else 0
    f["span"] = least_span(hits)
    pairs = set(zip(query.sequence, query.sequence[1:]))
    f["ordered_pairs"] = sum(1 for a, b in zip(hits, hits[1:])
                             if a[0] + 1 == b[0] and a[2] == b[2] and (a[1], b[1]) in pairs)
    in_phrase = defaultdict(set)
    for _, token, phrase in hits:
        in_phrase[phrase].add(token)
    f["phrase_match"] = max((len(found) for found in in_phrase.values()), default=0) / terms if terms else 0.0
    saturation = index.k1 * (1.0 - index.b + index.b * (length / index.average(stream)))
    f["bm25"] = left_sum(n * idf * (x * (index.k1 + 1.0) / (x + saturation))
                         for n, idf, x in zip(query.n, query.idf, tf) if x > 0)
    mu, one_in_ten = 2000.0, 0.1
    f["lm_dirichlet"] = left_sum(n * natural_log(x + mu * p) if x > 0 else n * natural_log(mu * p)
                                 for n, p, x in zip(query.n, query.share, tf)) - len(query.sequence) * natural_log(length + mu)
    f["lm_jelinek_mercer"] = left_sum(
        n * natural_log((1.0 - one_in_ten) * (x / length) + one_in_ten * p) if x > 0 else n * natural_log(one_in_ten * p)
        for n, p, x in zip(query.n, query.share, tf))
    return f, tf, length


def document_features(index, query, document, first_stage_score):
    features, tf, length = {}, {}, {}
    for stream in STREAMS:
        values, tf[stream], length[stream] = stream_features(index, query, stream, document.get(stream, []))
        features.update({f"{stream}.{name}": value for name, value in values.items()})
    weights = {"title": (3.0, 0.5), "body": (1.0, 0.75), "url": (1.5, 0.5), "anchor": (2.0, 0.5)}
    divisor = {s: 1.0 - b + b * (length[s] / index.average(s)) for s, (_, b) in weights.items()}
    bm25f, idf_sum, matched, matched_idf = 0.0, 0.0, 0, 0.0
    for i, idf in enumerate(query.idf):
        total = left_sum(weights[s][0] * tf[s][i] / divisor[s] for s in STREAMS)
        idf_sum += idf
        if total > 0:
            bm25f += idf * (total / (index.k1 + total))
            matched += 1
            matched_idf += idf
    terms = len(query.terms)
    features.update({
        "document.bm25f": bm25f, "document.bm25f_share": bm25f / idf_sum if idf_sum else 0.0,
        "document.matched": matched, "document.matched_share": matched / terms if terms else 0.0,
        "document.matched_idf_share": matched_idf / idf_sum if idf_sum else 0.0,
        "document.pagerank": index.pagerank[document["docno"]],
        "query.terms": terms, "query.length": len(query.sequence), "query.idf_sum": idf_sum,
        "query.idf_min": min(query.idf, default=0.0), "query.idf_max": max(query.idf, default=0.0),
        "first_stage.score": first_stage_score})
    for name in ("in_links", "out_links", "links", "url_bytes", "url_depth"):
        features[f"document.{name}"] = document[name]
    return features


def main():
    quern, path, topics, first_run = sys.argv[1:5]
    index = Index(quern, path)
    texts = {}
    for line in open(topics, encoding="utf-8"):
        number, text = line.rstrip("\n").split("\t", 1)
        texts[number] = text
    queries = {number: Query(index, run(quern, "analyze", "--index", path, "--", text).split())
               for number, text in texts.items()}
    scores = {}
    for line in open(first_run, encoding="utf-8"):
        qid, _, docno, _, score, _ = line.split()
        scores[qid, docno] = float(score)
    differences, compared = 0, 0
    lines = run(quern, "features", path, "-q", topics, "--run", first_run, "--json").splitlines()
    if len(lines) != len(scores):
        sys.exit(f"{len(lines)} documents have features, but the run has {len(scores)}")
    for line in lines:
        row = json.loads(line)
        expected = document_features(index, queries[row["qid"]], index.documents[row["docno"]],
                                     scores[row["qid"], row["docno"]])
        if set(expected) != set(row["features"]):
            sys.exit(f"other features: {set(expected) ^ set(row['features'])}")
        for name, value in row["features"].items():
            compared += 1
            if float32(expected[name]) != float32(value):
                differences += 1
                if differences <= 20:
                    print(f"topic {row['qid']}, {row['docno']}, {name}: {value}, expected {expected[name]!r}")
    print(f"{compared} values of {len(lines)} documents compared, {differences} differ")
    assert compared > 0 and not math.isnan(compared)
    sys.exit(1 if differences else 0)


main()
