"""Bulk load without Spark and Ray: parts, their attempts, the commit, and drivers that die."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import esker
import pyarrow as pa
import pytest
from esker import load


def batch(rows: Iterable[tuple[bytes, bytes | None]]) -> pa.RecordBatch:
    keys, values = zip(*rows, strict=True)
    return pa.record_batch([pa.array(keys, pa.binary()), pa.array(values, pa.binary())], names=["key", "value"])


def numbered(numbers: Iterable[int], value: bytes = b"new") -> pa.RecordBatch:
    return batch((b"k%06d" % number, value) for number in numbers)


def written(job: load.Load, number: int, *batches: pa.RecordBatch, sort: bool = False) -> load.Message:
    with job.part(number, sort=sort) as part:
        for rows in batches:
            part.write_arrow(rows)
    return part.message


def left(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*")) if directory.exists() else []


def test_parts_are_loaded_in_one_step(db: esker.DB, tmp_path: Path) -> None:
    db[b"k000001"] = b"old"
    db[b"z"] = b"stays"
    job = load.begin(tmp_path / "load", splits=[b"k000100"], target_file_size=1 << 10)
    job = pickle.loads(pickle.dumps(job))
    messages = [written(job, 1, numbered(range(100, 300))), written(job, 0, numbered(range(100)))]
    assert job.commit(db, pickle.loads(pickle.dumps(messages))) == 300
    assert db[b"k000001"] == b"new" and db[b"z"] == b"stays" and len(list(db)) == 301
    # The tables were linked, and their names outside of the database were removed.
    assert left(job.directory) == ["commit.json", "done.json", "load.json"]
    assert job.resume(db) == 300
    job.abort()
    assert left(tmp_path / "load") == []
    db.verify_checksum()


def test_a_load_begins_once(tmp_path: Path) -> None:
    job = load.begin(tmp_path / "load", splits=[b"m"])
    assert load.open(tmp_path / "load").id == job.id
    with pytest.raises(FileExistsError):
        load.begin(tmp_path / "load")
    with pytest.raises(ValueError, match="ascend"):
        load.begin(tmp_path / "other", splits=[b"m", b"m"])
    with pytest.raises(FileNotFoundError):
        load.open(tmp_path / "other")


def test_splits_are_bounds_of_the_tables_of_the_target(path: Path) -> None:
    with esker.open(path, target_file_size_base=32 << 10, compression="kNoCompression") as db:
        assert load.splits(db, 4) == []
        for number in range(4000):
            db[b"k%06d" % number] = b"v" * 100
        db.compact_range(bottommost_level_compaction="kForce")
        tables = sorted(file["smallest_key"] for file in db.live_files())
        assert len(tables) > 8
        found = load.splits(db, 4)
        assert len(found) == 3 and set(found) < set(tables)
        parts = [load.part_of(b"k%06d" % number, found) for number in range(4000)]
        assert parts == sorted(parts)
        assert all(600 < parts.count(part) < 1400 for part in range(4))
        # A key at a split begins the later part.
        assert [load.part_of(split, found) for split in found] == [1, 2, 3]
        assert len(load.splits(db, 1000)) == len(tables) - 1


def test_one_attempt_of_each_part_counts(db: esker.DB, tmp_path: Path) -> None:
    job = load.begin(tmp_path / "load")
    first = written(job, 0, numbered(range(10), b"first"))
    second = written(job, 0, numbered(range(20), b"second"))
    # The executor of part 1 was lost: its tables exist, and its message did not arrive.
    written(job, 1, numbered(range(50, 60)))
    unfinished = job.part(2)
    unfinished.write_arrow(numbered(range(90, 99)))
    assert job.commit(db, [second, first]) == 20
    assert len(list(db)) == 20 and db[b"k000000"] == b"second"
    unfinished.discard()
    assert left(job.directory) == ["commit.json", "done.json", "load.json"]


def test_a_part_that_fails_leaves_no_table(tmp_path: Path) -> None:
    job = load.begin(tmp_path / "load", target_file_size=32 << 10)
    with pytest.raises(RuntimeError), job.part(0) as part:
        part.write_arrow(numbered(range(30_000)))
        raise RuntimeError
    with pytest.raises(esker.InvalidArgument), job.part(1) as part:
        part.write_arrow(numbered([5, 4]))
    with pytest.raises(esker.InvalidArgument, match="null"), job.part(2) as part:
        part.write_arrow(pa.record_batch([pa.array([None], pa.binary())] * 2, names=["key", "value"]))
    with pytest.raises(esker.InvalidArgument, match="bytes or text"), job.part(3) as part:
        part.write_arrow(pa.record_batch([pa.array([1])] * 2, names=["key", "value"]))
    assert left(job.directory / "parts") == []


def test_an_abort_leaves_nothing(db: esker.DB, tmp_path: Path) -> None:
    job = load.begin(tmp_path / "load")
    written(job, 0, numbered(range(10)))
    job.abort()
    job.abort()
    assert left(tmp_path / "load") == [] and len(list(db)) == 0
    # A task that starts after the abort fails, and writes nothing.
    with pytest.raises(esker.Error), job.part(1) as part:
        part.write_arrow(numbered(range(10)))
    assert left(tmp_path / "load") == []


def test_parts_that_overlap_are_refused(db: esker.DB, tmp_path: Path) -> None:
    job = load.begin(tmp_path / "load")
    # Two parts that overlap: both have the same key.
    messages = [written(job, 0, numbered([1, 2])), written(job, 1, numbered([2, 3]))]
    with pytest.raises(esker.InvalidArgument, match="overlap"):
        job.commit(db, messages)
    assert len(list(db)) == 0 and not (job.directory / "commit.json").exists()
    other = load.begin(tmp_path / "other")
    with pytest.raises(esker.InvalidArgument, match="a part of load"):
        other.commit(db, messages)


def test_a_table_that_was_cut_off_is_refused(db: esker.DB, tmp_path: Path) -> None:
    job = load.begin(tmp_path / "load")
    message = written(job, 0, numbered(range(10)))
    table = job.directory / "parts" / message["files"][0]["name"]
    table.write_bytes(table.read_bytes()[:-1])
    with pytest.raises(esker.Corruption):
        job.commit(db, [message])
    job.abort()


def test_the_last_of_equal_keys_counts(db: esker.DB, tmp_path: Path) -> None:
    job = load.begin(tmp_path / "load")
    rows = [batch([(b"a", b"1"), (b"b", b"1"), (b"b", b"2")]), batch([(b"b", b"3")]), batch([(b"b", b"4"), (b"c", None)])]
    db[b"c"] = b"old"
    unsorted = [batch([(b"y", b"1"), (b"x", b"1")]), batch([(b"x", b"2"), (b"w", b"1")])]
    job.commit(db, [written(job, 0, *rows), written(job, 1, *unsorted, sort=True)])
    assert list(db.items()) == [(b"a", b"1"), (b"b", b"4"), (b"w", b"1"), (b"x", b"2"), (b"y", b"1")]


def test_text_and_fixed_columns_are_bytes(db: esker.DB, tmp_path: Path) -> None:
    job = load.begin(tmp_path / "load")
    rows = pa.table({"k": pa.array(["b", "é", "a"]), "v": pa.array([b"1", b"2", b"3"], pa.binary(1))})
    with job.part(0, sort=True) as part:
        part.write_arrow(rows, key="k", value="v")
    job.commit(db, [part.message])
    assert list(db.items()) == [(b"a", b"3"), (b"b", b"1"), ("é".encode(), b"2")]


def test_skew_and_empty_parts(db: esker.DB, tmp_path: Path) -> None:
    job = load.begin(tmp_path / "load", target_file_size=64 << 10, options={"compression": "kNoCompression"})
    hot = batch([(b"hot", b"%d" % number) for number in range(20_000)])
    wide = numbered(range(20_000), b"v" * 50)
    messages = [written(job, 0), written(job, 1, hot), written(job, 2, wide), written(job, 3)]
    assert [len(message["files"]) for message in messages][0:2] == [0, 1]
    assert len(messages[2]["files"]) > 5
    assert job.commit(db, messages) == 20_001
    assert db[b"hot"] == b"19999"
    nothing = load.begin(tmp_path / "nothing")
    assert nothing.commit(db, []) == 0


def test_a_range_is_replaced(db: esker.DB, tmp_path: Path) -> None:
    for number in range(100):
        db[b"k%06d" % number] = b"old"
    db.compact_range()
    job = load.begin(tmp_path / "load")
    messages = [written(job, 0, numbered(range(20, 40, 5)))]
    job.commit(db, messages, replace=(b"k000020", b"k000050"))
    expected = {b"k%06d" % n: b"old" for n in range(100) if not 20 <= n < 50}
    expected |= {b"k%06d" % n: b"new" for n in range(20, 40, 5)}
    assert dict(db.items()) == expected


DRIVER = """
import os, sys
import esker
from esker import load
from esker._esker import DB

