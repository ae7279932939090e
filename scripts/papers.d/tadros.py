"""Tadros: Accelerating Web Search using GPUs (UBC, 2015)."""
from figures import ALL, SOME, figure, panel, stacked


def benchmark(m):
    documents = '1,10,50,100,500,1000' + ('' if m.small else ',5000,10000')
    return m.bench('bench', 'rerank', '--docs', documents, '--repeats', m.repeats)


def reranked(bench, ranker):
    """Rows of a ranker by processor; each is also scored by the CPU where it doesn't fit into GPU memory."""
    rows = {}
    for row in bench['results']:
        if row['ranker'] == ranker and row.get('scored_on', row['device']) == row['device']:
            name = 'GPU' if row['device'] == 'gpu' else 'CPU, one thread' if row['threads'] == 1 else 'CPU, all threads'
            rows.setdefault(name, []).append(row)
    return rows


def execution_time(m, ranker):
    return [panel({name: [(row['documents'], row['us_per_query'] / 1000) for row in rows]
                   for name, rows in reranked(benchmark(m), ranker).items()}, 'documents per query', 'ms per query', log='xy')]


def breakdown(m, ranker):
    bench = benchmark(m)
    load, = (load for load in bench['loads'] if load['ranker'] == ranker)
    rows = {str(row['documents']): row['stages'] | {'copy_model_us': load['upload_us']} for row in reranked(bench, ranker)['GPU']}
    names = {'copy features in': ('copy_in_us',), 'copy the model': ('copy_model_us',), 'copy results out': ('copy_out_us',),
             'evaluate inputs': ('inputs_us', 'trees_us'), 'evaluate the model': ('layers_us',)}
    return [panel(stacked(rows, names), 'documents per query', "share of the GPU's time, %", kind='stack')]


for number, ranker in enumerate(('R-S-BLG', 'R-M-BGD', 'R-L-D')):
    figure(f'tadros-5.{2 * number + 1}', f'{ranker}: time by documents', SOME, 1)(lambda m, name=ranker: execution_time(m, name))
    figure(f'tadros-5.{2 * number + 2}', f'{ranker}: shares of the GPU\'s time', ALL, 1)(lambda m, name=ranker: breakdown(m, name))


@figure('tadros-5.7', 'Energy and power by ranker, most documents per query', ALL, 1)
def tadros_7(m):
    energy, power, bench = {}, {}, benchmark(m)
    for ranker in ('R-S-BLG', 'R-M-BGD', 'R-L-D'):
        for name, rows in reranked(bench, ranker).items():
            joules = rows[-1]['joules_per_million_documents']
            if joules:
                energy.setdefault(name, []).append((ranker, joules))
                # Microseconds per document are seconds per million.
                power.setdefault(name, []).append((ranker, joules / (rows[-1]['us_per_query'] / rows[-1]['documents'])))
    return [panel(energy, '', 'joules per million documents', kind='bar', log='y'), panel(power, '', 'watts', kind='bar')]
