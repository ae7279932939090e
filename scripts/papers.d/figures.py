"""The table of figures, and measurements that several of them share.

Each paper has a module with a function for each of its figures, which measures it with the commands of `m`, a Measuring of
scripts/papers, and returns its panels; and a JSON file with the paper's numbers, by the same titles of panels and names of series.
"""
import os
from collections import namedtuple

NONE, SOME, ALL = 'no', 'a part', 'yes'  # what of a figure needs a GPU
BATCH = 256  # queries of a GPU's batch, unless the figure varies them
FIGURES = {}

Figure = namedtuple('Figure', 'title gpu minutes measure')


def figure(identity, title, gpu, minutes):
    """Adds a function to the table. `minutes`: at a tenth of GOV2's size, less the time to make indexes."""
    def add(measure):
        FIGURES[identity] = Figure(title, gpu, minutes, measure)
        return measure
    return add


def panel(series, x, y, title='', kind='line', log=''):
    """`series`: points by name. `kind`: line, bar, or stack: a bar for each x, a segment for each name. `log`: its axes."""
    return {'title': title, 'kind': kind, 'x': x, 'y': y, 'log': log,
            'series': {name: list(points) for name, points in series.items()}}


def cpu_times(m, index, algorithms, k=10):
    """Milliseconds per query of one thread, by (algorithm, k)."""
    rows = m.bench('bench', 'query', index, '-q', m.log(500), '-a', ','.join(algorithms), '-k', k, '-j', 1, '--repeats', 1)
    return {(row['algorithm'], row['k']): row['mean_us'] / 1000 for row in rows['results']}


def gpu_rows(m, index, strategy, algorithms, batches, *words, queries=1000):
    return m.bench('bench', 'gpu', index, '-q', m.log(queries), '--strategies', strategy, '-a', ','.join(algorithms), '--batches',
                   batches, '--no-cpu', '--repeats', m.repeats, *words)['set_ups']


def stacked(rows, segments):
    """Shares in percent by segment. `rows`: figures by bar; `segments`: their keys by name."""
    series = {name: [] for name in segments}
    for bar, row in rows.items():
        parts = {name: sum(row.get(key) or 0 for key in keys) for name, keys in segments.items()}
        for name, value in parts.items():
            series[name].append((bar, 100 * value / (sum(parts.values()) or 1)))
    return series


def shares_below(values, bounds):
    """(bound, percentage of the values below it)."""
    return [(bound, 100 * sum(value < bound for value in values) / len(values)) for bound in bounds]


def measured_times(m, device, index, half, algorithm, k, *words, queries=600):
    """A file with the times of single queries. `words`: for a GPU, with its batches."""
    bench, only = ('query', ('-j', 1)) if device == 'cpu' else ('gpu', ('--no-cpu',))
    name = '-'.join(os.path.basename(str(word)).lstrip('-') for word in (device, half, queries, algorithm, k, *words))
    path = m.file(f'{name}.tsv')
    m.quern('bench', bench, index, '-q', m.log(queries, half), '-a', algorithm, '-k', k, *only, *words, '--repeats', 1, '--times',
            path, '--force', '--quiet')
    return path


def streamed_ms(m, index, algorithm, k, expected_ms, *words):
    """Milliseconds per query of a stream that arrives twice as fast as queries are expected to be answered."""
    bench = m.bench('bench', 'stream', index, '-q', m.log(600), '-a', algorithm, '-k', k, '--rate', round(2000 / expected_ms, 3),
                    '--seconds', 0.1 if m.small else 1, '--deadline', 0, '--max-batch', BATCH, *words)
    return 1000 / bench['streams'][0]['measured']['answered_per_second']


def read_times(path, batch=1):
    """Rows by query, of batches of this size."""
    with open(path, encoding='utf-8') as file:
        head, *rows = [line.rstrip('\n').split('\t') for line in file if not line.startswith('#')]
    rows = [dict(zip(head, row)) for row in rows]
    return {int(row['query']): row for row in rows if int(row['batch']) == batch}


def simulated_ms(m, times, *words):
    """Milliseconds per query if all queries arrive at the start."""
    count = len(read_times(times[0]))
    bench = m.bench('simulate', 'schedule', *times, '--rate', 1e9, '--deadline', 0, '--queries', count, '--gpu-batches', 1,
                    '--max-batch', BATCH, *words)
    return 1000 * bench['runs'][0]['seconds'] / count
