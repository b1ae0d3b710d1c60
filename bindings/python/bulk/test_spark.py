"""Loads by a real Spark: parts on executors, failed and repeated tasks, drivers that die."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import esker
import esker.spark
import pytest
from esker import load
from rows import rows_of


def frame(spark: Any, rows: int, value: str = "new", step: int = 1) -> Any:
    from pyspark.sql import functions as F

    numbers = spark.range(0, rows * step, step, numPartitions=3)
    key = F.format_string("k%08d", F.col("id")).cast("binary").alias("key")
    return numbers.orderBy(F.hash("id")).select(key, F.lit(value).alias("value"))


def levels(path: Path) -> set[int]:
    with esker.DB(path, read_only=True) as db:
        return {file["level"] for file in db.live_files()}


def nothing_beside(path: Path) -> bool:
    return not Path(f"{path}.loads").exists()


def test_an_empty_database_is_loaded(spark: Any, path: Path) -> None:
    esker.spark.write(frame(spark, 10_000), path, parts=4)
    rows = rows_of(path)
    assert len(rows) == 10_000 and rows[b"k00000007"] == b"new"
    assert levels(path) == {6} and nothing_beside(path)


def test_parts_begin_where_the_tables_of_the_target_do(spark: Any, path: Path) -> None:
    with esker.open(path, target_file_size_base=64 << 10, compression="kNoCompression") as db:
        for number in range(8000):
            db[b"k%08d" % number] = b"o" * 100
        db[b"z"] = b"stays"
        db.compact_range(bottommost_level_compaction="kForce")
        splits = load.splits(db, 3)
        assert len(splits) == 2
    df = esker.spark.divided(frame(spark, 8000), "key", splits)
    found = df.rdd.mapPartitionsWithIndex(
        lambda at, rows: [(at, sorted(bytes(row["key"]) for row in rows))]
    ).collect()
    bounds = {at: (keys[0], keys[-1]) for at, keys in found}
    # A row with the key of a split is in the later part.
    assert [bounds[1][0], bounds[2][0]] == splits and bounds[0][1] < splits[0] and bounds[1][1] < splits[1]
    esker.spark.write(frame(spark, 8000), path, parts=3)
    rows = rows_of(path)
    assert len(rows) == 8001 and rows[b"k00000000"] == b"new" and rows[b"z"] == b"stays"


def test_a_task_that_fails_once_is_repeated(spark: Any, path: Path, tmp_path: Path) -> None:
    once = str(tmp_path / "once")

    def fails(batches: Any) -> Any:
        import os

        from pyspark import TaskContext

        for at, batch in enumerate(batches):
            yield batch
            if at == 0 and TaskContext.get().partitionId() == 1:
                try:
                    os.close(os.open(once, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                # The executor dies here: its tables stay, and the driver gets no message.
                os._exit(1)

    df = frame(spark, 30_000).repartitionByRange(3, "key").sortWithinPartitions("key")
    df = df.mapInArrow(fails, df.schema)
    df.write.format("esker").mode("append").save(str(path))
    assert Path(once).exists()
    assert len(rows_of(path)) == 30_000 and nothing_beside(path)


def test_a_job_that_fails_leaves_nothing(spark: Any, path: Path) -> None:
    with esker.open(path) as db:
        db[b"k"] = b"old"

    def fails(batches: Any) -> Any:
        from pyspark import TaskContext

        for batch in batches:
            yield batch
        if TaskContext.get().partitionId() == 1:
            raise RuntimeError("planned")

    df = frame(spark, 3000).repartitionByRange(3, "key").sortWithinPartitions("key")
    with pytest.raises(Exception, match="planned"):
        df.mapInArrow(fails, df.schema).write.format("esker").mode("append").save(str(path))
    assert rows_of(path) == {b"k": b"old"} and nothing_beside(path)


def test_rows_that_are_not_divided_are_refused(spark: Any, path: Path) -> None:
    df = frame(spark, 3000).repartition(3)
    with pytest.raises(Exception, match="overlap"):
        df.sortWithinPartitions("key").write.format("esker").mode("append").save(str(path))
    with pytest.raises(Exception, match="ascending"):
        df.write.format("esker").mode("append").save(str(path))
    with pytest.raises(Exception, match="no column"):
        df.write.format("esker").option("key", "other").mode("append").save(str(path))
    assert nothing_beside(path)


def test_skew_and_equal_keys(spark: Any, path: Path) -> None:
    from pyspark.sql import functions as F

    hot = F.when(F.col("id") % 10 == 0, F.format_string("k%06d", F.col("id"))).otherwise(F.lit("hot"))
    df = spark.range(20_000, numPartitions=4).select(hot.alias("k"), F.col("id").cast("string").alias("v"))
    esker.spark.write(df, path, key="k", value="v", parts=4)
    rows = rows_of(path)
    assert len(rows) == 2001 and int(rows[b"hot"]) % 10 != 0
    # The splits are at the hot key and directly after it, so that all its rows are in one part.
    esker.spark.write(df, path, key="k", value="v", splits=[b"hot", b"hot\\0", b"k010000"])
    assert len(rows_of(path)) == 2001


def test_mode_overwrite_replaces_the_rows(spark: Any, path: Path) -> None:
    esker.spark.write(frame(spark, 2000, "old"), path)
    esker.spark.write(frame(spark, 500, "new", step=2), path, mode="overwrite")
    rows = rows_of(path)
    assert len(rows) == 500 and set(rows.values()) == {b"new"}
    bounds = {"replace_start": b"k00000100".hex(), "replace_limit": b"k00000200".hex()}
    few = frame(spark, 150, "range").filter("key >= cast('k00000120' as binary) and key < cast('k00000130' as binary)")
    esker.spark.write(few, path, **bounds)
    rows = rows_of(path)
    assert len(rows) == 500 - 50 + 10 and rows[b"k00000121"] == b"range"


DRIVER = """
import os, sys
import esker.spark
from esker import load
from pyspark.sql import SparkSession

