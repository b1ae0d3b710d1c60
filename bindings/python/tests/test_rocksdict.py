"""One directory, opened by esker and by RocksDB (the wheel rocksdict) in turns: each reads the other's
rows."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import esker
import pytest

rocksdict: Any = pytest.importorskip("rocksdict")

ROUNDS = int(os.environ.get("ESKER_ROCKSDICT_ROUNDS", "6"))

# Settings of both engines, by their text in an OPTIONS file. Each round chooses from them.
COMPRESSIONS = ["kNoCompression", "kSnappyCompression", "kLZ4Compression", "kZSTD"]


def rocksdb(path: Path, chance: random.Random) -> Any:
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(64 << 10)
    kind = {
        "kNoCompression": rocksdict.DBCompressionType.none,
        "kSnappyCompression": rocksdict.DBCompressionType.snappy,
        "kLZ4Compression": rocksdict.DBCompressionType.lz4,
        "kZSTD": rocksdict.DBCompressionType.zstd,
    }[chance.choice(COMPRESSIONS)]
    options.set_compression_type(kind())
    table = rocksdict.BlockBasedOptions()
    table.set_block_size(chance.choice([512, 4096]))
    if chance.random() < 0.5:
        table.set_bloom_filter(10, False)
    options.set_block_based_table_factory(table)
    return rocksdict.Rdict(str(path), options)


def ours(path: Path, chance: random.Random) -> esker.DB:
    return esker.open(
        path,
        write_buffer_size=64 << 10,
        compression=chance.choice(COMPRESSIONS),
        block_size=chance.choice([512, 4096]),
        filter_policy=chance.choice(["nullptr", "bloomfilter:10:false"]),
    )


def drawn(chance: random.Random) -> tuple[list[tuple[bytes, bytes]], list[bytes]]:
    """Returns rows to put and keys to delete."""

    def key() -> bytes:
        return b"%04d" % chance.randrange(800)

    puts = [(key(), chance.randbytes(chance.randrange(300))) for _ in range(400)]
    return puts, [key() for _ in range(60)]


def apply(database: Any, model: dict[bytes, bytes], chance: random.Random) -> None:
    puts, deletes = drawn(chance)
    for key, value in puts:
        database[key] = value
        model[key] = value
    for key in deletes:
        if key in model:
            del database[key]
            del model[key]
    if chance.random() < 0.5:
        database.flush()


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_turns_over_one_directory(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    model: dict[bytes, bytes] = {}
    for turn in range(6):
        if (turn + seed) % 2:
            with ours(path, chance) as db:
                assert list(db.items()) == sorted(model.items())
                apply(db, model, chance)
                if chance.random() < 0.3:
                    db.compact_range()
                if chance.random() < 0.3:
                    start, stop = sorted([b"%04d" % chance.randrange(800), b"%04d" % chance.randrange(800)])
                    db.delete_range(start, stop)
                    model = {key: value for key, value in model.items() if not start <= key < stop}
        else:
            database = rocksdb(path, chance)
            assert list(database.items()) == sorted(model.items())
            for key in chance.sample(sorted(model), min(len(model), 30)):
                assert database[key] == model[key]
            apply(database, model, chance)
            database.close()
    with ours(path, chance) as db:
        db.verify_checksum()
        assert list(db.items(reverse=True)) == sorted(model.items(), reverse=True)


def test_families_are_shared(path: Path) -> None:
    with esker.open(path) as db:
        db[b"k"] = b"default"
        db.create_column_family("other")[b"k"] = b"of ours"
    options = rocksdict.Options(raw_mode=True)
    families = rocksdict.Rdict.list_cf(str(path), options)
    assert sorted(families) == ["default", "other"]
    database = rocksdict.Rdict(str(path), options, {name: options for name in families})
    other = database.get_column_family("other")
    assert database[b"k"] == b"default" and other[b"k"] == b"of ours"
    other[b"k2"] = b"of RocksDB"
    other.close()
    database.close()
    with esker.DB(path) as db:
        assert dict(db.column_family("other").items()) == {b"k": b"of ours", b"k2": b"of RocksDB"}


def test_tables_are_ingested_either_way(path: Path, tmp_path: Path) -> None:
    with esker.SstFileWriter(tmp_path / "ours.sst", compression="kZSTD") as writer:
        for number in range(500):
            writer.put(b"o%04d" % number, b"ours")
    theirs = rocksdict.SstFileWriter(options=rocksdict.Options(raw_mode=True))
    theirs.open(str(tmp_path / "theirs.sst"))
    for number in range(500):
        theirs[b"t%04d" % number] = b"theirs"
    theirs.finish()
    with esker.open(path) as db:
        db.ingest([tmp_path / "theirs.sst"])
        assert db[b"t0499"] == b"theirs" and len(list(db)) == 500
    database = rocksdict.Rdict(str(path), rocksdict.Options(raw_mode=True))
    database.ingest_external_file([str(tmp_path / "ours.sst")])
    assert database[b"o0000"] == b"ours" and len(list(database.items())) == 1000
    database.close()


def test_a_checkpoint_and_a_backup_are_rocksdbs(path: Path, tmp_path: Path) -> None:
    with esker.open(path) as db, esker.BackupEngine(tmp_path / "backups") as engine:
        db.update({b"%d" % number: b"v" for number in range(100)})
        db.checkpoint(tmp_path / "checkpoint")
        engine.create_backup(db)
        engine.restore(tmp_path / "restored")
    for name in ("checkpoint", "restored"):
        database = rocksdict.Rdict(str(tmp_path / name), rocksdict.Options(raw_mode=True))
        assert len(list(database.items())) == 100
        database.close()


def test_built_in_merges_are_rocksdbs(path: Path) -> None:
    with esker.open(path, merge_operator=esker.merge.uint64add) as db:
        db.merge(b"n", (1).to_bytes(8, "little"))
        db.merge(b"n", (2).to_bytes(8, "little"))
        db.compact_range()
    database = rocksdict.Rdict(str(path), rocksdict.Options(raw_mode=True))
    assert database[b"n"] == (3).to_bytes(8, "little")
    database.close()
