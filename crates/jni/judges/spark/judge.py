"""Five stateful queries of Spark over RocksDB. What their states hold after each round is printed, one line a fact.

Arguments: a directory, the number of the round, and a directory of the library, or "-" for RocksDB's own. A later round continues
the queries of the one before it from their checkpoints. With a fourth argument, "kill", the JVM is killed in the second batch
of the first query; the same round without it continues there.
"""

import os
import signal
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

BATCHES = 3
ROWS = 2000


def session(library):
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("judge")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .config("spark.sql.streaming.stateStore.maintenanceInterval", "2s")
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "false")
        .config("spark.sql.streaming.stateStore.rocksdb.compactOnCommit", "true")
        .config("spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage", "true")
    )
    if library != "-":
        builder = builder.config("spark.driver.extraJavaOptions", "-Djava.library.path=" + library)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def put(source, number):
    lines = []
    for row in range(ROWS):
        lines.append(
            '{"k":%d,"v":%d,"ts":"2026-01-01T00:%02d:%02d"}\n'
            % ((row * 7 + number) % 500, row, number * 3 % 60, row % 60)
        )
    hidden = os.path.join(source, ".%d" % number)
    with open(hidden, "w", encoding="utf-8") as out:
        out.writelines(lines)
    os.rename(hidden, os.path.join(source, "%03d.json" % number))


def queries(frame):
    marked = frame.withWatermark("ts", "1 minute")
    left = marked.select("k", "ts", F.col("v").alias("left"))
    right = marked.select(
        F.col("k").alias("k2"), F.col("ts").alias("ts2"), F.col("v").alias("right")
    ).where("right < 50")
    return [
        ("aggregation", frame.groupBy("k").agg(F.count("*"), F.sum("v")), "update"),
        ("window", marked.groupBy(F.window("ts", "1 minute"), "k").count(), "append"),
        ("deduplication", marked.dropDuplicates(["k", "ts"]), "append"),
        ("join", left.join(right, F.expr("k = k2 and ts = ts2")), "append"),
        ("session", marked.groupBy(F.session_window("ts", "10 seconds"), "k").count(), "append"),
    ]


def main():
    directory, number, library = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    kills = sys.argv[4:] == ["kill"]
    spark = session(library)
    source = os.path.join(directory, "in")
    os.makedirs(source, exist_ok=True)
    for batch in range(BATCHES):
        put(source, number * BATCHES + batch)
    frame = (
        spark.readStream.schema("k INT, v INT, ts TIMESTAMP").option("maxFilesPerTrigger", 1).json(source)
    )
    for name, query, mode in queries(frame):
        checkpoint = os.path.join(directory, name)
        running = (
            query.writeStream.format("noop")
            .outputMode(mode)
            .queryName(name)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        if kills:
            kill(spark, running)
            return
        running.awaitTermination()
        rows = running.lastProgress["stateOperators"][0]["numRowsTotal"]
        print("fact", name, rows, flush=True)
    state = spark.read.format("statestore").load(os.path.join(directory, "aggregation"))
    digest = sorted(str(row) for row in state.select("key", "value").collect())
    print("fact", "state", len(digest), hash_of(digest), flush=True)
    spark.stop()


def kill(spark, running):
    while not running.recentProgress:
        time.sleep(0.01)
    jvm = spark.sparkContext._gateway.proc
    os.kill(jvm.pid, signal.SIGKILL)
    jvm.wait()
    # No call may be sent to a JVM that has ended.
    os._exit(0)


def hash_of(lines):
    value = 0
    for byte in "\n".join(lines).encode():
        value = (value * 31 + byte) % (1 << 32)
    return value


main()
