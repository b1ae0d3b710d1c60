"""plyvel's names over esker: plyvel's own tests run against this module (`cargo xtask judge plyvel`).

The module is not part of the package: esker has the same bounds, and differs from plyvel as RocksDB does.
"""

from __future__ import annotations

import os
from typing import Any

import esker

__leveldb_version__ = "1.23"


class Error(Exception):
    pass


class IOError(Error, OSError):
    pass


class CorruptionError(Error):
    pass


class IteratorInvalidError(Error):
    pass


def _translated(error: esker.Error) -> Exception:
    if isinstance(error, esker.ShutdownInProgress):
        return RuntimeError("Database is closed")
    if isinstance(error, esker.IOError):
        return IOError(str(error))
    if isinstance(error, esker.Corruption):
        return CorruptionError(str(error))
    return Error(str(error))


def _call(call: Any, *arguments: Any, **keywords: Any) -> Any:
    try:
        return call(*arguments, **keywords)
    except esker.Error as error:
        raise _translated(error) from error


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """Returns plyvel's options as RocksDB's."""
    chosen: dict[str, Any] = {}
    for name in ("create_if_missing", "error_if_exists", "write_buffer_size", "max_open_files", "block_size",
                 "block_restart_interval"):
        value = options.pop(name, None)
        if value is not None:
            if not isinstance(value, int):
                raise TypeError(f"{name} is a number")
            chosen[name] = value
    cache = options.pop("lru_cache_size", None)
    if cache is not None:
        if not isinstance(cache, int):
            raise TypeError("lru_cache_size is a number")
        chosen["block_cache"] = cache
    bits = options.pop("bloom_filter_bits", 0)
    if bits:
        chosen["filter_policy"] = f"bloomfilter:{bits}:false"
    compression = options.pop("compression", "snappy")
    if compression not in (None, "snappy"):
        raise ValueError("compression is None or 'snappy'")
    chosen["compression"] = "kSnappyCompression" if compression else "kNoCompression"
    chosen["paranoid_file_checks"] = bool(options.pop("paranoid_checks", False))
    compare, name = options.pop("comparator", None), options.pop("comparator_name", None)
    if (compare is None) != (name is None):
        raise ValueError("comparator and comparator_name go together")
    if compare is not None:
        if not callable(compare):
            raise TypeError("comparator is a function")
        if not isinstance(name, bytes):
            raise TypeError("comparator_name is bytes")
        chosen["comparator"] = type("Comparator", (), {"name": name.decode(), "compare": staticmethod(compare)})()
    if options:
        raise TypeError(f"no option {next(iter(options))!r}")
    return chosen


class _Reads:
    """The reads that a database, a prefixed database and a snapshot have in common."""

    _db: esker.DB
    _reader: esker.Reader
    _prefix: bytes

    def get(self, key: bytes, default: Any = None, *, verify_checksums: Any = False, fill_cache: Any = True) -> Any:
        if not isinstance(key, bytes):
            raise TypeError("a key is bytes")
        self._check()
        return _call(
            self._reader.get, self._prefix + key, default,
            verify_checksums=bool(verify_checksums), fill_cache=bool(fill_cache),
        )

    def _check(self) -> None:
        if self._db.closed:
            raise RuntimeError("Database is closed")

    def iterator(self, **options: Any) -> Iterator:
        self._check()
        return Iterator(self, **options)

    def raw_iterator(self, *, verify_checksums: Any = False, fill_cache: Any = True) -> RawIterator:
        self._check()
        return RawIterator(self, verify_checksums, fill_cache)

    def __iter__(self) -> Iterator:
        return self.iterator()


