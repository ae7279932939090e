"""Shared by the tests of the package: the sample corpus, its index, and the command line."""
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

import quern

SOURCE = pathlib.Path(__file__).parents[2]
SAMPLE = SOURCE / "sample_data"


def leftovers(folder):
    return sorted(os.listdir(folder))


def run_script(text, *arguments, **more):
    """Starts a program of Python, with pipes for what it prints."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)], stdout=subprocess.PIPE, text=True, **more
    )


@pytest.fixture(scope="session")
def command_line():
    """Runs `quern` and returns its output; QUERN names the executable."""
    executable = os.environ.get("QUERN") or shutil.which("quern") or SOURCE / "build/release/quern"
    if not pathlib.Path(executable).exists():
        pytest.skip("no executable of the command line: set QUERN")

    def run(*arguments):
        done = subprocess.run([executable, *map(str, arguments)], capture_output=True, text=True, check=True)
        return done.stdout

    return run


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("sample") / "sample.quern"
    quern.index(SAMPLE / "corpus", path, quantize=8, store_text=True, forward=True, pagerank="links")
    return path


@pytest.fixture(scope="session")
def sample(sample_path):
    return quern.open(sample_path)


@pytest.fixture
def topics(command_line):
    """The sample's topics: {id: text}."""
    topics, number = {}, None
    for line in (SAMPLE / "topics.txt").read_text().splitlines():
        if line.startswith("<num>"):
            number = line.split(":")[-1].strip() if ":" in line else line.split()[-1]
        if line.startswith("<title>"):
            topics[number] = line.removeprefix("<title>").strip()
    return topics
