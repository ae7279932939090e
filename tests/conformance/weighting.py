"""The weighting models of formats/scores.md, in plain Python."""
import math
import struct

MODELS = {'qld': ('mu',), 'qljm': ('lambda',), 'pl2': ('c',), 'dph': (), 'tfidf': ('k1', 'b'), 'bm25': ('k1', 'b'),
          'bm25f': ('title', 'title_b', 'body', 'body_b', 'k1')}
USUAL = {'qld': (1000,), 'qljm': (0.1,), 'pl2': (1,), 'dph': (), 'tfidf': (1.2, 0.75), 'bm25': (1.2, 0.75),
         'bm25f': (2, 0.5, 1, 0.75, 1.2)}


def f32(x):
    return struct.unpack('f', struct.pack('f', x))[0]


def field_sum(values, fields, documents):
    """t of bm25f, which takes the place of f. `fields`: f, length and tokens of all documents of the title, then the body."""
    return f32(sum(w / (1 - b + b * length / (tokens / documents)) * f
                   for (f, length, tokens), w, b in zip(fields, values[0::2], values[1::2]) if f))


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
    if model == 'bm25f':
        k1 = values[-1]
        return (k1 + 1) * f / (f + k1) * math.log(1 + (documents - df + 0.5) / (df + 0.5))
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
    k1 = values[-1] if model == 'bm25f' else values[0]
    return (k1 + 1) * math.log(1 + (documents - 0.5) / 1.5)
