"""Spark writes tables on its executors, and one ingestion takes them all: `esker.load` as a Python Data Source.

    import esker.spark

    esker.spark.register(spark)
    esker.spark.write(df, "path/of/db", key="id", value="payload", parts=64)

`write` divides the rows where the tables of the database end, sorts each part, and saves it with the format
``esker``, which may also be used alone::

    df.repartitionByRange(64, "id").sortWithinPartitions("id") \\
        .write.format("esker").option("key", "id").option("value", "payload").mode("append").save("path/of/db")

Options of the format: ``key`` and ``value``, the columns of bytes or text (default: ``key`` and ``value``);
``load_directory``, a path that every executor and the driver can access (default: next to the database), or a URL
such as ``s3://bucket/loads``; ``sort``: true
sorts each part in memory; ``marker``: a key in hexadecimal, see `esker.load.Load.commit`; ``replace_start`` and
``replace_limit``: the range, in hexadecimal, that the rows replace; ``target_file_size`` in bytes;
``table_options``: a JSON object, the options of the tables. Mode ``overwrite`` replaces the whole family.

A part is a partition; of several attempts at it, by speculation or after a failure, the one that Spark commits
counts. If the job fails, nothing of it is left, in the database or next to it. If the driver dies, `esker.load.open`
of the load's directory and `resume` or `abort` end the load.

The program that opens the database is Spark's driver: no other process may have it open meanwhile.
"""

from __future__ import annotations

import json
import pathlib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

from esker import errors, load
from esker._esker import DB

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

PART = "__esker_part"
"""The column with the number of the part, while `write` divides the rows."""


def register(spark: SparkSession) -> None:
    """Makes the format ``esker`` known to the session."""
    spark.dataSource.register(EskerDataSource)


def write(
    df: DataFrame,
    path: load.Path,
    *,
    key: str = "key",
    value: str = "value",
    parts: int | None = None,
    splits: list[bytes] | None = None,
    mode: str = "append",
    **options: str,
) -> None:
    """Loads the rows of ``df`` into the database in ``path``, which is created if it does not exist.

    ``parts`` is the number of partitions (default: that of ``df``). ``splits`` are the keys at which parts begin;
    by default they are bounds of the database's own tables, or Spark's sample of the rows if it has none. Of rows
    with one key an arbitrary one is loaded. ``options`` are those of the format.
    """
    count = parts or df.rdd.getNumPartitions()
    if splits is None and (pathlib.Path(path) / "CURRENT").exists():
        with DB(path, read_only=True, load_options=True) as db:
            splits = load.splits(db, count)
    rows = df.select(key, value)
    rows = divided(rows, key, splits) if splits else rows.repartitionByRange(count, key)
    writer = rows.sortWithinPartitions(key).write.format("esker").mode(mode)
    writer.options(key=key, value=value, **options).save(str(path))


def divided(df: DataFrame, key: str, splits: list[bytes]) -> DataFrame:
    """Returns the rows in partitions that begin at the keys ``splits``: a row with such a key is in the later one."""
    from pyspark.sql import functions as F

    column = F.col(key).cast("binary")
    part = F.lit(0)
    for split in splits:
        part = part + F.when(column >= F.lit(split), 1).otherwise(0)
    numbered = df.withColumn(PART, part)
    return numbered.repartitionById(len(splits) + 1, PART).drop(PART)


class EskerDataSource(DataSource):
    """The format ``esker``, for writing."""

    @classmethod
    def name(cls) -> str:
        return "esker"

    def writer(self, schema: StructType, overwrite: bool) -> EskerWriter:
        return EskerWriter(self.options, [field.name for field in schema.fields], overwrite)


@dataclass
class Part(WriterCommitMessage):
    """A part that was written."""

    message: load.Message


class EskerWriter(DataSourceArrowWriter):
    """Writes parts on executors, and commits or aborts the load on the driver."""

    def __init__(self, options: Mapping[str, str], columns: list[str], overwrite: bool) -> None:
        if "path" not in options:
            raise ValueError("the path of the database is missing: save(path)")
        self._path = options["path"]
        self._key = options.get("key", "key")
        self._value = options.get("value", "value")
        for name in (self._key, self._value):
            if name not in columns:
                raise ValueError(f"no column {name!r}: there are {columns}")
        self._sort = options.get("sort", "false").lower() == "true"
        self._marker = _bytes(options, "marker")
        bounds = (_bytes(options, "replace_start"), _bytes(options, "replace_limit"))
        self._replace = bounds if overwrite or bounds != (None, None) else None
        identity = uuid.uuid4().hex
        directory = load.inside(options.get("load_directory", f"{self._path}.loads"), identity)
        about = {
            "id": identity,
            "splits": [],
            "target_file_size": int(options.get("target_file_size", load.TARGET_FILE_SIZE)),
            "options": json.loads(options.get("table_options", "{}")),
        }
        self._load = load.Load(directory, about)
        # Spark creates the writer on the driver when the job begins, and ends it by a commit or an abort.
        self._load.create()

    def write(self, iterator: Iterator[RecordBatch]) -> Part:
        """Writes a partition."""
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() if context else 0
        attempt = f"{context.taskAttemptId()}-{uuid.uuid4().hex}" if context else uuid.uuid4().hex
        with self._load.part(number, attempt=attempt, sort=self._sort) as part:
            for batch in iterator:
                part.write_arrow(batch, key=self._key, value=self._value)
        return Part(part.message)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Ingests the tables of the parts, on the driver."""
        parts = [message.message for message in messages if isinstance(message, Part)]
        if any(part["files"] for part in parts) or self._replace is not None:
            self._load.commit(self._path, parts, marker=self._marker, replace=self._replace)
        self._load.abort()
        self._load.place.remove_parent()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Removes the tables of all attempts, on the driver."""
        try:
            self._load.abort()
        except errors.InvalidArgument:
            # The load was committed, and its ingestion failed: the load is kept, so that it can be resumed.
            return
        self._load.place.remove_parent()


def _bytes(options: Mapping[str, str], name: str) -> bytes | None:
    return bytes.fromhex(options[name]) if name in options else None
