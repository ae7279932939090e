"""The steps of an index in shards, on one machine."""
import gzip
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from cluster import SETTINGS, SOURCE, TOPICS, digest, dying, program, until_done, whole  # noqa: F401
from quern import shards
from quern.shards import StepError


@pytest.mark.parametrize("splits, count", [(1, 1), (2, 3), (7, 2), (32, 5), (80, 3)])
def test_splits_give_the_bytes_of_one_machine(whole, tmp_path, splits, count):
    files = shards.read_manifest(whole.manifest)
    plan = shards.plan(files, tmp_path / "work", splits=splits, count=count, merge=True, **SETTINGS)
    # More splits than the 32 files are ranges of them.
    assert splits <= 32 or len(plan.steps("parse")) > 50
    assert digest(shards.run(plan)[0]) == digest(whole.index)
    made = [step.output for step in plan.steps("build")]
    asked = shards.plan_queries(made[::-1], TOPICS, tmp_path / "work", query=["-k", "20"])
    assert digest(shards.run(asked)[0]) == digest(whole.run)


def test_a_driver_that_dies_goes_on_where_it_was(whole, tmp_path, dying):
    plan = tmp_path / "plan"
    program("plan", whole.manifest, "--work", tmp_path / "work", "--splits", 7, "--shards", 3, "--merge", "-o", plan,
            "--parse", "--stemmer porter2", "--build", "--quantize 8")
    command = ["python3", SOURCE / "tools/python/quern/shards.py", "run", plan, "--timeout", "5"]
    assert until_done(command, plan) > 1
    assert digest(program("results", plan).stdout.strip()) == digest(whole.index)
    asked = {step.name for _, steps in shards.Plan.load(plan).stages for step in steps}
    assert {path.name for path in dying.iterdir()} == asked | {"first"}
    assert [path for path in (tmp_path / "work").iterdir() if path.name not in asked] == []


def test_a_driver_that_is_ended_at_any_time_goes_on(whole, tmp_path):
    plan = shards.plan(whole.files, tmp_path / "work", splits=32, count=3, merge=True, **SETTINGS)
    plan.save(tmp_path / "plan")
    command = ["python3", SOURCE / "tools/python/quern/shards.py", "run", tmp_path / "plan"]
    for _ in range(3):
        driver = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(0.2)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    assert digest(shards.run(plan)[0]) == digest(whole.index)


def test_steps_that_run_twice_at_once_do_no_harm(whole, tmp_path):
    plan = shards.plan(whole.files, tmp_path / "work", splits=4, count=2, merge=True, **SETTINGS)
    plan.save(tmp_path / "plan")
    command = ["python3", SOURCE / "tools/python/quern/shards.py", "run", tmp_path / "plan"]
    drivers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    errors = [driver.communicate()[1] for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0, 0], errors
    assert digest(plan.results[0]) == digest(whole.index)


def test_names_depend_on_all_that_determines_the_bytes(whole, tmp_path):
    def names(**changed):
        settings = {"splits": 2, "count": 2, **SETTINGS, **changed}
        made = shards.plan(settings.pop("files", whole.files), settings.pop("work", tmp_path), **settings)
        return {stage: [step.name for step in steps] for stage, steps in made.stages}

    first = names()
    assert names() == first and names(work=tmp_path / "elsewhere") == first
    assert names(build=["--quantize", "9"])["build"] != first["build"]
    assert names(build=["--quantize", "9"])["order"] == first["order"]
    assert names(parse=[])["parse"] != first["parse"]
    copies = [shutil.copy(path, tmp_path) for path in whole.files]
    assert names(files=copies)["parse"] != first["parse"]
    assert names(files=copies, by_content=True) == names(by_content=True)
    words = tmp_path / "words"
    words.write_text("the\n")
    with_words = names(parse=["--stopwords", str(words)])
    words.write_text("the\na\n")
    assert names(parse=["--stopwords", str(words)])["parse"] != with_words["parse"]


