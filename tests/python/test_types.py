"""Programs that use the package pass mypy --strict."""
import os
import pathlib
import subprocess
import sys

import pytest

import quern

PROGRAM = """
import pathlib

import quern

quern.index([{"docno": "1", "text": "a"}], "my.quern", stemmer="porter2", threads=2, memory="1G")
with quern.open("my.quern") as ix:
    results = ix.search("mill", k=3, filter={"lang": "en"})
    batch = ix.batch({"1": "mill"}, device="auto")
    weights: dict[str, float] = ix.expand("mill", "bo1")
docno: str = results[0][0]
pairs: list[tuple[str, float]] = batch["1"]
value: float = results.evaluate({"1": {"D": 1}}, ["map"])["map"]
value = quern.evaluate(pathlib.Path("a.run"), "a.qrels", "map")["all"]["map"]
value = quern.evaluate(batch, exact=results, measures="exact_recall.10")["all"]["exact_recall_10"]
quern.compare([results, "a.run", pathlib.Path("a.run"), {"1": {"D": 1}}], "a.qrels", "map")
tuned: quern.Tuning = ix.tune({"1": "mill"}, {"1": {"D": 1}}, k1=[0.9, 1.2], folds=2, complete=True)
best: float = tuned.value + tuned.options["k1"]
fused: dict[str, dict[str, float]] = quern.fuse([batch, "a.run", {"1": {"D": 1}}], method="combsum", weights=[0.3, 0.7, 1])
passages: list[str] = results.snippets()
ix.batch(quern.read_queries("topics.txt", text_field=["title", "desc"]))
quern.plan(ix, ["mill"], "my.plan", budget="10%")
quern.rerank(ix, batch, "model").to_trec()
quern.open(7)
"""


def test_strict_types(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    package = pathlib.Path(quern.__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "program.py"]
    environment = {**os.environ, "MYPYPATH": str(package)}
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    errors = [line for line in checked.stdout.splitlines() if line.startswith("program.py")]
    # The last line is wrong, so that the test fails if nothing is checked.
    assert len(errors) == 1 and 'Argument 1 to "open"' in errors[0], checked.stdout
