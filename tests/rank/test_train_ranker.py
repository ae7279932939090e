"""scripts/train-ranker replaces a folder only with --force, and then with all of its files or not at all; what it prints.

    python3 tests/rank/test_train_ranker.py QUERN
"""
import importlib.util
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOPICS, QRELS = ROOT / 'sample_data/topics.txt', ROOT / 'sample_data/qrels.txt'
SKIPPED = 4  # as quern_tests: something is missing on this machine


class Trainer:
    def __init__(self, quern, folder):
        self.quern, self.folder, self.output = quern, folder, folder / 'ranker'

    def command(self, *options, qrels=QRELS, queries=TOPICS):
        return [sys.executable, ROOT / 'scripts/train-ranker', self.folder / 'index', '-q', queries, '--qrels', qrels,
                '-o', self.output, '--quern', self.quern, '--threads', '1', '--features', 'body.*', '--depth', '20',
                '--leaves', '4', '--min-leaf', '5', *options]

    def run(self, *options, **settings):
        return subprocess.run(self.command(*options, **settings), capture_output=True, text=True)

    def interrupt(self, number, *options):
        """Interrupts it while it trains; returns the exit status."""
        with subprocess.Popen(self.command('--trees', '1000000', *options), stderr=subprocess.PIPE, text=True) as process:
            assert any('model 1 of' in line for line in process.stderr)
            process.send_signal(number)
            process.communicate()
        return process.returncode

    def files(self):
        return {path.name: path.read_bytes() for path in self.output.iterdir()}

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())


def check_refusals(trainer):
    trainer.output.mkdir()
    (trainer.output / 'model.txt').write_text('old')
    outcome = trainer.run()
    assert outcome.returncode == 2 and 'already exists; use --force' in outcome.stderr, outcome
    (trainer.output / 'mine.txt').write_text('mine')
    outcome = trainer.run('--force')
    assert outcome.returncode == 2 and 'choose another name, or remove it' in outcome.stderr, outcome
    assert trainer.files() == {'model.txt': b'old', 'mine.txt': b'mine'}
    (trainer.output / 'mine.txt').unlink()
    outcome = trainer.run('--force', '--folds', '1')
    assert outcome.returncode == 2 and '--folds must be at least 2' in outcome.stderr, outcome


def check_output(trainer):
    outcome = trainer.run('--trees', '3', '--folds', '3', '--force')
    assert outcome.returncode == 0, outcome
    files = trainer.files()
    assert sorted(files) == ['features.letor', 'first.run', 'fold-0.txt', 'fold-1.txt', 'fold-2.txt', 'importance.tsv', 'model.txt',
                             'report.json', 'second.run']
    reranked = {line.split()[0] for line in files['second.run'].splitlines()}
    assert reranked == {line.split()[0] for line in files['first.run'].splitlines()}
    assert 'ndcg_cut_10 ' in outcome.stdout and 'recall_1000' not in outcome.stdout, outcome  # of 20 documents
    assert f'report those of {trainer.output}/second.run' in outcome.stdout, outcome
    assert outcome.stderr.count('read as trec') == 1, outcome
    for model in range(1, 5):
        assert outcome.stderr.count(f'model {model} of 4') == 1, outcome


def check_settings_of_lightgbm(trainer):
    for option, value in ('--leaves', 1), ('--rate', -1), ('--min-leaf', -1), ('--feature-share', 2), ('--trees', 0):
        outcome = trainer.run('--force', option, str(value))
        last = outcome.stderr.splitlines()[-1]
        assert outcome.returncode == 1 and last.startswith('train-ranker: LightGBM: '), outcome
        assert option in last and 'Traceback' not in outcome.stderr, outcome


def check_queries_format(trainer):
    """All commands get the format: without it, each would refuse lines that begin with numbers."""
    queries = trainer.folder / 'queries.txt'
    titles = re.findall('<title> (.*)', TOPICS.read_text())
    queries.write_text(''.join(f'{number} {title}\n' for number, title in enumerate(titles, 301)))
    outcome = trainer.run('--trees', '1', '--folds', '2', '--force', queries=queries)
    assert outcome.returncode == 1 and '--queries-format' in outcome.stderr, outcome
    outcome = trainer.run('--trees', '1', '--folds', '2', '--force', '--queries-format', 'lines', queries=queries)
    assert outcome.returncode == 0, outcome


def check_that_output_is_whole(trainer):
    before, names = trainer.files(), trainer.names()
    outcome = trainer.run('--force', qrels='/dev/null')
    assert outcome.returncode == 1, outcome
    for number in signal.SIGINT, signal.SIGTERM:
        assert trainer.interrupt(number, '--force') == 130
    assert trainer.files() == before and trainer.names() == names
    outcome = trainer.run('--trees', '3', '--folds', '2', '--force')
    assert outcome.returncode == 0 and trainer.names() == names, outcome
    assert sorted(trainer.files()) == sorted(set(before) - {'fold-2.txt'})


def main(quern):
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(quern, Path(folder))
        subprocess.run([quern, 'index', ROOT / 'sample_data/corpus', '--forward', '-o', trainer.folder / 'index', '--quiet'],
                       check=True)
        check_refusals(trainer)
        if not importlib.util.find_spec('lightgbm'):
            print('skipped the rest: LightGBM is missing')
            return SKIPPED
        check_output(trainer)
        check_queries_format(trainer)
        check_settings_of_lightgbm(trainer)
        check_that_output_is_whole(trainer)
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
