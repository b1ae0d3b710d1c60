"""The rows of a loaded database, as Esker and as RocksDB's ldb read them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import esker


def rows_of(path: Path) -> dict[bytes, bytes]:
    """Returns the rows of the database. Where ldb is installed, it must find the same ones in the same order."""
    with esker.DB(path) as db:
        rows = list(db.items())
    if shutil.which("ldb"):
        assert by_ldb(path) == rows
    elif os.environ.get("CI"):
        raise AssertionError("ldb is missing: install rocksdb-tools")
    return dict(rows)


def by_ldb(path: Path) -> list[tuple[bytes, bytes]]:
    """Returns the rows that ``ldb scan`` prints, as ``0xKEY : 0xVALUE`` or with an arrow between them."""
    words = ["ldb", f"--db={path}", "scan", "--hex"]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    pairs = (line.replace(" ==> ", " : ").split(" : ") for line in lines)
    return [(bytes.fromhex(key[2:]), bytes.fromhex(value[2:])) for key, value in pairs]
