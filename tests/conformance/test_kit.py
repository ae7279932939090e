"""The kit's files are those that make.py makes, Quern's scores are theirs, and check.py finds another engine's definition.

    python3 tests/conformance/test_kit.py QUERN
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import make
import reference
import weighting

RUNS = {'bm25': [], 'bm25-robertson': ['--idf', 'robertson'], 'bm25-quantized': ['--scores', 'quantized']}


def check(run, model):
    return subprocess.run([sys.executable, reference.FOLDER / 'check.py', run, model], capture_output=True, text=True)


def main(quern):
    for name, text in make.files().items():
        assert (reference.FOLDER / name).read_text() == text, f'{name} is not what make.py makes'
    with tempfile.TemporaryDirectory() as folder:
        index, run = Path(folder) / 'index', Path(folder) / 'run'

        def index_with(*options):
            subprocess.run([quern, 'index', reference.FOLDER / 'documents.jsonl', '-o', index, '--order', 'natural', '--force', '--quiet',
                            *options], check=True, stderr=subprocess.DEVNULL)

        def query(*options):
            subprocess.run([quern, 'query', index, '-q', reference.FOLDER / 'queries.tsv', '-k', str(reference.K), '-o', run, '--force',
                            *options], check=True, stderr=subprocess.DEVNULL)

        def compare(model):
            outcome = check(run, model)
            assert outcome.returncode == 0, outcome.stdout + outcome.stderr
        for model in weighting.MODELS:
            index_with('--weights', model)
            query()
            compare(f'{model}-stored')
        index_with('--quantize', '8')
        for model, options in RUNS.items():
            query(*options)
            compare(model)
        query('--k1', '0.9', '--b', '0.4')
        outcome = check(run, 'bm25')
        assert outcome.returncode == 1 and 'k1 0.9, b 0.4; idf ln(1 + ' in outcome.stdout, outcome.stdout + outcome.stderr
        run.write_text(run.read_text().replace('D912', 'D9', 1))
        assert 'D9 is not in the kit' in check(run, 'bm25').stderr


if __name__ == '__main__':
    main(*sys.argv[1:])
