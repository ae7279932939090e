"""The engine for the search benchmark game, built with its Makefile against an installed Quern: every answer is compared with plain
Python or with `quern query`.

    python3 tests/package/search_game.py PREFIX     the folder that Quern is installed in
"""
import itertools
import json
import os
import random
import select
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[2] / 'scripts/peers.d/search-benchmark-game'
SKIPPED = 4  # as quern_tests: something is missing on this machine
UNSUPPORTED = 'UNSUPPORTED'
SIZES = (1, 10, 100, 1000)


def make_documents(seed, count):
    """Documents of the game: words of very different frequency, letters only; one without a word."""
    chosen = random.Random(seed)
    words = ['the'] + [a + b for a, b in itertools.product('abcdefghij', repeat=2)]
    weights = [3000] + [1000 / (rank + 1) for rank in range(100)]
    return [''] + [' '.join(chosen.choices(words, weights, k=chosen.randrange(1, 60))) for _ in range(count - 1)]


def make_queries(seed):
    """Lists of words, some repeated, some in no document."""
    chosen = random.Random(seed)
    words = ['the', 'zz', 'zy'] + [a + b for a, b in itertools.product('abcdefghij', repeat=2)]
    queries = [['the'], ['zz'], [], ['the', 'the'], ['aa', 'zz'], ['zz', 'aa', 'ab'], ['zz', 'aa', 'zy', 'ab', 'the']]
    return queries + [chosen.choices(words[:30], k=chosen.randrange(1, 6)) for _ in range(120)]


class Game:
    """Starts the engine and asks it as the game's client does: one line at a time."""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(['make', '--no-print-directory', 'serve'], cwd=folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, line):
        self.process.stdin.write(line.encode() + b'\n')
        self.process.stdin.flush()
        assert select.select([self.process.stdout], [], [], 60)[0], f'no answer to {line!r}'
        return self.process.stdout.readline().decode().rstrip('\n')

    def close(self):
        self.process.stdin.close()
        assert self.process.stdout.read() == b'' and self.process.wait() == 0


def results_of_quern(quern, index, queries, algorithm, k):
    """The docnos and scores that `quern query` prints, by query."""
    lines = ''.join(f'{number}\t{" ".join(words)}\n' for number, words in enumerate(queries) if words)
    run = subprocess.run([quern, 'query', index, '-q', '-', '--queries-format', 'tsv', '-a', algorithm, '-k', str(k)], input=lines,
                         capture_output=True, text=True, check=True).stdout
    found = [[] for _ in queries]
    for line in run.splitlines():
        number, _, docno, _, score, _ = line.split()
        found[int(number)].append((docno, float32(score)))
    return found


def float32(text):
    return struct.pack('f', float(text))


def printed(answer):
    """The results of an answer to RESULTS_k."""
    pairs = (result.split(' ') for result in answer.split('\t') if result)
    return [(docno, float32(score)) for docno, score in pairs]


def check_answers(game, documents, queries, quern, index):
    sets = [set(text.split()) for text in documents]
    expected = {k: (results_of_quern(quern, index, queries, 'or', k), results_of_quern(quern, index, queries, 'and', k))
                for k in SIZES}
    for number, words in enumerate(queries):
        for all_words, query in enumerate((' '.join(words), ' '.join('+' + word for word in words))):
            matches = (set(words) <= words_of if all_words and words else not set(words).isdisjoint(words_of) for words_of in sets)
            count = sum(matches)
            assert game.ask(f'COUNT\t{query}') == str(count), query
            for k in SIZES:
                assert game.ask(f'TOP_{k}\t{query}') == '1', query
                assert game.ask(f'TOP_{k}_COUNT\t{query}') == str(count), query
                found = printed(game.ask(f'RESULTS_{k}\t{query}'))
                assert found == expected[k][all_words][number], query
                assert len(found) == min(k, count), query


def check_refusals(game):
    for line in ('TOP_10\t"aa ab"', 'COUNT\t+aa ab', 'TOP_10\taa +ab', 'COUNT\t+aa -ab', 'COUNT\t-aa', 'COUNT\t+"aa ab" +ac', 'COUNT\t+',
                 'COUNT\taa AND ab', 'COUNT\ta*', 'COUNT\taa^2', 'COUNT\t(aa ab)', 'COUNT\ttext:aa', 'COUNT\taa\tab', 'COUNT', '',
                 '\taa', 'count\taa', 'TOP_0\taa', 'TOP_-1\taa', 'TOP_\taa', 'TOP_10x\taa', 'TOP_99999999999\taa', 'TOP_10_FF\taa',
                 'UNOPTIMIZED_COUNT\taa', 'COUNT \taa', 'COUNT\taa\r'):
        assert game.ask(line) == UNSUPPORTED, line
    assert game.ask('TOP_4294967295\tThe  aa ') == '1'


def main(prefix):
    if shutil.which('make') is None or shutil.which('cmake') is None:
        print('skipped: no make or no cmake')
        return SKIPPED
    quern = Path(prefix).resolve() / 'bin' / 'quern'
    documents = make_documents(5, 3000)
    with tempfile.TemporaryDirectory() as folder:
        engine, corpus = Path(folder) / 'engine', Path(folder) / 'corpus.json'
        shutil.copytree(ENGINE, engine)
        corpus.write_text(''.join(json.dumps({'id': f'https://wiki.example/{number}', 'text': text, 'sort_field': number}) + '\n'
                                  for number, text in enumerate(documents)))
        environment = {**os.environ, 'QUERN_PREFIX': str(Path(prefix).resolve()), 'CORPUS': str(corpus)}

        def make(target, **more):
            return subprocess.run(['make', target], cwd=engine, env=environment, capture_output=True, text=True, **more)
        for target in ('clean', 'compile', 'index'):
            outcome = make(target)
            assert outcome.returncode == 0, outcome.stdout + outcome.stderr
        game = Game(engine, environment)
        check_refusals(game)
        check_answers(game, documents, make_queries(7), quern, engine / 'idx')
        game.close()
        make('clean', check=True)
        assert {path.name for path in engine.iterdir()} == {path.name for path in ENGINE.iterdir()}
        del environment['CORPUS']
        assert 'CORPUS is not set' in make('index').stderr
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
