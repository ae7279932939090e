#!/usr/bin/env python3
"""Trains the small models in this folder, and writes LightGBM's and XGBoost's own predictions with them.

usage: make_models.py TRAINING.letor lightgbm|lightgbm-frame|xgboost|xgboost-frame SUFFIX
TRAINING.letor is examples/lambdarank/rank.train of microsoft/LightGBM with query numbers (see README.md)."""
import gzip
import json
import sys

import numpy as np

columns = [100, 172, 166, 147, 91, 74, 2, 3]  # features that trees often use
rng = np.random.RandomState(5)


def read_letor(path):
    labels, queries, rows = [], [], []
    for line in gzip.open(path, 'rt') if path.endswith('.gz') else open(path):
        label, qid, *pairs = line.split()
        values = dict(pair.split(':') for pair in pairs)
        labels.append(int(label))
        queries.append(int(qid[4:]))
        rows.append([float(values.get(str(c), 0)) for c in columns])
    return np.array(labels), np.array(queries), np.array(rows, dtype=np.float32)


def make_inputs(labels, rows):
    """Adds two columns of categories, one of them with many, and missing values in all columns."""
    n = len(labels)
    kinds = ((labels + rng.randint(0, 9, n)) % 11).astype(np.float32)
    hosts = ((labels * 5 + rng.randint(0, 60, n)) % 70).astype(np.float32)
    x = np.column_stack([rows, kinds, hosts]).astype(np.float32)
    x[rng.rand(*x.shape) < 0.1] = np.nan
    return x


def make_tests(x):
    """Similar rows, and unusual ones. The last 10 have values that XGBoost refuses."""
    tests = x[rng.choice(len(x), 60, replace=False)].copy()
    tests[:5] = np.nan
    tests[5:10] = 0
    tests[10:14, 8] = [500, 3.75, 16777215, 10.5]
    tests[14:18, 9] = [71, 95, 96, 40000]
    tests[18, :8] = 1e30
    tests[19, :8] = -1e30
    tests[20, :8] = np.float32(1e-35)
    tests[21, :8] = np.nextafter(np.float32(1e-35), np.float32(1))
    tests[22, :8] = -np.float32(1e-38)
    tests[50:52, :8] = [[np.inf], [-np.inf]]
    tests[52:60, 8] = [-1, -0.5, -2, 3e9, 1e20, -1e20, np.inf, -np.inf]
    return tests


def write_rows(path, rows):
    with open(path, 'w') as out:
        for row in rows:
            print(*('%.9g' % v for v in row), sep='\t', file=out)


def lightgbm_models(labels, queries, x, tests, suffix):
    import lightgbm as lgb
    groups = np.unique(queries, return_counts=True)[1]
    common = dict(verbose=-1, num_leaves=7, learning_rate=0.1, min_data_in_leaf=20, num_threads=1, seed=3,
                  deterministic=True, max_cat_to_onehot=2, min_data_per_group=10, cat_smooth=1)
    binary = (labels > 1).astype(int)
    cases = {
        'lambdarank': (dict(objective='lambdarank'), labels, [8, 9], 8),
        'dart': (dict(objective='lambdarank', boosting='dart', drop_rate=0.5, skip_drop=0), labels, [8], 8),
        'forest': (dict(objective='regression', boosting='rf', bagging_freq=1, bagging_fraction=0.6), labels, [], 5),
        'binary': (dict(objective='binary', use_missing=False), binary, [9], 6),
        'zeros': (dict(objective='regression', zero_as_missing=True), labels, [8], 6),
        'constant': (dict(objective='regression', min_data_in_leaf=3000), labels, [], 2),
    }
    names = ['title.bm25', 'body.bm25', 'f3', 'f4', 'f5', 'f6', 'f7', 'f8', 'kind', 'host']
    for name, (settings, target, categories, rounds) in cases.items():
        data = lgb.Dataset(x.astype(np.float64), label=target, group=groups, categorical_feature=categories,
                           feature_name=names if name == 'zeros' else 'auto', free_raw_data=False)
        booster = lgb.train({**common, **settings}, data, rounds)
        text = booster.model_to_string()
        # Removes the text after the trees, which is not read and longer than the trees.
        open(f'lightgbm-{name}{suffix}.txt', 'w').write(text[:text.index('end of trees')] + 'end of trees\n')
        # Raw scores of forests are sums, not means.
        scores = booster.predict(tests.astype(np.float64), raw_score=name != 'forest')
        open(f'lightgbm-{name}{suffix}.scores', 'w').write(''.join('%.17g\n' % s for s in scores))
        if name == 'zeros':
            json.dump(booster.dump_model(), open(f'lightgbm-{name}{suffix}.json', 'w'))


