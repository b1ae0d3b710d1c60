"""Columns through the Arrow C data interface, read and written by pyarrow."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import esker
import pytest

pa: Any = pytest.importorskip("pyarrow")


@pytest.fixture
def rows(db: esker.DB) -> list[tuple[bytes, bytes]]:
    rows = [(b"%05d" % number, b"x" * (number % 50)) for number in range(2000)]
    db.update(rows)
    db.flush()
    return rows


def test_multi_get_is_one_array(db: esker.DB) -> None:
    db.update({b"a": b"1", b"b": b"", b"c": b"333"})
    array = pa.array(db.multi_get_arrow([b"a", b"none", b"b", b"c"]))
    array.validate(full=True)
    assert array.type == pa.binary() and array.to_pylist() == [b"1", None, b"", b"333"]
    assert len(pa.array(db.multi_get_arrow([]))) == 0


def test_a_scan_is_a_stream_of_batches(db: esker.DB, rows: list[tuple[bytes, bytes]]) -> None:
    reader = pa.RecordBatchReader.from_stream(db.scan_arrow(batch_rows=300))
    assert reader.schema == pa.schema([pa.field("key", pa.binary(), False), pa.field("value", pa.binary(), False)])
    batches = list(reader)
    assert [batch.num_rows for batch in batches] == [300] * 6 + [200]
    table = pa.Table.from_batches(batches)
    table.validate(full=True)
    assert list(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)) == rows


def test_ranges_and_columns_of_a_scan(db: esker.DB, rows: list[tuple[bytes, bytes]]) -> None:
    table = pa.table(db.scan_arrow(b"00010", b"00013", reverse=True))
    assert table["key"].to_pylist() == [b"00012", b"00011", b"00010"]
    keys = pa.table(db.scan_arrow(prefix=b"0001", columns=["key"]))
    assert keys.column_names == ["key"] and keys.num_rows == 10
    assert pa.table(db.scan_arrow(b"x")).num_rows == 0
    small = pa.RecordBatchReader.from_stream(db.scan_arrow(columns=["value"], batch_bytes=100))
    assert sum(batch.num_rows for batch in small) == len(rows)
    with pytest.raises(ValueError):
        db.scan_arrow(columns=["nonsense"])
    with pytest.raises(ValueError):
        db.scan_arrow(columns=[])


def test_a_stream_is_read_once_and_sees_its_moment(db: esker.DB, rows: list[tuple[bytes, bytes]]) -> None:
    stream = db.scan_arrow()
    db.delete_range(b"0", b"9")
    assert pa.table(stream).num_rows == len(rows)
    with pytest.raises(ValueError):
        pa.table(stream)
    assert pa.table(db.scan_arrow()).num_rows == 0


def test_a_stream_keeps_the_database_open_and_fails_when_it_is_closed(path: Path) -> None:
    db = esker.open(path)
    db.update({b"%04d" % number: b"" for number in range(1000)})
    reader = pa.RecordBatchReader.from_stream(db.scan_arrow(batch_rows=10))
    assert reader.read_next_batch().num_rows == 10
    del db
    gc.collect()
    with pytest.raises(esker.LockHeld):
        esker.open(path)
    assert reader.read_next_batch().num_rows == 10
    del reader
    gc.collect()
    db = esker.open(path)
    reader = pa.RecordBatchReader.from_stream(db.scan_arrow(batch_rows=10))
    array = pa.array(db.multi_get_arrow([b"0001"]))
    db.close()
    with pytest.raises(OSError, match="Shutdown in progress"):
        reader.read_all()
    assert array.to_pylist() == [b""]


def test_tables_batches_and_streams_are_written(db: esker.DB) -> None:
    table = pa.table({"key": pa.array([b"a", b"b", b"c"]), "value": pa.array([b"1", b"2", b"3"])})
    assert db.write_arrow(table) == 3
    assert list(db.items()) == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    batch = pa.record_batch({"k": ["x", "y"], "v": ["1", None]})
    db[b"y"] = b"goes"
    assert db.write_arrow(batch, key="k", value="v", sync=True) == 2
    assert db[b"x"] == b"1" and b"y" not in db

    def batches() -> Iterator[Any]:
        for number in range(5):
            yield pa.record_batch({"key": [b"n%d" % number], "value": [b"v"]}, schema=table.schema)

    reader = pa.RecordBatchReader.from_batches(table.schema, batches())
    assert db.write_arrow(reader) == 5 and len(list(db.keys(prefix=b"n"))) == 5


@pytest.mark.parametrize(
    "type", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2), pa.string(), pa.large_string(), pa.string_view()]
)
def test_every_type_of_bytes_and_text_is_written(db: esker.DB, type: Any) -> None:
    keys = pa.array([b"k1", b"k2", b"k3", b"k4"], pa.binary()).cast(type) if type != pa.binary(2) else pa.array(
        [b"k1", b"k2", b"k3", b"k4"], type
    )
    table = pa.table({"key": keys, "value": pa.array([b"1", b"2", b"3", b"4"])}).slice(1, 2)
    assert db.write_arrow(table) == 2
    assert list(db.items()) == [(b"k2", b"2"), (b"k3", b"3")]


def test_what_is_no_table_is_refused(db: esker.DB) -> None:
    with pytest.raises(TypeError):
        db.write_arrow([(b"k", b"v")])
    with pytest.raises(esker.InvalidArgument, match="no column"):
        db.write_arrow(pa.table({"key": [b"k"]}))
    with pytest.raises(esker.InvalidArgument, match="neither bytes nor text"):
        db.write_arrow(pa.table({"key": [1], "value": [b""]}))
    with pytest.raises(esker.InvalidArgument, match="null"):
        db.write_arrow(pa.table({"key": [b"a", None], "value": [b"", b""]}))
    with pytest.raises((TypeError, ValueError)):
        db.write_arrow(pa.array([b"k"]))
    assert list(db) == []


def test_a_producer_that_raises_is_an_error(db: esker.DB) -> None:
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])

    def batches() -> Iterator[Any]:
        yield pa.record_batch({"key": [b"a"], "value": [b"v"]}, schema=schema)
        raise LookupError("no more")

    with pytest.raises(esker.InvalidArgument, match="no more"):
        db.write_arrow(pa.RecordBatchReader.from_batches(schema, batches()))
    assert list(db) == [b"a"]


def test_rows_go_from_database_to_database(db: esker.DB, rows: list[tuple[bytes, bytes]], tmp_path: Path) -> None:
    with esker.open(tmp_path / "copy") as copy:
        assert copy.write_arrow(db.scan_arrow(batch_rows=100)) == len(rows)
        assert list(copy.items()) == rows


def test_pyarrow_is_not_needed(path: Path) -> None:
    program = """
import sys
sys.modules["pyarrow"] = None
import esker
with esker.open(sys.argv[1]) as one, esker.open(sys.argv[1] + "2") as two:
    one[b"k"] = b"v"
    two.write_arrow(one.scan_arrow())
    assert two[b"k"] == b"v"
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
