"""Ingested tables, checkpoints, backups, repair, secondaries."""

from __future__ import annotations

from pathlib import Path

import esker
import pytest


def test_a_table_is_written_and_ingested(db: esker.DB, tmp_path: Path) -> None:
    with esker.SstFileWriter(tmp_path / "one.sst", compression="kZSTD") as writer:
        for number in range(100):
            writer.put(b"%03d" % number, b"v")
        with pytest.raises(esker.InvalidArgument):
            writer.put(b"000", b"out of order")
        assert writer.file_size >= 0
    writer = esker.SstFileWriter(tmp_path / "two.sst")
    writer[b"a"] = b"1"
    writer.delete(b"b")
    writer.delete_range(b"c", b"d")
    info = writer.finish()
    assert info["num_entries"] == 2 and info["smallest_key"] == b"a" and info["num_range_del_entries"] == 1
    with pytest.raises(esker.InvalidArgument):
        writer.finish()
    db.update({b"b": b"old", b"c": b"old", b"050": b"old"})
    db.ingest([tmp_path / "one.sst", str(tmp_path / "two.sst")], move_files=True)
    assert not (tmp_path / "one.sst").exists()
    assert db[b"a"] == b"1" and b"b" not in db and b"c" not in db and db[b"050"] == b"v"
    assert len(list(db)) == 101
    with pytest.raises(TypeError):
        db.ingest([], nonsense=True)


def test_a_table_that_fails_is_removed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), esker.SstFileWriter(tmp_path / "one.sst") as writer:
        writer.put(b"k", b"v")
        raise RuntimeError
    assert not (tmp_path / "one.sst").exists()


def test_a_checkpoint_is_a_database(db: esker.DB, tmp_path: Path) -> None:
    db[b"k"] = b"v"
    assert db.checkpoint(tmp_path / "copy") == db.latest_sequence_number
    db[b"k"] = b"later"
    with esker.DB(tmp_path / "copy") as copy:
        assert copy[b"k"] == b"v" and copy.identity == db.identity
    with pytest.raises(esker.InvalidArgument):
        db.checkpoint(tmp_path / "copy")


def test_backups(db: esker.DB, tmp_path: Path) -> None:
    with esker.BackupEngine(tmp_path / "backups", sync=False) as engine:
        db[b"k"] = b"1"
        assert engine.create_backup(db, app_metadata=b"first") == 1
        db[b"k"] = b"2"
        assert engine.create_backup(db, flush_before_backup=True) == 2
        first, second = engine.backups()
        assert first["app_metadata"] == b"first" and second["sequence_number"] == db.latest_sequence_number
        engine.verify(2, verify_with_checksum=True)
        engine.restore(tmp_path / "one", 1)
        engine.restore(tmp_path / "two")
        engine.delete_backup(1)
        engine.create_backup(db)
        engine.purge_old_backups(1)
        assert [backup["backup_id"] for backup in engine.backups()] == [3]
        with pytest.raises(esker.NotFound):
            engine.verify(1)
        with pytest.raises(esker.LockHeld):
            esker.BackupEngine(tmp_path / "backups")
        assert len(esker.BackupEngine(tmp_path / "backups", read_only=True).backups()) == 1
    for name, value in (("one", b"1"), ("two", b"2")):
        with esker.DB(tmp_path / name) as restored:
            assert restored[b"k"] == value


def test_a_secondary_follows(db: esker.DB, path: Path, tmp_path: Path) -> None:
    db[b"k"] = b"1"
    with esker.DB(path, secondary_path=tmp_path / "own") as secondary:
        assert secondary[b"k"] == b"1"
        db[b"k"] = b"2"
        assert secondary[b"k"] == b"1"
        secondary.try_catch_up_with_primary()
        assert secondary[b"k"] == b"2"


def test_repair(path: Path) -> None:
    with esker.open(path) as db:
        db[b"k"] = b"v"
        db.flush()
        db.verify_checksum()
    (path / "CURRENT").unlink()
    with pytest.raises(esker.Error):
        esker.DB(path)
    esker.repair(path)
    with esker.DB(path) as db:
        assert db[b"k"] == b"v"
