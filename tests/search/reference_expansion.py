"""Expands queries in plain Python, as formats/scores.md defines it, and compares term by term and result by result.

    reference_expansion.py QUERN FOLDER

FOLDER is for indexes and files. Prints how many weights agree."""
import itertools
import json
import math
import random
import struct
import subprocess
import sys
from collections import Counter

RM3 = {'documents': 10, 'terms': 10, 'weight': 0.5, 'df': 0.1}
BO1 = {'documents': 3, 'terms': 10}
MODELS = [('rm3', RM3, {'df': 0.5}), ('rm3', RM3, {'documents': 4, 'terms': 25, 'weight': 0.8, 'df': 1}), ('rm3', RM3, {'weight': 0}),
          ('rm3', RM3, {'df': 0}), ('bo1', BO1, {}), ('bo1', BO1, {'documents': 1, 'terms': 2}), ('bo1', BO1, {'documents': 30, 'terms': 50})]
MANY = [('rm3', RM3, {'documents': 1000, 'terms': 1000, 'df': 1}), ('bo1', BO1, {'documents': 1000, 'terms': 1000})]
# How an index is built, how it is queried, and the bits of integer scores.
INDEXES = [([], [], 0), ([], ['--k1', '0.5', '-a', 'bmw', '-j', '3'], 0), (['--quantize', '8'], ['--scores', 'quantized'], 8),
           (['--weights', 'qld:mu=50'], ['-a', 'or'], 16)]


def make_documents(seed):
    """Lists of words: short ones, long ones, letters of two bytes, and few enough of them that weights are often equal."""
    pick = random.Random(seed)
    words = ['x', 'é', 'éé', 'a' * 20, 'b' * 21, 'é' * 20] + [f'w{number}' for number in range(40)]
    lengths = [pick.choice((0, 1, 3, 20, 60)) for _ in range(pick.choice((2, 9, 60)))] + [140000] * (seed == 0)  # three segments
    return [[words[int(len(words) * pick.random() ** 2)] for _ in range(length)] for length in lengths]


def make_many_terms():
    """Documents with more terms than are cached, some of them in several documents."""
    return [[f'u{pick}' for pick in range(number * 200, number * 200 + 260)] for number in range(220)]


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def as_float32(text):
    return struct.unpack('f', struct.pack('f', float(text)))[0]


def best(weights, count):
    return sorted(weights.items(), key=lambda item: (-item[1], item[0].encode()))[:count]


def in_byte_order(weights):
    return sorted(weights, key=str.encode)


def rm3(query, found, docs, df, values):
    relevance = {}
    for document, score in found:
        counts = {term: f for term, f in docs[document].items() if 2 <= len(term) <= 20 and df[term] <= values['df'] * len(docs)}
        chosen = best(counts, values['terms'])
        total = sum(f for _, f in chosen)
        for term, f in chosen:
            relevance[term] = relevance.get(term, 0.0) + f / total * score
    added = best(relevance, values['terms'])
    total = 0.0
    for _, r in added:
        total += r
    if total == 0:
        return None
    weights = {term: values['weight'] * (n / sum(query.values())) for term, n in query.items()}
    for term, r in added:
        weights[term] = weights.get(term, 0.0) + (1 - values['weight']) * (r / total)
    return weights


def bo1(query, found, docs, df, values):
    bag = sum((docs[document] for document, _ in found), Counter())
    cf = sum(docs, Counter())

    def x(f, p):
        return f * math.log2((1 + p) / p) + math.log2(1 + p)

    scores = {term: x(f, cf[term] / len(docs)) for term, f in bag.items()
              if len(found) < 2 or term in query or sum(term in docs[document] for document, _ in found) >= 2}
    added = best(scores, max(values['terms'], len(query)))
    if not added:
        return None
    most = bag[added[0][0]]
    weights = {term: n / max(query.values()) for term, n in query.items()}
    for term, score in added:
        weights[term] = weights.get(term, 0.0) + score / x(most, most / len(docs))
    return weights


def usable(weights, bits):
    weights = {term: weights[term] for term in in_byte_order(weights) if weights[term] >= 1e-9}
    if bits == 0:
        return weights
    total = 0.0
    for weight in weights.values():
        total += weight
    return {term: max(1, math.floor(weight / total * 2 ** (23 - bits) + 0.5)) for term, weight in weights.items()}


def check(quern, index, docs, query, options, bits, model, usual, changed):
    """Compares one query, and returns its number of terms."""
    values = {**usual, **changed}
    expand = model + ''.join(f'{":" if number == 0 else ","}{name}={value}' for number, (name, value) in enumerate(changed.items()))
    counts = Counter(query)
    df = Counter(itertools.chain.from_iterable(docs))
    text = ' '.join(query)
    found = run(quern, 'query', index, '--query', text, '-k', str(values['documents']), *options)
    found = [(int(line.split()[2]), as_float32(line.split()[4])) for line in found.splitlines()]
    expected = {'rm3': rm3, 'bo1': bo1}[model](counts, found, docs, df, values) if found else None
    expected = counts if expected is None else usable(expected, bits)
    scoring = [word for pair in zip(options[::2], options[1::2]) if pair[0] in ('--k1', '--scores') for word in pair]
    explained = json.loads(run(quern, 'explain', index, '--query', text, '--docno', '0', '--expand', expand, '--json', *scoring))
    weights = {term['term']: term['n'] for term in explained[0]['terms']}
    assert weights.keys() == expected.keys(), (expand, query, weights, expected)
    for term, weight in weights.items():
        # Sums are the same to the last bit; logarithms are not.
        assert weight == expected[term] if model == 'rm3' else math.isclose(weight, expected[term], rel_tol=1e-13), (
            expand, query, term, weight, expected[term])
    answer = run(quern, 'query', index, '--query', text, '--expand', expand, *options)
    again = run(quern, 'query', index, '--query', json.dumps(weights), '--queries-format', 'vector', *options)
    assert answer == again, (expand, query, answer, again)
    return len(weights)


def main(quern, folder):
    checked = 0
    for seed in range(13):
        pick = random.Random(seed)
        documents = make_documents(seed) if seed < 12 else make_many_terms()
        docs = [Counter(words) for words in documents]
        with open(f'{folder}/expansion.jsonl', 'w') as lines:
            for number, words in enumerate(documents):
                lines.write(json.dumps({'id': str(number), 'contents': ' '.join(words)}) + '\n')
        for built, options, bits in INDEXES if seed < 12 else INDEXES[:3]:  # weights of 16 bits allow no 1,000 terms
            index = f'{folder}/expansion.quern'
            run(quern, 'index', f'{folder}/expansion.jsonl', '--forward', *built, '--order', 'natural', '--block-size', '64',
                '--allow-empty', '--force', '-o', index)
            for model, usual, changed in MODELS if seed < 12 else MANY:
                query = [pick.choice(['w0', 'w1', 'w5', 'x', 'éé', 'unknown']) for _ in range(pick.randint(1, 4))]
                query += [f'u{number * 200}' for number in range(220)] if seed == 12 else []
                checked += check(quern, index, docs, query, options, bits, model, usual, changed)
    print(f'{checked} weights agree')


if __name__ == '__main__':
    main(*sys.argv[1:])