path, dies, tests = sys.argv[1:]
sys.path.insert(0, tests)
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = session.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()

class Dies(esker.spark.EskerWriter):
    def commit(self, messages):
        import signal
        def ingest(self, target, plan):
            if dies == "after":
                kept(self, target, plan)
            os.kill(int(os.environ["DRIVER"]), signal.SIGKILL)
            os._exit(1)
        kept = load.Load._ingest
        load.Load._ingest = ingest
        if dies == "before":
            os.kill(int(os.environ["DRIVER"]), signal.SIGKILL)
            os._exit(1)
        super().commit(messages)

class Source(esker.spark.EskerDataSource):
    def writer(self, schema, overwrite):
        return Dies(self.options, [field.name for field in schema.fields], overwrite)

os.environ["DRIVER"] = str(os.getpid())
spark.dataSource.register(Source)
rows = spark.createDataFrame([(b"k%04d" % n, b"new") for n in range(1000)], "key binary, value binary")
rows = rows.repartitionByRange(2, "key").sortWithinPartitions("key")
rows.write.format("esker").option("marker", b"zz".hex()).mode("append").save(path)
"""


@pytest.mark.parametrize("dies", ["before", "between", "after"])
def test_a_driver_dies(path: Path, dies: str) -> None:
    words = [sys.executable, "-c", DRIVER, str(path), dies, str(Path(__file__).parent)]
    assert subprocess.run(words, check=False).returncode != 0
    if dies == "before" and nothing_beside(path):
        # The JVM lived a moment longer than the Python driver, and aborted the load.
        assert not path.exists()
        return
    (directory,) = Path(f"{path}.loads").iterdir()
    job = load.open(directory)
    if dies == "before":
        with pytest.raises(FileNotFoundError):
            job.resume(path)
        job.abort()
        assert not directory.exists() and not path.exists()
        return
    assert job.resume(path) == 1000
    assert job.resume(path) == 1000
    assert len(rows_of(path)) == 1001
    job.abort()
    assert not directory.exists()


def test_rows_go_through_a_bucket(spark: Any, path: Path, bucket: Any) -> None:
    url = bucket.url("spark")
    esker.spark.write(frame(spark, 3000), path, parts=3, load_directory=url, marker=b"zz".hex())
    rows = rows_of(path)
    assert len(rows) == 3001 and rows[b"k00000007"] == b"new"
    assert bucket.objects("spark") == [] and nothing_beside(path)

    def fails(batches: Any) -> Any:
        from pyspark import TaskContext

        for batch in batches:
            yield batch
        if TaskContext.get().partitionId() == 1:
            raise RuntimeError("planned")

    df = frame(spark, 3000).repartitionByRange(3, "key").sortWithinPartitions("key")
    writer = df.mapInArrow(fails, df.schema).write.format("esker").option("load_directory", url)
    with pytest.raises(Exception, match="planned"):
        writer.mode("append").save(str(path))
    assert len(rows_of(path)) == 3001 and bucket.objects("spark") == []