db, directory, dies, marker = sys.argv[1:]
job = load.begin(directory)
with job.part(0) as part:
    for number in range(100):
        part.put(b"k%06d" % number, b"new")
if dies == "before":
    os._exit(3)
kept = load.Load._ingest
def ingest(self, target, plan):
    if dies == "after":
        kept(self, target, plan)
    os._exit(3)
load.Load._ingest = ingest
job.commit(db, [part.message], marker=b"zz load" if marker else None)
"""


def died(path: Path, directory: Path, when: str, marker: str = "") -> load.Load:
    """Runs a driver in a process of its own, which ends without cleaning up."""
    words = [sys.executable, "-c", DRIVER, str(path), str(directory), when, marker]
    assert subprocess.run(words, check=False).returncode == 3
    return load.open(directory)


def test_a_driver_dies_before_the_commit(path: Path, tmp_path: Path) -> None:
    esker.open(path).close()
    job = died(path, tmp_path / "load", "before")
    with pytest.raises(FileNotFoundError):
        job.resume(path)
    job.abort()
    assert left(tmp_path / "load") == []
    with esker.open(path) as db:
        assert len(list(db)) == 0


def test_a_driver_dies_between_the_commit_and_the_ingestion(path: Path, tmp_path: Path) -> None:
    job = died(path, tmp_path / "load", "between")
    with pytest.raises(esker.InvalidArgument, match="resume"):
        job.abort()
    with pytest.raises(esker.InvalidArgument, match="resume"):
        job.commit(path, [])
    assert job.resume(path) == 100
    with esker.open(path) as db:
        assert len(list(db)) == 100


@pytest.mark.parametrize("marker", ["", "yes"])
def test_a_driver_dies_after_the_ingestion(path: Path, tmp_path: Path, marker: str) -> None:
    job = died(path, tmp_path / "load", "after", marker)
    with esker.open(path) as db:
        db[b"k000007"] = b"written since"
    assert job.resume(path) == 100
    with esker.open(path) as db:
        assert len(list(db)) == 100 + bool(marker)
        # With the marker in the database a resumed load knows that the ingestion is complete. Without it, the
        # tables are ingested once more.
        assert db[b"k000007"] == (b"written since" if marker else b"new")
    job.abort()
    assert left(tmp_path / "load") == []


@pytest.mark.parametrize("write", [lambda rows: rows, lambda rows: load.batches(rows)])
def test_rocksdb_reads_what_was_loaded(path: Path, tmp_path: Path, write: Callable[..., Iterable[object]]) -> None:
    rocksdict = pytest.importorskip("rocksdict")
    rows = [(b"k%06d" % number, b"v%d" % number) for number in range(5000)]
    job = load.begin(tmp_path / "load", target_file_size=32 << 10)
    with job.part(0) as part:
        for each in write(rows):
            part.put(*each) if isinstance(each, tuple) else part.write_arrow(each)
    job.commit(path, [part.message])
    database = rocksdict.Rdict(str(path), rocksdict.Options(raw_mode=True))
    assert list(database.items()) == rows
    database.close()


def test_a_load_goes_through_a_bucket(db: esker.DB, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/bucket/load"
    job = load.begin(url, target_file_size=32 << 10, options={"compression": "kNoCompression"})
    assert pickle.loads(pickle.dumps(job)).directory == url
    with pytest.raises(FileExistsError):
        load.begin(url)
    job = load.open(url)
    db[b"k000001"] = b"old"
    messages = [written(job, 0, numbered(range(5000), b"v" * 50)), written(job, 1, numbered(range(5000, 5010)))]
    assert len(messages[0]["files"]) > 2
    # The job gets a second attempt at a part, an attempt that was lost, and an attempt that fails.
    written(job, 0, numbered(range(5000)))
    lost = job.part(2)
    lost.write_arrow(numbered(range(90, 99)))
    with pytest.raises(RuntimeError), job.part(3) as part:
        part.write_arrow(numbered(range(30_000), b"v" * 50))
        raise RuntimeError
    assert not [name for name in left(tmp_path / "bucket/load/parts") if "part-00003" in name]
    assert job.commit(db, messages, marker=b"zz") == 5010
    assert len(list(db)) == 5011 and db[b"k000001"] == b"v" * 50
    # The local copies of the tables and the objects of the bucket are removed.
    assert not list(tmp_path.glob("esker-load-*"))
    assert left(tmp_path / "bucket/load") == ["commit.json", "done.json", "load.json"]
    assert job.resume(db) == 5010
    lost.discard()
    job.abort()
    assert left(tmp_path / "bucket") == []


def test_a_task_that_outlives_its_load_leaves_no_object(tmp_path: Path) -> None:
    job = load.begin(f"file://{tmp_path}/bucket/load")
    late = job.part(0)
    late.write_arrow(numbered(range(10)))
    job.abort()
    with pytest.raises(OSError), late:
        pass
    assert left(tmp_path / "bucket") == []
    directory = load.begin(tmp_path / "load")
    late = directory.part(0)
    late.write_arrow(numbered(range(10)))
    directory.abort()
    # The abort of the load removed the table of the task that was still running.
    with late:
        pass
    assert left(tmp_path / "load") == []


@pytest.mark.parametrize("dies", ["before", "between", "after"])
def test_a_driver_of_a_bucket_dies(path: Path, tmp_path: Path, dies: str) -> None:
    url = f"file://{tmp_path}/bucket/load"
    words = [sys.executable, "-c", DRIVER, str(path), url, dies, "yes"]
    assert subprocess.run(words, check=False).returncode == 3
    job = load.open(url)
    if dies == "before":
        with pytest.raises(FileNotFoundError):
            job.resume(path)
    else:
        with esker.open(path) as db:
            db[b"k000007"] = b"written since"
        assert job.resume(path) == 100
        with esker.open(path) as db:
            assert db[b"k000007"] == (b"written since" if dies == "after" else b"new")
    job.abort()
    assert left(tmp_path / "bucket") == []
