"""A database as a mapping: reads, writes, ranges, cursors."""

from __future__ import annotations

import gc
from pathlib import Path

import esker
import pytest


def filled(db: esker.DB, keys: str = "abcde") -> esker.DB:
    for key in keys:
        db[key.encode()] = key.upper().encode()
    return db


def test_a_database_is_a_mapping(db: esker.DB) -> None:
    db[b"key"] = b"value"
    assert db[b"key"] == b"value"
    assert db.get(b"key") == b"value"
    assert b"key" in db and b"other" not in db
    assert db.get(b"other") is None and db.get(b"other", b"x") == b"x"
    with pytest.raises(KeyError) as raised:
        db[b"other"]
    assert raised.value.args == (b"other",)
    del db[b"key"]
    assert b"key" not in db
    del db[b"key"]
    assert bool(db)


def test_len_is_the_propertys_estimate(db: esker.DB) -> None:
    filled(db)
    assert len(db) == 5 == db.property("rocksdb.estimate-num-keys")
    db[b"a"] = b"again"
    assert len(db) == 6
    db.compact_range()
    assert len(db) == 5


def test_bytes_like_objects_come_in_and_bytes_come_out(db: esker.DB) -> None:
    import array

    db[bytearray(b"one")] = memoryview(b"1")
    assert db[memoryview(b"xonex")[1:4]] == b"1"
    db.put(b"array", array.array("H", [1, 256]))
    assert db[b"array"] == bytes([1, 0, 0, 1])
    for wrong in ("text", 5, None, ["list"]):
        with pytest.raises(TypeError):
            db.get(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            db[b"key"] = wrong  # type: ignore[assignment]
    assert b"key" not in db


def test_every_kind_of_write(path: Path) -> None:
    with esker.open(path, merge_operator=esker.merge.string_append(b"+")) as db:
        db.merge(b"sum", b"1")
        db.merge(b"sum", b"2", sync=True)
        assert db[b"sum"] == b"1+2"
        db.put(b"once", b"x")
        db.single_delete(b"once")
        assert b"once" not in db
        filled(db)
        db.delete_range(b"b", b"d", disable_wal=False)
        assert list(db.keys()) == [b"a", b"d", b"e", b"sum"]
        db.update({b"x": b"1", b"y": b"2"})
        db.update([(b"z", b"3")])
        assert db.multi_get([b"z", b"none", b"x"]) == [b"3", None, b"1"]
        assert db.key_may_exist(b"x") and not db.key_may_exist(b"never")
        assert db.first() == (b"a", b"A") and db.last() == (b"z", b"3")


def test_ranges(db: esker.DB) -> None:
    filled(db)
    assert list(db) == [b"a", b"b", b"c", b"d", b"e"]
    assert list(reversed(db)) == [b"e", b"d", b"c", b"b", b"a"]
    assert list(db.items(b"b", b"d")) == [(b"b", b"B"), (b"c", b"C")]
    assert list(db.keys(b"b", b"d", include_start=False, include_stop=True)) == [b"c", b"d"]
    assert list(db.values(b"b", b"d", reverse=True)) == [b"C", b"B"]
    assert list(db.keys(stop=b"c", reverse=True)) == [b"b", b"a"]
    assert list(db.keys(b"d")) == [b"d", b"e"]
    assert list(db.keys(b"x")) == [] and list(db.keys(b"d", b"b")) == []


def test_prefixes(db: esker.DB) -> None:
    for key in (b"a", b"ab", b"abc", b"b", b"\xff", b"\xff\xff", b"\xff\xff\x01"):
        db[key] = b""
    assert list(db.keys(prefix=b"ab")) == [b"ab", b"abc"]
    assert list(db.keys(prefix=b"a", reverse=True)) == [b"abc", b"ab", b"a"]
    assert list(db.keys(prefix=b"\xff\xff")) == [b"\xff\xff", b"\xff\xff\x01"]
    assert len(list(db.keys(prefix=b""))) == 7
    with pytest.raises(TypeError):
        db.keys(b"a", prefix=b"a")


def test_a_long_scan_in_both_directions(db: esker.DB) -> None:
    rows = [(b"%06d" % number, b"%d" % number * (number % 40)) for number in range(5000)]
    db.update(rows)
    db.flush()
    assert list(db.items()) == rows
    assert list(db.items(reverse=True)) == rows[::-1]
    scan = db.items()
    assert next(scan) == rows[0]
    assert scan.read(3000) == rows[1:3001]
    assert list(scan) == rows[3001:]
    assert scan.read(5) == [] and list(scan) == []


def test_a_scan_sees_the_moment_it_was_made(db: esker.DB) -> None:
    filled(db)
    scan = db.keys()
    db[b"c1"] = b""
    del db[b"d"]
    assert list(scan) == [b"a", b"b", b"c", b"d", b"e"]


def test_a_cursor_moves(db: esker.DB) -> None:
    filled(db)
    with db.cursor() as cursor:
        assert not cursor.valid
        with pytest.raises(esker.InvalidArgument):
            cursor.key
        with pytest.raises(esker.InvalidArgument):
            cursor.next()
        assert cursor.seek(b"bb") and cursor.item == (b"c", b"C")
        assert cursor.next() and cursor.key == b"d"
        assert cursor.prev() and cursor.prev() and cursor.value == b"B"
        assert cursor.seek_for_prev(b"cc") and cursor.key == b"c"
        assert cursor.seek_to_last() and not cursor.next() and not cursor.valid
        assert cursor.seek_to_first() and cursor.key == b"a"
        db[b"0"] = b""
        assert cursor.seek_to_first() and cursor.key == b"a"
        cursor.refresh()
        assert cursor.seek_to_first() and cursor.key == b"0"
    with pytest.raises(esker.InvalidArgument):
        cursor.seek_to_first()
    bounded = db.cursor(b"b", b"d")
    assert bounded.seek_to_first() and bounded.key == b"b"
    assert bounded.seek_to_last() and bounded.key == b"c"


def test_snapshots(db: esker.DB) -> None:
    filled(db)
    other = db.create_column_family("other")
    other[b"k"] = b"before"
    with db.snapshot() as snapshot:
        db[b"a"] = b"new"
        other[b"k"] = b"after"
        del db[b"b"]
        assert snapshot[b"a"] == b"A" and db[b"a"] == b"new"
        assert list(snapshot) == [b"a", b"b", b"c", b"d", b"e"]
        assert snapshot.multi_get([b"b"]) == [b"B"]
        assert snapshot.column_family("other")[b"k"] == b"before"
        assert db.get(b"b", snapshot=snapshot) == b"B"
        cursor = snapshot.cursor()
        assert snapshot.sequence_number < db.latest_sequence_number
    with pytest.raises(ValueError):
        snapshot.get(b"a")
    assert cursor.seek(b"b") and cursor.value == b"B"


def test_cursors_hold_or_refresh(db: esker.DB) -> None:
    def held() -> int:
        return db.property("rocksdb.size-all-mem-tables") - db.property("rocksdb.cur-size-all-mem-tables")

    filled(db)
    with db.snapshot() as snapshot:
        for refreshes, create in (
            (False, lambda: snapshot.cursor()),
            (False, lambda: db.cursor(snapshot=snapshot)),
            (True, lambda: snapshot.cursor(auto_refresh_iterator_with_snapshot=True)),
            (True, lambda: db.cursor(snapshot=snapshot, auto_refresh_iterator_with_snapshot=True)),
        ):
            filled(db)
            cursor = create()
            assert cursor.seek_to_first()
            db.flush()
            assert held() > 0
            assert cursor.next() and cursor.key == b"b"
            # The thread that flushed may hold the memtable for a moment longer.
            for _ in range(1_000_000):
                if not refreshes or held() == 0:
                    break
            assert (held() == 0) == refreshes
            cursor.close()


def test_column_families(path: Path) -> None:
    with esker.open(path) as db:
        one = db.create_column_family("one", write_buffer_size=1 << 20)
        one[b"k"] = b"1"
        db[b"k"] = b"0"
        assert sorted(db.column_families()) == ["default", "one"]
        assert one.name == "one" and one.id == 1 and db.name == "default"
        assert one.options["write_buffer_size"] == str(1 << 20)
        assert db.column_family("one")[b"k"] == b"1"
        with pytest.raises(esker.InvalidArgument):
            db.column_family("none")
    assert sorted(esker.list_column_families(path)) == ["default", "one"]
    with esker.DB(path, column_families={"one": {"write_buffer_size": 2 << 20}, "two": None},
                  create_missing_column_families=True) as db:
        assert db.column_family("one").options["write_buffer_size"] == str(2 << 20)
        assert db.column_family("one")[b"k"] == b"1"
        two = db.column_family("two")
        two[b"k"] = b"2"
        db.drop_column_family("two")
        with pytest.raises(esker.ColumnFamilyDropped):
            two[b"k"] = b"3"
        assert two[b"k"] == b"2"


def test_a_write_batch_is_a_block(db: esker.DB) -> None:
    other = db.create_column_family("other")
    with db.write_batch(sync=True) as batch:
        batch.put(b"a", b"1")
        batch[b"b"] = b"2"
        batch.put(b"a", b"in other", column_family=other)
        del batch[b"b"]
        assert len(batch) == 4 and b"a" not in db
    assert db[b"a"] == b"1" and b"b" not in db and other[b"a"] == b"in other"
    with pytest.raises(RuntimeError), db.write_batch() as batch:
        batch.put(b"c", b"3")
        raise RuntimeError
    assert b"c" not in db and len(batch) == 0
    with other.write_batch() as batch:
        batch.put(b"c", b"3")
    assert other[b"c"] == b"3" and b"c" not in db


def test_a_write_batch_of_its_own(db: esker.DB) -> None:
    filled(db)
    batch = esker.WriteBatch()
    batch.put(b"x", b"1")
    batch.set_save_point()
    batch.delete_range(b"a", b"z")
    batch.rollback_to_save_point()
    with pytest.raises(esker.NotFound):
        batch.rollback_to_save_point()
    copy = esker.WriteBatch.from_data(batch.data)
    copy.append(batch)
    copy.put_log_data(b"note")
    db.write(copy)
    assert len(copy) == 2 and db[b"x"] == b"1" and b"a" in db
    with pytest.raises(esker.InvalidArgument):
        batch.write()
    with pytest.raises(esker.Corruption):
        esker.WriteBatch.from_data(b"short")


def test_a_part_with_a_prefix(db: esker.DB) -> None:
    users = esker.Prefixed(db, b"user/")
    users[b"ann"] = b"1"
    users.put(b"bob", b"2")
    users.prefixed(b"x/")[b"y"] = b"3"
    db[b"user0"] = b"behind"
    db[b"use"] = b"before"
    assert db[b"user/ann"] == b"1" and users[b"bob"] == b"2" and b"ann" in users
    assert list(users) == [b"ann", b"bob", b"x/y"]
    assert list(users.items(b"b")) == [(b"bob", b"2"), (b"x/y", b"3")]
    assert list(users.keys(stop=b"bob", include_stop=True, reverse=True)) == [b"bob", b"ann"]
    assert list(users.values(prefix=b"x")) == [b"3"]
    del users[b"ann"]
    with pytest.raises(KeyError):
        users[b"ann"]


def test_closing_under_an_iterator_is_an_error(path: Path) -> None:
    db = filled(esker.open(path))
    scan, cursor, snapshot, batch = db.items(), db.cursor(), db.snapshot(), db.write_batch()
    assert next(scan) == (b"a", b"A") and cursor.seek_to_first()
    batch.put(b"k", b"v")
    db.close()
    db.close()
    assert db.closed
    calls = [
        lambda: next(scan),
        cursor.next,
        lambda: cursor.seek(b"a"),
        lambda: db.get(b"a"),
        lambda: db.put(b"a", b""),
        lambda: snapshot.get(b"a"),
        lambda: len(db),
        lambda: list(db),
        batch.write,
        db.snapshot,
        db.flush,
        db.compact_range,
        lambda: db.column_family("default"),
        db.write_batch,
        db.properties,
    ]
    for call in calls:
        with pytest.raises(esker.ShutdownInProgress) as raised:
            call()
        assert str(raised.value).startswith("Shutdown in progress")
    esker.open(path).close()


def test_what_came_from_a_database_keeps_it_open(path: Path) -> None:
    db = filled(esker.open(path))
    scan, cursor, snapshot = db.items(), db.cursor(), db.snapshot()
    del db
    gc.collect()
    assert len(list(scan)) == 5 and cursor.seek_to_last() and snapshot[b"a"] == b"A"
    with pytest.raises(esker.LockHeld):
        esker.open(path)
    del scan, cursor, snapshot
    gc.collect()
    esker.open(path).close()


def test_the_directory_is_free_after_the_block(path: Path) -> None:
    with esker.open(path) as db:
        db[b"k"] = b"v"
    with esker.DB(path, read_only=True) as db:
        assert db[b"k"] == b"v"
        with pytest.raises(esker.NotSupported):
            db[b"k"] = b"w"
    esker.destroy(path)
    with pytest.raises(esker.NoDatabase):
        esker.DB(path)
    assert issubclass(esker.NoDatabase, esker.InvalidArgument)


def test_errors_are_rocksdbs(path: Path) -> None:
    with pytest.raises(esker.Error) as raised:
        esker.DB(path / "none" / "deeper")
    error = raised.value
    assert isinstance(error, (esker.InvalidArgument, esker.IOError)) and error.kind
    assert issubclass(esker.InvalidArgument, ValueError) and issubclass(esker.IOError, OSError)
    with esker.open(path) as db:
        with pytest.raises(esker.InvalidArgument):
            db.delete_range(b"b", b"a")
        with pytest.raises(TypeError, match="read option"):
            db.get(b"k", nonsense=True)
        with pytest.raises(TypeError, match="write option"):
            db.put(b"k", b"v", nonsense=True)
        db[b"k"] = b"v"
        db.flush()
        table = Path(db.live_files()[0]["path"])
    whole = bytearray(table.read_bytes())
    whole[1] ^= 0xFF
    table.write_bytes(whole)
    with esker.DB(path) as db, pytest.raises(esker.Corruption) as raised:
        db.get(b"k")
    assert raised.value.file == str(table) and raised.value.kind == "Corruption"
