#!/usr/bin/env python3
"""Compares the weights that an index stores with those computed from the formulas of formats/scores.md.

    reference_weights.py QUERN FOLDER

Writes a small corpus into FOLDER, indexes it with every weighting model and several parameters and bits, and compares every
posting and the scores of some queries.
"""
import json, math, random, subprocess, sys
from collections import Counter

MODELS = {'qld': ('mu',), 'qljm': ('lambda',), 'pl2': ('c',), 'dph': (), 'tfidf': ('k1', 'b'), 'bm25': ('k1', 'b')}
USUAL = {'qld': (1000,), 'qljm': (0.1,), 'pl2': (1,), 'dph': (), 'tfidf': (1.2, 0.75), 'bm25': (1.2, 0.75)}
OTHERS = {'qld': (2.5,), 'qljm': (0.7,), 'pl2': (6.5,), 'tfidf': (0.9, 0.4), 'bm25': (2, 1)}


def make_documents(seed):
    """Lists of words; some documents are empty, some repeat a word only, and 'w0' is in nearly all."""
    pick = random.Random(seed)
    documents = [['w0'] * pick.randint(1, 90) for _ in range(5)] + [[] for _ in range(3)]
    while len(documents) < 150:
        documents.append([f'w{int(60 * pick.random() ** 3)}' for _ in range(pick.randint(1, 120))])
    pick.shuffle(documents)
    return documents


def weight(model, values, f, length, df, cf, documents, tokens):
    average = tokens / documents
    if model == 'qld':
        return math.log((f * tokens / cf + values[0]) / (length + values[0]))
    if model == 'qljm':
        return math.log(1 + (1 - values[0]) / values[0] * (f / length) / (cf / tokens))
    if model == 'pl2':
        n = f * math.log2(1 + values[0] * average / length)
        mean = cf / documents
        return (n * math.log2(n / mean) + (mean - n) * math.log2(math.e) + 0.5 * math.log2(2 * math.pi * n)) / (n + 1)
    if model == 'dph':
        share = f / length if f < length else 0.99999
        return (1 - share) ** 2 / (f + 1) * (f * math.log2(f * average / length * documents / cf)
                                            + 0.5 * math.log2(2 * math.pi * f * (1 - share)))
    k1, b = values
    saturated = f / (f + k1 * (1 - b + b * length / average))
    if model == 'tfidf':
        return k1 * saturated * math.log2(documents / df + 1)
    return (k1 + 1) * saturated * math.log(1 + (documents - df + 0.5) / (df + 0.5))


def bound(model, values, documents, tokens):
    if model == 'qld':
        return math.log(1 + tokens / values[0])
    if model == 'qljm':
        return math.log(1 + (1 - values[0]) / values[0] * tokens)
    if model == 'pl2':
        return math.log2(documents * math.log2(1 + values[0] * tokens / documents)) + 0.665
    if model == 'dph':
        return math.log2(tokens) + 0.665
    if model == 'tfidf':
        return values[0] * math.log2(documents + 1)
    return (values[0] + 1) * math.log(1 + (documents - 0.5) / 1.5)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def check(quern, corpus, index, documents, model, values, bits):
    names = MODELS[model]
    weights = model + (':' + ','.join(f'{name}={value}' for name, value in zip(names, values)) if values else '')
    run(quern, 'index', corpus, '--weights', weights, '--quantize', str(bits), '--order', 'natural', '--block-size', '64',
        '--force', '-o', index)
    run(quern, 'verify', index)
    tokens, levels = sum(map(len, documents)), 2 ** bits - 1
    scale = levels / bound(model, values, len(documents), tokens)
    shown = json.loads(run(quern, 'inspect', index, '--json'))['weights']
    assert shown['model'] == model and shown['bits'] == bits and math.isclose(shown['scale'], scale), shown
    assert [shown[name] for name in names] == list(values), shown
    counts = [Counter(words) for words in documents]
    scores, postings = Counter(), 0
    query = ['w0', 'w3', 'w7', 'w59']
    for term in sorted(set().union(*counts)):
        df, cf = sum(term in count for count in counts), sum(count[term] for count in counts)
        expected = []
        for docid, count in enumerate(counts):
            if term not in count:
                continue
            exact = weight(model, values, count[term], len(documents[docid]), df, cf, len(documents), tokens)
            expected.append([docid, max(1, min(levels, math.floor(exact * scale + 0.5)))])
            if term in query:
                scores[docid] += expected[-1][1]
        stored = json.loads(run(quern, 'inspect', index, term, '--json'))
        assert (stored['df'], stored['cf']) == (df, cf), (term, stored['df'], stored['cf'], df, cf)
        assert stored['postings'] == expected, (weights, bits, term, stored['postings'], expected)
        postings += df
    results = [line.split() for line in run(quern, 'query', index, '--query', ' '.join(query), '-k', '1000').splitlines()]
    expected = sorted(scores.items(), key=lambda result: (-result[1], result[0]))
    assert [(int(line[2]), float(line[4])) for line in results] == expected, weights
    return postings


def main(quern, folder):
    documents = make_documents(11)
    corpus, index = folder + '/weights.jsonl', folder + '/weights.quern'
    with open(corpus, 'w') as lines:
        for number, words in enumerate(documents):
            lines.write(json.dumps({'id': str(number), 'contents': ' '.join(words)}) + '\n')
    postings = 0
    for model in MODELS:
        postings += check(quern, corpus, index, documents, model, USUAL[model], 8)
        postings += check(quern, corpus, index, documents, model, OTHERS.get(model, USUAL[model]), 16)
    print(f'{postings} weights agree')


main(*sys.argv[1:])
