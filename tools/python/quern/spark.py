"""Shards with Spark: the steps of a plan as Spark tasks.

    from quern import shards, spark

    plan = shards.plan(shards.read_manifest("warc.paths"), "/shared/work", splits=1000, count=16)
    spark.run(session.sparkContext, plan)

The driver and all executors need this package, the executable, and the corpus and the work folder under the same
paths. Spark schedules tasks, repeats failed ones and, with spark.speculation, slow ones. As a program:

    python3 -m quern.spark PLAN --master spark://host:7077
"""

import argparse
import re
import sys

from . import shards

try:
    from pyspark.sql import SparkSession
except ImportError as error:
    raise ImportError("quern.spark needs PySpark: pip install pyspark") from error


def run(context, plan, runner=shards.Runner()):
    """Runs the unfinished steps of a plan, stage by stage, each step as a task.

    context: a SparkContext. Returns plan.results. Raises StepError with the message of a step's last attempt.
    """
    for name, steps in plan.stages:
        waiting = [step for step in steps if not step.is_done]
        if not waiting:
            continue
        context.setJobDescription(f"quern {name}: {len(waiting)} of {len(steps)} steps")
        try:
            context.parallelize(waiting, len(waiting)).foreach(runner.run)
        except Exception as error:
            raise _translated(error) from error
    return plan.results


def _translated(error):
    """A StepError with the message of a failed task, or the error itself."""
    messages = re.findall(r"StepError: (.*)", str(error))
    return shards.StepError(messages[-1]) if messages else error


def main():
    """The program. If a step failed, exits with 1 and one line on standard error."""
    parser = argparse.ArgumentParser(prog="quern.spark", description="Runs a plan of quern.shards on Spark.")
    parser.add_argument("plan")
    parser.add_argument("--master", metavar="URL", help="master of the cluster (default: as Spark is configured)")
    shards.add_runner_options(parser)
    options = parser.parse_args()
    builder = SparkSession.builder.appName("quern")
    if options.master:
        builder = builder.master(options.master)
    try:
        plan = shards.Plan.load(options.plan)
        session = builder.getOrCreate()
        print("\n".join(run(session.sparkContext, plan, shards.runner_of(options))))
        session.stop()
    except (shards.StepError, OSError) as error:
        sys.exit(f"quern.spark: error: {error}")


if __name__ == "__main__":
    main()
