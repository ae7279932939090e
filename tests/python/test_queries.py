"""Files of queries: read as the command line reads them."""
import bz2
import gzip
import lzma
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import quern
from conftest import SAMPLE, SOURCE, run_script

TWO = [("7", "water mills"), ("12", "flour & bran")]
PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def worked_examples():
    """The files of the page's section of that name, each with the same two queries."""
    page = (SOURCE / "formats/queries/query_file.md").read_text()
    section = page.split("## Worked examples\n")[1].split("As plain lines")[0]
    blocks = re.findall(r"(?:^    .*\n)+", section, re.M)
    return [re.sub("^    ", "", block, flags=re.M).replace("<TAB>", "\t") for block in blocks]


def test_every_format_is_read_compressed_or_not(tmp_path):
    examples = worked_examples()
    assert len(examples) == 6
    for number, text in enumerate(examples):
        for ending, pack in PACKERS.items():
            path = tmp_path / f"{number}.queries{ending}"
            path.write_bytes(pack(text.encode()))
            assert quern.read_queries(path) == TWO, path
            assert quern.read_queries(str(path)) == TWO


def test_topics_are_those_of_the_command_line(sample, sample_path, topics, command_line, tmp_path):
    read = quern.read_queries(SAMPLE / "topics.txt")
    assert read == list(topics.items())
    latin = tmp_path / "latin.tsv"
    latin.write_bytes("1\tm\xfchle water\n1\tgrain\xff\xff\xe4mill\n".encode("latin-1"))
    log = tmp_path / "log.txt"
    log.write_text("water wheel\n\nmill\nwater wheel\n")
    for path, options in (SAMPLE / "topics.txt", {"text_field": "desc"}), \
            (SAMPLE / "topics.txt", {"text_field": ["title", "desc"]}), (latin, {}), (log, {"queries_format": "lines"}):
        found = sample.batch(quern.read_queries(path, **options), 20)
        arguments = []
        for name, value in options.items():
            arguments += ["--" + name.replace("_", "-"), value if isinstance(value, str) else ",".join(value)]
        expected = command_line("query", sample_path, "-q", path, "-k", 20, *arguments)
        assert found.to_trec() == expected and expected


def test_vectors_are_dicts(tmp_path):
    path = tmp_path / "vectors.jsonl"
    path.write_text('{"key": "7", "weights": {"water": 0.5, "m\\u00fchle\\u0000": 1.25}}\n{"key": 12, "weights": {}}\n')
    read = quern.read_queries(path, "vector", id_field="key", text_field="weights")
    assert read == [("7", {"water": 0.5, "m\xfchle\0": 1.25}), ("12", {})]


def test_standard_input_is_read():
    code = "import quern; print(quern.read_queries('-'))"
    done = subprocess.run([sys.executable, "-c", code], input=b"7\tmill\n", capture_output=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True)
    assert done.stdout == b"[('7', 'mill')]\n"


def test_ctrl_c_ends_the_reading_of_standard_input():
    running = run_script(
        """
        import quern
        print("begun", flush=True)
        try:
            quern.read_queries("-")
        except KeyboardInterrupt:
            print("interrupted")
        """,
        stdin=subprocess.PIPE,
    )
    assert running.stdout.readline() == "begun\n"
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == 0
    assert running.stdout.read() == "interrupted\n"


def test_wrong_files_and_options_are_refused(tmp_path):
    with pytest.raises(quern.FileError, match="can't open .*missing"):
        quern.read_queries(tmp_path / "missing")
    lines = tmp_path / "lines.txt"
    lines.write_text("301 water mills\n302 bran\n")
    with pytest.raises(quern.InvalidArgument, match="queries_format lines"):
        quern.read_queries(lines)
    assert quern.read_queries(lines, "lines") == [("1", "301 water mills"), ("2", "302 bran")]
    with pytest.raises(quern.InvalidArgument, match="unknown format of queries 'csv': use one of auto, trec,"):
        quern.read_queries(lines, "csv")
    with pytest.raises(quern.InvalidArgument, match="id_field"):
        quern.read_queries(lines, "lines", id_field="number")
    with pytest.raises(quern.CorruptFile, match="line 1"):
        quern.read_queries(lines, "tsv")
    with pytest.raises(TypeError, match="queries_format must be str, not 3"):
        quern.read_queries(lines, 3)
    for wrong in (3, ["title", 3]):
        with pytest.raises(TypeError, match="^text_field must be a sequence of names, not "):
            quern.read_queries(lines, text_field=wrong)
    lines.write_bytes(b"\xff\tmill\n")
    with pytest.raises(UnicodeDecodeError):
        quern.read_queries(lines, "tsv")
