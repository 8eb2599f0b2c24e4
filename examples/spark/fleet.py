"""Reports of a fleet of captures, made by many machines: one report per stream, which is the folder that a capture lies in.

    spark-submit fleet.py CAPTURES OUT [--spiglass PROGRAM] [--parquet]

CAPTURES is a path or pattern of any file system that Spark reads (file, hdfs, s3a); OUT is a folder on a file system that the driver sees.
OUT/STREAM.json is the report of a stream, OUT/tables its tables with --parquet (a program that was built with it).

Each capture becomes a state on the executor that reads it (`spiglass partial`), states of a stream are merged as a tree (`spiglass merge`),
and the driver makes the reports. States merge in any order and grouping, and the same state twice counts once: tasks that are tried
again change nothing. A capture that cannot be read, or only in part, is a row in `captures` of the report, with its error, and no failed
job. A program that crashes fails its task, with what it said on standard error.
"""

import argparse
import os
import subprocess
import urllib.parse

from pyspark.sql import SparkSession

# What a run of spiglass ends with that has a result: 1 for findings, 2 for inputs that are damaged or not readable, which the state names.
WITH_RESULT = (0, 1, 2)


def spiglass(program, arguments, given=b""):
    """What the program writes to standard output, with `given` on its standard input."""
    run = subprocess.run([program, *arguments], input=given, capture_output=True, check=False)
    if run.returncode not in WITH_RESULT or not run.stdout:
        said = run.stderr.decode(errors="replace")[-2000:]
        raise RuntimeError(f"{program} {' '.join(arguments)} ended with {run.returncode}: {said}")
    return run.stdout


def name_and_stream(url):
    """The path of a capture as reports name it, and the stream that it is of."""
    path = urllib.parse.unquote(urllib.parse.urlparse(url).path)
    return path, os.path.basename(os.path.dirname(path)) or "captures"


def main():
    parser = argparse.ArgumentParser(description="Reports of a fleet of captures, one per stream (folder).")
    parser.add_argument("captures")
    parser.add_argument("out")
    parser.add_argument("--spiglass", default="spiglass", help="the program on the executors and the driver")
    parser.add_argument("--parquet", action="store_true", help="write the tables too")
    arguments = parser.parse_args()
    program = arguments.spiglass

    def state(capture):
        url, content = capture
        path, stream = name_and_stream(url)
        # One job: Spark gives each task a core.
        options = ["partial", "--quiet", "--jobs", "1", "--name", path, "--stream", stream, "-"]
        return stream, spiglass(program, options, bytes(content))

    def merged(one, other):
        # Two states that follow each other are input enough.
        return spiglass(program, ["merge", "--quiet", "--allow-duplicate", "--state-out", "-", "-"], one + other)

    spark = SparkSession.builder.appName("spiglass").getOrCreate()
    context = spark.sparkContext
    states = context.binaryFiles(arguments.captures, minPartitions=context.defaultParallelism).map(state)
    os.makedirs(arguments.out, exist_ok=True)
    # By key, merging begins where the states are and goes on after one shuffle of states, which are kilobytes.
    for stream, whole in sorted(states.reduceByKey(merged).toLocalIterator()):
        options = ["merge", "--quiet", "--format", "json", "-"]
        report = spiglass(program, options, whole)
        target = os.path.join(arguments.out, f"{stream}.json")
        with open(f"{target}.part", "wb") as file:
            file.write(report)
        os.replace(f"{target}.part", target)
        if arguments.parquet:
            tables = os.path.join(arguments.out, "tables")
            options = [program, "merge", "--quiet", "--format", "parquet", "-o", tables, "-"]
            run = subprocess.run(options, input=whole, capture_output=True, check=False)
            if run.returncode not in WITH_RESULT:
                raise RuntimeError(run.stderr.decode(errors="replace")[-2000:])
    spark.stop()


if __name__ == "__main__":
    main()
