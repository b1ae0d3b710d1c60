"""Databases that RocksDB wrote, one per feature, and the rows that RocksDB reads from them: see
`docs/format/fixtures.md`."""

from __future__ import annotations

import shutil
from pathlib import Path

import esker
import pytest

HOME = Path(__file__).parents[3] / "testdata/rocksdb-11.9"
NAMES = sorted(path.name for path in HOME.iterdir() if path.is_dir()) if HOME.is_dir() else []

# The timestamp at which the tests read, as in the program that wrote the database with RocksDB.
TIMESTAMP = (400).to_bytes(8, "little")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("read_only", [True, False])
def test_every_row_is_what_rocksdb_shows(name: str, read_only: bool, tmp_path: Path) -> None:
    expected: dict[str, list[tuple[bytes, bytes]]] = {}
    for line in (HOME / f"{name}.expected.tsv").read_text().splitlines():
        family, key, value = line.split("\t")[:3]
        expected.setdefault(family, []).append((bytes.fromhex(key), bytes.fromhex(value)))
    copy = tmp_path / name
    shutil.copytree(HOME / name, copy)
    with esker.DB(copy, read_only=read_only, load_options=True) as db:
        for family in db.column_families():
            reader = db.column_family(family)
            rows = expected.pop(family, [])
            options = {"timestamp": TIMESTAMP} if name == "user_timestamps" else {}
            assert list(reader.items(**options)) == rows  # type: ignore[arg-type]
            assert list(reader.items(reverse=True, **options)) == rows[::-1]  # type: ignore[arg-type]
            keys = [key for key, _ in rows[::7]]
            assert reader.multi_get(keys, **options) == [value for _, value in rows[::7]]  # type: ignore[arg-type]
    assert not expected