def xgboost_models(labels, queries, x, tests, suffix):
    import xgboost as xgb
    binary = (labels > 1).astype(int)
    tests = tests[:50]
    cases = {
        'ndcg': (dict(objective='rank:ndcg'), labels, True, 'json'),
        'dart': (dict(objective='reg:squarederror', booster='dart', rate_drop=0.4, one_drop=1), labels, False, 'ubj'),
        'logistic': (dict(objective='binary:logistic', base_score=0.3), binary, True, 'ubj'),
        'poisson': (dict(objective='count:poisson', num_parallel_tree=2, subsample=0.7), labels, False, 'json'),
    }
    for name, (settings, target, has_categories, extension) in cases.items():
        types = ['q'] * 8 + (['c', 'c'] if has_categories else ['q', 'q'])
        names = [f'signal{i}' for i in range(10)] if name == 'poisson' else None
        make = lambda rows, **more: xgb.DMatrix(rows, feature_types=types, feature_names=names, enable_categorical=True,
                                                **more)
        data = make(x, label=target)
        if settings['objective'].startswith('rank'):
            data.set_info(qid=queries)
        booster = xgb.train(dict(max_depth=3, eta=0.3, nthread=1, seed=2, max_cat_to_onehot=4, **settings), data, 8)
        booster.save_model(f'xgboost-{name}{suffix}.{extension}')
        scores = booster.predict(make(tests), output_margin=True)
        open(f'xgboost-{name}{suffix}.scores', 'w').write(''.join('%.9g\n' % s for s in scores))
        if name == 'ndcg':
            booster.dump_model(f'xgboost-{name}{suffix}.dump.json', dump_format='json')
            booster.dump_model(f'xgboost-{name}{suffix}.dump.txt')


def make_frame(rows, kinds, hosts):
    """A data frame whose last two columns are of the given categories; other values count as missing."""
    import pandas as pd
    frame = pd.DataFrame(rows, columns=[f'f{i}' for i in range(10)])
    for name, known in ('f8', kinds), ('f9', hosts):
        frame[name] = frame[name].where(frame[name].isin(known)).astype(pd.CategoricalDtype(known))
    return frame


def known_values(column, step):
    """The column's values in another order, so that codes differ from values, without each `step`th one."""
    values = np.unique(column[~np.isnan(column)])[::-1]
    return np.delete(values, np.arange(1, len(values), step))


def lightgbm_frame_models(labels, queries, x, tests, suffix):
    """Models of data frames: kinds in an order, which are numbers for LightGBM, and hosts without one."""
    import lightgbm as lgb
    kinds, hosts = known_values(x[:, 8], 5), known_values(x[:, 9], 7)
    frame = make_frame(x, kinds, hosts)
    frame['f8'] = frame['f8'].cat.as_ordered()
    booster = lgb.LGBMRanker(n_estimators=6, num_leaves=7, min_data_per_group=10, cat_smooth=1, verbose=-1, n_jobs=1,
                             random_state=3).fit(frame, labels,
                                                 group=np.unique(queries, return_counts=True)[1]).booster_
    text = booster.model_to_string()
    tail = [line for line in text.split('\n') if line.startswith(('[categorical_feature', 'pandas_categorical'))]
    open(f'lightgbm-frame{suffix}.txt', 'w').write(
        text[:text.index('end of trees')] + 'end of trees\n\n' + '\n'.join(tail) + '\n')
    json.dump(booster.dump_model(), open(f'lightgbm-frame{suffix}.json', 'w'))
    scores = booster.predict(make_frame(tests, kinds, hosts), raw_score=True)
    open(f'lightgbm-frame{suffix}.scores', 'w').write(''.join('%.17g\n' % s for s in scores))


def xgboost_frame_models(labels, queries, x, tests, suffix):
    """A model of a data frame, which stopped early. XGBoost's categories must be integers."""
    import xgboost as xgb
    kinds, hosts = known_values(x[:, 8], 5).astype(int), known_values(x[:, 9], 7).astype(int)
    # The labels of other queries stop the training.
    half = queries <= 100
    ranker = xgb.XGBRanker(n_estimators=30, max_depth=3, learning_rate=0.5, enable_categorical=True, n_jobs=1,
                           random_state=2, early_stopping_rounds=2, num_parallel_tree=2, subsample=0.8,
                           max_cat_to_onehot=4)
    ranker.fit(make_frame(x[half], kinds, hosts), labels[half], qid=queries[half], verbose=False,
               eval_set=[(make_frame(x[~half], kinds, hosts), labels[~half])], eval_qid=[queries[~half]])
    for extension in 'json', 'ubj':
        ranker.save_model(f'xgboost-frame{suffix}.{extension}')
    scores = ranker.predict(make_frame(tests[:50], kinds, hosts))
    open(f'xgboost-frame{suffix}.scores', 'w').write(''.join('%.9g\n' % s for s in scores))
    print('best iteration', ranker.best_iteration, 'of', ranker.get_booster().num_boosted_rounds())


labels, queries, rows = read_letor(sys.argv[1])
x = make_inputs(labels, rows)
tests = make_tests(x)
write_rows('inputs.tsv', tests)
{
    'lightgbm': lightgbm_models,
    'lightgbm-frame': lightgbm_frame_models,
    'xgboost': xgboost_models,
    'xgboost-frame': xgboost_frame_models
}[sys.argv[2]](labels, queries, x, tests, sys.argv[3])