class _Writes(_Reads):
    def put(self, key: bytes, value: Any, *, sync: bool = False) -> None:
        self._check()
        _call(self._db.put, self._prefix + key, value, sync=sync)

    def delete(self, key: bytes, *, sync: bool = False) -> None:
        self._check()
        _call(self._db.delete, self._prefix + key, sync=sync)

    def write_batch(self, *, transaction: bool = False, sync: bool = False) -> WriteBatch:
        self._check()
        return WriteBatch(self, transaction, sync)

    def snapshot(self) -> Snapshot:
        self._check()
        return Snapshot(self)


class DB(_Writes):
    def __init__(self, name: str, **options: Any) -> None:
        if not isinstance(name, (str, bytes, os.PathLike)):
            raise TypeError("a name is text")
        self._name = name
        self._db = _call(esker.DB, os.fsdecode(name), **_options(options))
        self._reader, self._prefix = self._db, b""

    @property
    def name(self) -> str:
        return self._name

    @property
    def closed(self) -> bool:
        return self._db.closed

    def close(self) -> None:
        _call(self._db.close)

    def prefixed_db(self, prefix: bytes) -> PrefixedDB:
        return PrefixedDB(self, prefix)

    def get_property(self, name: bytes) -> bytes | None:
        if not isinstance(name, bytes):
            raise TypeError("a property is bytes")
        self._check()
        value = self._db.property(name.decode().replace("leveldb.", "rocksdb."))
        return None if value is None else str(value).encode()

    def compact_range(self, *, start: bytes | None = None, stop: bytes | None = None) -> None:
        _call(self._db.compact_range, start, stop)

    def approximate_size(self, start: bytes, stop: bytes) -> int:
        return _call(self._db.approximate_size, start, stop)

    def approximate_sizes(self, *ranges: tuple[bytes, bytes]) -> list[int]:
        if not all(isinstance(range, tuple) for range in ranges):
            raise TypeError("a range is a pair")
        return [self.approximate_size(*range) for range in ranges]

    def __enter__(self) -> DB:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class PrefixedDB(_Writes):
    def __init__(self, db: DB, prefix: bytes) -> None:
        self.db, self.prefix = db, prefix
        self._db, self._reader, self._prefix = db._db, db._db, prefix

    def prefixed_db(self, prefix: bytes) -> PrefixedDB:
        return PrefixedDB(self.db, self.prefix + prefix)


class Snapshot(_Reads):
    def __init__(self, of: _Writes) -> None:
        self._db, self._prefix = of._db, of._prefix
        self._reader = self._snapshot = _call(of._db.snapshot)
        self._closed = False

    def _check(self) -> None:
        super()._check()
        if self._closed:
            raise RuntimeError("Snapshot is closed")

    def close(self) -> None:
        self._closed = True
        self._snapshot.close()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class WriteBatch:
    def __init__(self, db: _Writes, transaction: bool, sync: bool) -> None:
        self._of, self._transaction, self._sync = db, transaction, sync
        self._batch = esker.WriteBatch()

    def put(self, key: bytes, value: Any) -> None:
        self._of._check()
        self._batch.put(self._of._prefix + key, value)

    def delete(self, key: bytes) -> None:
        self._of._check()
        self._batch.delete(self._of._prefix + key)

    def clear(self) -> None:
        self._of._check()
        self._batch.clear()

    def append(self, other: WriteBatch) -> None:
        self._batch.append(other._batch)

    def approximate_size(self) -> int:
        return self._batch.data_size

    def write(self) -> None:
        self._of._check()
        _call(self._of._db.write, self._batch, sync=self._sync)

    def __enter__(self) -> WriteBatch:
        self._of._check()
        return self

    def __exit__(self, type: Any, _value: Any, _traceback: Any) -> None:
        # plyvel writes a batch whose block has raised, unless it is a transaction.
        if type is None or not self._transaction:
            self.write()