def test_plans_say_what_is_wrong_with_the_corpus(whole, tmp_path):
    with pytest.raises(StepError, match="32 files can't be cut into 0 splits"):
        shards.plan(whole.files, tmp_path, splits=0)
    packed = tmp_path / "packed.trecweb.gz"
    packed.write_bytes(gzip.compress(b"<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n"))
    with pytest.raises(StepError, match="packed.trecweb.gz: is compressed"):
        shards.plan([packed], tmp_path, splits=2)
    with pytest.raises(StepError, match="--drop-copies compares the pages of one split only"):
        shards.plan(whole.files, tmp_path, splits=2, parse=["--drop-copies"])
    with pytest.raises(StepError, match="gone.warc: No such file"):
        shards.plan([*whole.files, "gone.warc"], tmp_path)
    with pytest.raises(StepError, match="at least 1"):
        shards.plan(whole.files, tmp_path, count=0)


def test_a_file_that_changed_since_the_plan_was_made_is_refused(whole, tmp_path):
    for by_content in (False, True):
        files = [shutil.copy(path, tmp_path) for path in whole.files[:2]]
        plan = shards.plan(files, tmp_path / f"work{by_content}", splits=2, by_content=by_content)
        with open(files[1], "a") as file:
            file.write("more")
        with pytest.raises(StepError, match="make the plan again"):
            shards.run(plan)


def outcome_of_plan(files, work, options=(), splits=None, count=1):
    """What a plan gives for the files, one a split: the index, or why there is none; and what one machine gives."""
    words = [shards.find_executable(), "index", *files, *options, "--order", "natural", "-o", work / "whole", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True)
    whole = digest(work / "whole") if done.returncode == 0 else "refused"
    plan = shards.plan(files, work / "steps", splits=splits or len(files), count=count, merge=True, parse=options,
                       order=["--by", "natural"])
    try:
        return digest(shards.run(plan)[0]), whole
    except StepError as error:
        return str(error), whole


def test_a_file_twice_is_indexed_as_one_machine_does(whole, tmp_path):
    twin = shutil.copy(whole.files[0], tmp_path / "twin.trecweb")
    for number, files in enumerate([[whole.files[0], twin], [whole.files[0], whole.files[1], whole.files[0]]]):
        (tmp_path / str(number)).mkdir()
        planned, alone = outcome_of_plan(files, tmp_path / str(number), count=2)
        assert planned == alone


def test_limits_hold_for_all_splits_together(tmp_path):
    for name in "ab":
        lines = ['{"id":"D1","contents":"x"}', f'{{"id":"{name}","contents":"y"}}', "bad", "bad"]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines[:2] if name == "a" else lines[1:]) + "\n")
        (tmp_path / f"{name}2.jsonl").write_text("\n".join(lines) + "\n")
    for number, (names, options, message) in enumerate([
        (["a", "a2"], ["--duplicates", "refuse"], "2 documents have the docno of another"),
        (["a", "b"], ["--duplicates", "refuse"], None),
        (["a2", "b"], ["--max-errors", "3"], "more than --max-errors 3"),
        (["a2", "b"], ["--max-errors", "4"], None),
        (["a2", "b"], ["--skip-bad"], None),
    ]):
        work = tmp_path / str(number)
        work.mkdir()
        planned, alone = outcome_of_plan([tmp_path / f"{name}.jsonl" for name in names], work, options)
        assert (message in planned and alone == "refused") if message else planned == alone


def test_splits_and_shards_without_documents_are_built(tmp_path):
    for name in "abc":
        language = "deu" if name == "b" else "eng"
        (tmp_path / f"{name}.wet").write_bytes(b"".join(
            b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://%s.example/\r\nWARC-Record-ID: <urn:%s>\r\n"
            b"WARC-Identified-Content-Language: %s\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nsome text"
            b"\r\n\r\n" % (name.encode(), name.encode(), language.encode()) for _ in range(1)))
    files = [tmp_path / f"{name}.wet" for name in "abc"]
    for count in (1, 2, 5):
        work = tmp_path / str(count)
        work.mkdir()
        planned, alone = outcome_of_plan(files, work, ["--languages", "eng"], count=count)
        assert planned == alone


