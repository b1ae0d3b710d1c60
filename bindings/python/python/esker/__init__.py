"""Esker: an embedded key-value store that opens and writes RocksDB databases.

A database is a mutable mapping of bytes to bytes in the order of its keys::

    import esker

    with esker.open("path") as db:
        db[b"key"] = b"value"
        for key, value in db.items(prefix=b"k"):
            ...

`DB` takes RocksDB's options by name, with RocksDB's defaults; `open` does the same, and creates a missing
database.
"""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING, Unpack

from esker import errors, merge
from esker._esker import (
    DB,
    ArrowArray,
    ArrowStream,
    BackupEngine,
    Cache,
    ColumnFamily,
    Cursor,
    MergeOperator,
    OptimisticTransactionDB,
    RateLimiter,
    Reader,
    Scan,
    Snapshot,
    SstFileWriter,
    Statistics,
    Transaction,
    TransactionDB,
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
    ComparatorMismatch,
    Corruption,
    Error,
    Expired,
    Incomplete,
    InvalidArgument,
    IOError,
    LockHeld,
    MergeFailed,
    NoDatabase,
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
    "ArrowArray",
    "ArrowStream",
    "BackupEngine",
    "Busy",
    "Cache",
    "ColumnFamily",
    "ColumnFamilyDropped",
    "ComparatorMismatch",
    "Corruption",
    "Cursor",
    "destroy",
    "Error",
    "errors",
    "Expired",
    "Incomplete",
    "InvalidArgument",
    "IOError",
    "list_column_families",
    "load_options",
    "LockHeld",
    "merge",
    "MergeFailed",
    "MergeOperator",
    "NoDatabase",
    "NoSpace",
    "NotFound",
    "NotSupported",
    "open",
    "OptimisticTransactionDB",
    "Panicked",
    "Prefixed",
    "RateLimiter",
    "Reader",
    "ReadOnly",
    "repair",
    "Scan",
    "ShutdownInProgress",
    "Snapshot",
    "SstFileWriter",
    "Statistics",
    "TimedOut",
    "Transaction",
    "TransactionDB",
    "TryAgain",
    "WriteBatch",
    "WriteBufferManager",
]


def open(path: str | os.PathLike[str], **options: Unpack[Options]) -> DB:
    """Opens the database in `path`, and creates it if it does not exist. The options are those of `DB`."""
    options.setdefault("create_if_missing", True)
    return DB(path, **options)


# No thread of the engine may call Python code after the end of the interpreter.
atexit.register(_close_all)