class _Closing:
    def __init__(self, reads: _Reads, cursor: esker.Cursor) -> None:
        self._reads, self._cursor, self._closed = reads, cursor, False

    def _check_open(self) -> None:
        if self._closed or self._reads._db.closed:
            raise RuntimeError("Database or iterator is closed")

    def close(self) -> None:
        self._closed = True
        self._cursor.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class Iterator(_Closing):
    """A position between two rows. The cursor is on the row after that position, or not on a row at the
    end."""

    def __init__(self, reads: _Reads, *, reverse: bool = False, start: bytes | None = None, stop: bytes | None = None,
                 include_start: bool = True, include_stop: bool = False, prefix: bytes | None = None,
                 include_key: bool = True, include_value: bool = True, verify_checksums: Any = False,
                 fill_cache: Any = True) -> None:
        part = esker.Prefixed(reads._reader, reads._prefix)
        bounds = part.bounds(start, stop, include_start=include_start, include_stop=include_stop, prefix=prefix)
        if bounds == {"prefix": b""}:
            bounds = {}
        options = {"verify_checksums": bool(verify_checksums), "fill_cache": bool(fill_cache)}
        super().__init__(reads, _call(reads._reader.cursor, **bounds, **options))
        self._reverse, self._key, self._value = reverse, include_key, include_value
        self._seek_start = True
        self._at_end = reverse

    def _row(self) -> Any:
        key, value = self._cursor.item
        key = key[len(self._reads._prefix):]
        if self._key and self._value:
            return key, value
        return key if self._key else value if self._value else None

    def _settle(self) -> None:
        if self._seek_start and not self._at_end:
            self._at_end = not _call(self._cursor.seek_to_first)
        self._seek_start = False

    def _forwards(self) -> Any:
        self._settle()
        if self._at_end:
            raise StopIteration
        row = self._row()
        self._at_end = not _call(self._cursor.next)
        return row

    def _backwards(self) -> Any:
        self._settle()
        if self._at_end:
            if not _call(self._cursor.seek_to_last):
                raise StopIteration
            self._at_end = False
        elif not _call(self._cursor.prev):
            _call(self._cursor.seek_to_first)
            raise StopIteration
        return self._row()

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        self._check_open()
        return self._backwards() if self._reverse else self._forwards()

    def prev(self) -> Any:
        self._check_open()
        return self._forwards() if self._reverse else self._backwards()

    def seek(self, key: bytes) -> None:
        self._check_open()
        self._seek_start = False
        self._at_end = not _call(self._cursor.seek, self._reads._prefix + key)

    def seek_to_start(self) -> None:
        self._check_open()
        self._seek_start, self._at_end = True, False

    def seek_to_stop(self) -> None:
        self._check_open()
        self._seek_start, self._at_end = False, True


class RawIterator(_Closing):
    def __init__(self, reads: _Reads, verify_checksums: Any, fill_cache: Any) -> None:
        options = {"verify_checksums": bool(verify_checksums), "fill_cache": bool(fill_cache)}
        super().__init__(reads, _call(reads._reader.cursor, **options))

    def valid(self) -> bool:
        self._check_open()
        return self._cursor.valid

    def _standing(self) -> None:
        if not self.valid():
            raise IteratorInvalidError

    def seek_to_first(self) -> None:
        self._check_open()
        _call(self._cursor.seek_to_first)

    def seek_to_last(self) -> None:
        self._check_open()
        _call(self._cursor.seek_to_last)

    def seek(self, key: bytes) -> None:
        self._check_open()
        _call(self._cursor.seek, key)

    def next(self) -> None:
        self._standing()
        _call(self._cursor.next)

    def prev(self) -> None:
        self._standing()
        _call(self._cursor.prev)

    def key(self) -> bytes:
        self._standing()
        return self._cursor.key

    def value(self) -> bytes:
        self._standing()
        return self._cursor.value


def repair_db(name: str, **_options: Any) -> None:
    _call(esker.repair, name)


def destroy_db(name: str) -> None:
    _call(esker.destroy, name)
    if os.path.isdir(name) and not os.listdir(name):
        os.rmdir(name)