def test_outputs_of_other_steps_in_the_place_of_a_step_are_refused(whole, tmp_path):
    plan = shards.plan(whole.files, tmp_path / "work", splits=2, count=2, **SETTINGS)
    other = shards.plan(whole.files[:16], tmp_path / "other", splits=2, count=2, **SETTINGS)
    plain = shards.plan(whole.files[16:], tmp_path / "plain", splits=1)
    for made in (plan, other, plain):
        shards.run(made)
    for stage, foreign, message in [
        ("statistics-2", other.steps("statistics-2")[0], "was made from different collections"),
        ("order", other.steps("order")[0], "is an order of another collection"),
        ("parse", plain.steps("parse")[0], "build for shard-"),
    ]:
        place = plan.steps(stage)[-1].output
        kept = place + ".kept"
        os.rename(place, kept)
        shutil.copy(foreign.output, place)
        for step in plan.steps("build"):
            shutil.rmtree(step.output, ignore_errors=True)
        with pytest.raises(StepError, match=message):
            shards.run(plan)
        os.replace(kept, place)
    shards.run(plan)


def test_a_split_that_was_lost_is_named_and_made_again(whole, tmp_path):
    plan = shards.plan(whole.files, tmp_path / "work", splits=3)
    first = plan.steps("parse")[0].output
    for step in [*plan.steps("parse"), *plan.steps("statistics-1")]:
        shards.Runner().run(step)
    os.remove(first)
    with pytest.raises(StepError, match=f"order for order-.* on .*{first}"):
        shards.Runner().run(plan.steps("order")[0])
    shards.run(plan)


def test_failures_name_step_machine_and_remedy(whole, tmp_path, dying, monkeypatch):
    step = shards.plan(whole.files, tmp_path / "work").steps("parse")[0]
    for way, message in [("itself", "terminated by signal 9; run again"), ("disk", "parse for collection-.*: .*"),
                         ("stall", "took longer than 0.5 s")]:
        monkeypatch.setenv("DYING_WAY", way)
        with pytest.raises(StepError, match=message):
            shards.Runner(timeout=0.5 if way == "stall" else None).run(step)
        assert not step.is_done
        (dying / step.name).rmdir()
    monkeypatch.setenv("QUERN", "/nowhere/quern")
    with pytest.raises(StepError, match="has no executable /nowhere/quern; install it, or set QUERN"):
        shards.Runner().run(step)
    other = tmp_path / "quern"
    other.write_text("#!/bin/sh\necho quern 9.9\n")
    other.chmod(0o755)
    with pytest.raises(StepError, match="is quern 9.9, but the plan is for quern .*; install that"):
        shards.Runner(executable=str(other)).run(step)


def test_shards_must_be_all_of_one_index(whole, tmp_path):
    made = shards.run(shards.plan(whole.files, tmp_path, count=3))
    other = shards.run(shards.plan(whole.files, tmp_path, count=3, parse=["--stemmer", "porter2"]))
    assert shards.in_order(made[::-1]) == made
    for paths, message in [(made[1:], "shards are missing: 1 of 3"), ([*made, made[0]], "is shard 1, as is"),
                           ([*made[:2], other[2]], "another build"), ([whole.index], "not a shard"),
                           ([tmp_path / "none"], "No such file"), ([], "missing: all")]:
        with pytest.raises(StepError, match=message):
            shards.in_order(paths)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "index.quern").write_bytes(b"QUERN" + bytes(50))
    with pytest.raises(StepError, match="is damaged"):
        shards.in_order([damaged])


def test_the_program_says_what_is_wrong(whole, tmp_path):
    (tmp_path / "no-plan").write_text(json.dumps({"kind": "else"}))
    outcome = program("run", tmp_path / "no-plan", check=False)
    assert outcome.returncode == 1 and "is not a plan of quern.shards" in outcome.stderr
    program("plan", whole.manifest, "--work", tmp_path / "work", "-o", tmp_path / "plan")
    outcome = program("run", tmp_path / "plan", "--stage", "mill", check=False)
    assert outcome.returncode == 1 and "has no stage 'mill'; it has: parse, statistics-1, order, build" in outcome.stderr
    assert program("run", tmp_path / "plan", "--stage", "parse", "--task", "2/2", check=False).returncode == 2
    assert program("stages", tmp_path / "plan").stdout.splitlines()[0] == "parse 1 0"
