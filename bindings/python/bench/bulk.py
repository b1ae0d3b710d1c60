"""Compares a bulk load with batch puts and with rocksdict's writer of tables, and times writers during an ingestion.

    python bulk.py [--rows N] [--value BYTES]

Rows are counted per second of CPU time of the process, so that other work of the machine counts less. The write
amplification is the bytes written by flushes, compactions and the load, divided by the bytes of rows. The ways take
turns, and each figure is the median of its rounds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import esker
import pyarrow as pa
import rocksdict
from esker import load

OPTIONS = {"compression": "kNoCompression", "target_file_size_base": 64 << 20}


def rows(count: int, size: int) -> pa.Table:
    keys = pa.array([b"k%012d" % number for number in range(count)], pa.binary())
    value = os.urandom(size)
    return pa.table({"key": keys, "value": pa.array([value] * count, pa.binary())})


def timed(work: Callable[[], None]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def written_bytes(db: esker.DB) -> int:
    db.wait_for_compact()
    totals = db.statistics
    assert totals is not None
    names = ("rocksdb.flush.write.bytes", "rocksdb.compact.write.bytes", "rocksdb.wal.bytes")
    return sum(totals.tickers()[name] for name in names)


def by_load(place: Path, table: pa.Table, parts: int) -> float:
    job = load.begin(place / "load", options={"compression": "kNoCompression"})
    messages = []
    each = -(-len(table) // parts)
    for number in range(parts):
        with job.part(number) as part:
            part.write_arrow(table.slice(number * each, each))
        messages.append(part.message)
    size = sum(file["size"] for message in messages for file in message["files"])
    with esker.open(place / "db", statistics=True, **OPTIONS) as db:
        job.commit(db, messages)
        extra = written_bytes(db)
    return (size + extra) / table.nbytes


def by_batches(place: Path, table: pa.Table) -> float:
    with esker.open(place / "db", statistics=True, **OPTIONS) as db:
        for batch in table.to_batches(max_chunksize=1000):
            db.write_arrow(batch)
        db.flush()
        db.compact_range()
        return written_bytes(db) / table.nbytes


def by_puts(place: Path, table: pa.Table) -> float:
    with esker.open(place / "db", statistics=True, **OPTIONS) as db:
        keys, values = table["key"].to_pylist(), table["value"].to_pylist()
        for at in range(0, len(keys), 1000):
            with db.write_batch() as batch:
                for key, value in zip(keys[at : at + 1000], values[at : at + 1000], strict=True):
                    batch.put(key, value)
        db.flush()
        db.compact_range()
        return written_bytes(db) / table.nbytes


def by_rocksdict(place: Path, table: pa.Table) -> float:
    options = rocksdict.Options(raw_mode=True)
    options.set_compression_type(rocksdict.DBCompressionType.none())
    writer = rocksdict.SstFileWriter(options)
    file = str(place / "one.sst")
    writer.open(file)
    for key, value in zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True):
        writer[key] = value
    writer.finish()
    size = Path(file).stat().st_size
    database = rocksdict.Rdict(str(place / "db"), options)
    database.ingest_external_file([file])
    database.close()
    return size / table.nbytes


def holds(place: Path, table: pa.Table, latched: bool) -> tuple[float, float, float]:
    """Puts one key again and again during an ingestion over rows in memory: the longest put before and during it,
    and the time of the ingestion, in milliseconds."""
    with esker.open(place / "db", **OPTIONS) as db:
        for batch in table.slice(0, len(table) // 4).to_batches(max_chunksize=1000):
            db.write_arrow(batch)
        with load.begin(place / "load").part(0) as part:
            part.write_arrow(table)
        files = [place / "load" / "parts" / file["name"] for file in part.message["files"]]
        longest = {"before": 0.0, "during": 0.0}
        phase, stop = ["before"], threading.Event()
        key = b"k%012d" % 1 + b"x" if latched else b"a"

        def puts() -> None:
            while not stop.is_set():
                now, started = phase[0], time.perf_counter()
                db.put(key, b"v")
                longest[now] = max(longest[now], time.perf_counter() - started)

        thread = threading.Thread(target=puts)
        thread.start()
        time.sleep(1)
        phase[0] = "during"
        started = time.perf_counter()
        db.ingest(files, link_files=True)
        took = time.perf_counter() - started
        stop.set()
        thread.join()
        return longest["before"] * 1e3, longest["during"] * 1e3, took * 1e3


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", type=int, default=500_000)
    arguments.add_argument("--value", type=int, default=100)
    arguments.add_argument("--turns", type=int, default=5)
    chosen = arguments.parse_args()
    table = rows(chosen.rows, chosen.value)
    ways: dict[str, Callable[[Path], float]] = {
        "esker.load, Arrow, 4 parts": lambda place: by_load(place, table, 4),
        "write_arrow, batches of 1000, flush, compaction": lambda place: by_batches(place, table),
        "puts in batches of 1000, flush, compaction": lambda place: by_puts(place, table),
        "rocksdict's SstFileWriter, one ingestion": lambda place: by_rocksdict(place, table),
    }
    print(f"| {chosen.rows} rows of 13 + {chosen.value} bytes | rows/s of CPU | rows/s | write amplification |")
    print("|---|---|---|---|")
    measured: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
    for _ in range(chosen.turns):
        for name, way in ways.items():
            place = Path(tempfile.mkdtemp(prefix="bulk"))
            amplification = [0.0]

            def work(way: Callable[[Path], float] = way, place: Path = place) -> None:
                amplification[0] = way(place)

            measured[name].append((*timed(work), amplification[0]))
            shutil.rmtree(place)
    for name, rounds in measured.items():
        wall, cpu, amplified = (statistics.median(figures) for figures in zip(*rounds, strict=True))
        print(f"| {name} | {chosen.rows / cpu:,.0f} | {chosen.rows / wall:,.0f} | {amplified:.2f} |")
    print("\n| writer of | longest put before, ms | longest put during, ms | ingestion, ms |")
    print("|---|---|---|---|")
    for name, latched in (("another key", False), ("a key of the range", True)):
        rounds_of_puts = []
        for _ in range(chosen.turns):
            place = Path(tempfile.mkdtemp(prefix="bulk"))
            rounds_of_puts.append(holds(place, table, latched))
            shutil.rmtree(place)
        before, during, took = (statistics.median(figures) for figures in zip(*rounds_of_puts, strict=True))
        print(f"| {name} | {before:.1f} | {during:.1f} | {took:.1f} |")


main()
