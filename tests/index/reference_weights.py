#!/usr/bin/env python3
"""Compares the weights that an index stores with those computed from the formulas of formats/scores.md.

    reference_weights.py QUERN FOLDER

Writes a small corpus into FOLDER, indexes it with every weighting model and several parameters and bits, and compares every
posting and the scores of some queries.
"""
import json, math, random, subprocess, sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'conformance'))
sys.dont_write_bytecode = True
from weighting import MODELS, USUAL, bound, field_sum, weight

OTHERS = {'qld': (2.5,), 'qljm': (0.7,), 'pl2': (6.5,), 'tfidf': (0.9, 0.4), 'bm25': (2, 1), 'bm25f': (25, 1, 0.5, 0.3, 4)}


def title_length(number, words):
    """How many of a document's words are its title: none, some, most or all."""
    return min(len(words), (0, 3, 9, 80)[number % 4])


def make_documents(seed):
    """Lists of words; some documents are empty, some repeat a word only, and 'w0' is in nearly all."""
    pick = random.Random(seed)
    documents = [['w0'] * pick.randint(1, 90) for _ in range(5)] + [[] for _ in range(3)]
    while len(documents) < 150:
        documents.append([f'w{int(60 * pick.random() ** 3)}' for _ in range(pick.randint(1, 120))])
    pick.shuffle(documents)
    return documents


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
    titles = [Counter(words[:title_length(number, words)]) for number, words in enumerate(documents)]
    title_tokens = sum(map(Counter.total, titles))
    scores, postings = Counter(), 0
    query = ['w0', 'w3', 'w7', 'w59']
    for term in sorted(set().union(*counts)):
        df, cf = sum(term in count for count in counts), sum(count[term] for count in counts)
        expected = []
        for docid, count in enumerate(counts):
            if term not in count:
                continue
            f, length, title = count[term], len(documents[docid]), titles[docid]
            if model == 'bm25f':
                fields = [(title[term], title.total(), title_tokens),
                          (f - title[term], length - title.total(), tokens - title_tokens)]
                f = field_sum(values, fields, len(documents))
            exact = weight(model, values, f, length, df, cf, len(documents), tokens)
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
            end = title_length(number, words)
            lines.write(json.dumps({'id': str(number), 'title': ' '.join(words[:end]), 'contents': ' '.join(words[end:])}) + '\n')
    postings = 0
    for model in MODELS:
        postings += check(quern, corpus, index, documents, model, USUAL[model], 8)
        postings += check(quern, corpus, index, documents, model, OTHERS.get(model, USUAL[model]), 16)
    print(f'{postings} weights agree')


main(*sys.argv[1:])
