#!/usr/bin/env python3
"""Compares `quern fuse` with the formulas of formats/queries/fusion.md in plain Python, and with ranx if it is installed.

    tests/eval/compare_fusion.py build/release/quern
    pip install ranx                                     # compares its scores too, for runs without ties

Python's floats are those of Quern, so the lines must be equal; ranx may add in another order. CTest does not run it, since
ranx needs a package that Debian lacks.
"""
import os, random, subprocess, sys, tempfile

METHODS = ('rrf', 'combsum', 'combmnz')


def by_rank(scores):
    """Docnos by decreasing score, ties by decreasing docno."""
    return sorted(sorted(scores, key=str.encode, reverse=True), key=lambda docno: -scores[docno])


def contributions(scores, method, normalize, c):
    low, high = min(scores.values()), max(scores.values())
    for rank, docno in enumerate(by_rank(scores), 1):
        if method == 'rrf':
            yield docno, 1 / (c + rank)
        elif normalize == 'min-max':
            yield docno, (scores[docno] - low) / (high - low) if high > low else 0
        else:
            yield docno, scores[docno]


def fuse(runs, method, weights, normalize, c, k):
    lines = []
    for qid in sorted({qid for run in runs for qid in run}, key=str.encode):
        sums, counts = {}, {}
        for run, weight in zip(runs, weights):
            for docno, x in contributions(run[qid], method, normalize, c) if qid in run else ():
                sums[docno] = sums.get(docno, 0) + weight * x
                counts[docno] = counts.get(docno, 0) + 1
        if method == 'combmnz':
            sums = {docno: score * counts[docno] for docno, score in sums.items()}
        lines += [(qid, docno, rank, sums[docno]) for rank, docno in enumerate(by_rank(sums)[:k], 1)]
    return lines


def random_run(ties):
    docnos = [f'd{i}' for i in range(60)]
    score = (lambda: random.randrange(20) / 7 - 1) if ties else (lambda: random.uniform(-1, 3))
    return {f'q{q}': {docno: score() for docno in random.sample(docnos, random.randrange(1, 40))}
            for q in random.sample(range(30), 25)}


def write_run(path, run):
    lines = [f'{qid} Q0 {docno} 0 {score!r} t\n' for qid, scores in run.items() for docno, score in scores.items()]
    random.shuffle(lines)
    with open(path, 'w') as out:
        out.writelines(lines)


def run_quern(quern, paths, *options):
    out = subprocess.run([quern, 'fuse', *paths, *options, '--quiet'], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return [(qid, docno, int(rank), float(score)) for qid, _, docno, rank, score, _ in rows]


def compare_with_ranx(quern, folder):
    try:
        import ranx
    except ImportError:
        return print('ranx is not installed: not compared')
    runs = [random_run(ties=False) for _ in range(3)]
    qids = set.intersection(*(set(run) for run in runs))
    runs = [{qid: run[qid] for qid in sorted(qids)} for run in runs]
    paths = [os.path.join(folder, f'x{i}') for i in range(3)]
    for path, run in zip(paths, runs):
        write_run(path, run)
    for method, name, norm in (('rrf', 'rrf', None), ('combsum', 'sum', 'min-max'), ('combmnz', 'mnz', 'min-max')):
        theirs = ranx.fuse([ranx.Run(run) for run in runs], norm=norm, method=name).to_dict()
        ours = run_quern(quern, paths, '--method', method)
        assert {(q, d) for q, d, _, _ in ours} == {(q, d) for q in theirs for d in theirs[q]}
        worst = max(abs(score - theirs[q][d]) for q, d, _, score in ours)
        print(f'ranx {name}: {len(ours)} scores, largest difference {worst:.1e}')
        assert worst < 1e-9


def main():
    quern, rounds = sys.argv[1], 200
    random.seed(4)
    with tempfile.TemporaryDirectory() as folder:
        results = 0
        for _ in range(rounds):
            runs = [random_run(ties=random.random() < 0.5) for _ in range(random.randrange(2, 5))]
            paths = [os.path.join(folder, str(i)) for i in range(len(runs))]
            for path, run in zip(paths, runs):
                write_run(path, run)
            method, k = random.choice(METHODS), random.choice((3, 1000))
            weights = [random.choice((1, 0.25, 1 / 3)) for _ in runs]
            options = ['--method', method, '-k', str(k), '--weights', ','.join(map(repr, weights))]
            normalize, c = random.choice(('min-max', 'none')), random.choice((60, 0, 7.5))
            options += ['--rrf-k', str(c)] if method == 'rrf' else ['--normalize', normalize]
            got, want = run_quern(quern, paths, *options), fuse(runs, method, weights, normalize, c, k)
            assert got == want, f'{options}: {[pair for pair in zip(got, want) if pair[0] != pair[1]][:3]}'
            results += len(got)
        print(f'{results} results of {rounds} fusions are equal to the last bit')
        compare_with_ranx(quern, folder)


main()
