"""Esker: an embedded key-value store that opens and writes RocksDB databases.

A database is a mutable mapping of bytes to bytes in the order of its keys::

    import esker

    with esker.open("path") as db:
        db[b"key"] = b"value"
        for key, value in db.items(prefix=b"k"):
            ...

`DB` takes RocksDB's options by name, with RocksDB's defaults; `open` is the same but creates a database that is not there.
"""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING, Unpack

from esker import errors, merge
from esker._esker import (
    DB,
    Cache,
    ColumnFamily,
    Cursor,
    MergeOperator,
    RateLimiter,
    Reader,
    Scan,
    Snapshot,
    Statistics,
    WriteBatch,
    WriteBufferManager,
    _close_all,
    destroy,
    list_column_families,
    load_options,
    repair,
)
from esker.errors import (
    Aborted,
    Busy,
    ColumnFamilyDropped,
    Corruption,
    Error,
    Expired,
    Incomplete,
    InvalidArgument,
    IOError,
    LockHeld,
    MergeFailed,
    NoSpace,
    NotFound,
    NotSupported,
    Panicked,
    ReadOnly,
    ShutdownInProgress,
    TimedOut,
    TryAgain,
)
from esker.prefixed import Prefixed

if TYPE_CHECKING:
    from esker.options import Options

__all__ = [
    "DB",
    "Aborted",
    "Busy",
    "Cache",
    "ColumnFamily",
    "ColumnFamilyDropped",
    "Corruption",
    "Cursor",
    "Error",
    "Expired",
    "IOError",
    "Incomplete",
    "InvalidArgument",
    "LockHeld",
    "MergeFailed",
    "MergeOperator",
    "NoSpace",
    "NotFound",
    "NotSupported",
    "Panicked",
    "Prefixed",
    "RateLimiter",
    "ReadOnly",
    "Reader",
    "Scan",
    "ShutdownInProgress",
    "Snapshot",
    "Statistics",
    "TimedOut",
    "TryAgain",
    "WriteBatch",
    "WriteBufferManager",
    "destroy",
    "errors",
    "list_column_families",
    "load_options",
    "merge",
    "open",
    "repair",
]


def open(path: str | os.PathLike[str], **options: Unpack[Options]) -> DB:
    """Opens the database in `path`, and creates it if there is none. Options are those of `DB`."""
    options.setdefault("create_if_missing", True)
    return DB(path, **options)


# No thread of an engine may call Python code once the interpreter has ended.
atexit.register(_close_all)
