"""Progress on standard error."""
import sys

import pytest

import quern
from quern import progress


def test_stages_are_bars_with_their_totals(sample_path, capsys):
    pytest.importorskip("tqdm")
    quern.open(sample_path).verify(progress=True)
    text = capsys.readouterr().err
    assert "verify" in text and "100%|" in text and "Bytes" not in text


def test_a_bar_ends_with_its_stage():
    tqdm = pytest.importorskip("tqdm").tqdm
    bars = []

    class Bar(tqdm):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            bars.append(self)

    show = progress.Bars(Bar)
    steps = [("parse", 5, 0, "bytes"), ("parse", 9, 0, "bytes"), ("write", 1, 4, "lists"), ("write", 4, 4, "lists"),
             ("write", 4, 4, "lists"), ("write", 2, 3, "lists"), ("write", 3, 3, "lists")]
    for step in steps:
        show(*step)
    assert [(bar.desc.rstrip(": "), bar.n, bar.total, bar.unit) for bar in bars] == [
        ("parse", 9, None, " bytes"), ("write", 4, 4, " lists"), ("write", 3, 3, " lists")
    ]
    assert all(bar.disable for bar in bars)  # closed


def test_without_tqdm_a_line_is_shown_and_one_hint(sample, topics, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(progress, "_hints", [progress._HINT])
    for _ in range(2):
        sample.batch(topics, progress=True)
    text = capsys.readouterr().err
    assert text.count("pip install tqdm") == 1
    assert text.count("\n") == 3 and f"{len(topics)} queries 100 %" in text
