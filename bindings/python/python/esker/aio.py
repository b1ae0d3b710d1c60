"""Databases for asyncio: each call of the engine runs on a thread of a pool, and is awaited.

A single get of a cached row takes less time than the switch to a thread and back: read many keys by
`multi_get`, and ranges by `items`, which transfers several rows at a time::

    async with esker.aio.open("path") as db:
        await db.put(b"key", b"value")
        async for key, value in db.items(prefix=b"k"):
            ...
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import esker

if TYPE_CHECKING:
    from esker._esker import ColumnFamily as _ColumnFamily
    from esker._esker import Scan, WriteBatch
    from esker._esker import Snapshot as _Snapshot

_T = TypeVar("_T")

ROWS = 256
"""The number of rows of a range that are read at a time."""


class Reader:
    """Reads of a family or of a snapshot."""

    def __init__(self, sync: Any, executor: Executor) -> None:
        self.sync = sync
        """The synchronous object, whose methods block."""
        self._executor = executor

    async def _run(self, call: Callable[..., _T], *arguments: Any, **keywords: Any) -> _T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, lambda: call(*arguments, **keywords))

    async def get(self, key: Any, default: Any = None, **read_options: Any) -> Any:
        """Returns the value of `key`, or `default`."""
        return await self._run(self.sync.get, key, default, **read_options)

    async def contains(self, key: Any) -> bool:
        """Returns true if `key` has a value."""
        return await self._run(self.sync.__contains__, key)

    async def multi_get(self, keys: Any, **read_options: Any) -> list[bytes | None]:
        """Returns the values of many keys, in their order."""
        found: list[bytes | None] = await self._run(self.sync.multi_get, keys, **read_options)
        return found

    async def _scan(self, make: Callable[..., Scan[_T]], bounds: tuple[Any, ...], options: Any) -> AsyncIterator[_T]:
        scan = await self._run(make, *bounds, **options)
        while rows := await self._run(scan.read, ROWS):
            for row in rows:
                yield row

    def items(self, *bounds: Any, **options: Any) -> AsyncIterator[tuple[bytes, bytes]]:
        """Iterates over the keys and values of a range."""
        return self._scan(self.sync.items, bounds, options)

    def keys(self, *bounds: Any, **options: Any) -> AsyncIterator[bytes]:
        """Iterates over the keys of a range."""
        return self._scan(self.sync.keys, bounds, options)

    def values(self, *bounds: Any, **options: Any) -> AsyncIterator[bytes]:
        """Iterates over the values of a range."""
        return self._scan(self.sync.values, bounds, options)

    async def property(self, name: str) -> Any:
        """Returns a property by RocksDB's name."""
        return await self._run(self.sync.property, name)


class Snapshot(Reader):
    """A snapshot of a family."""

    def __init__(self, sync: _Snapshot, executor: Executor) -> None:
        super().__init__(sync, executor)

    async def close(self) -> None:
        """Releases the snapshot."""
        await self._run(self.sync.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        await self.close()


class ColumnFamily(Reader):
    """A column family."""

    def __init__(self, sync: _ColumnFamily, executor: Executor) -> None:
        super().__init__(sync, executor)

    async def put(self, key: Any, value: Any, **write_options: Any) -> None:
        """Sets `key` to `value`."""
        await self._run(self.sync.put, key, value, **write_options)

    async def delete(self, key: Any, **write_options: Any) -> None:
        """Deletes `key`, whether or not it exists."""
        await self._run(self.sync.delete, key, **write_options)

    async def merge(self, key: Any, operand: Any, **write_options: Any) -> None:
        """Adds `operand` to the value of `key`, by the family's merge operator."""
        await self._run(self.sync.merge, key, operand, **write_options)

    async def delete_range(self, start: Any, stop: Any, **write_options: Any) -> None:
        """Deletes every key from `start` to `stop`, exclusive."""
        await self._run(self.sync.delete_range, start, stop, **write_options)

    async def update(self, items: Any, **write_options: Any) -> None:
        """Sets all keys of a mapping, or of pairs, in one batch."""
        await self._run(self.sync.update, items, **write_options)

    async def flush(self, **options: Any) -> None:
        """Flushes the family's memtable."""
        await self._run(self.sync.flush, **options)

    async def compact_range(self, *bounds: Any, **options: Any) -> None:
        """Compacts a range of keys."""
        await self._run(self.sync.compact_range, *bounds, **options)

    async def snapshot(self) -> Snapshot:
        """Returns a snapshot of this family."""
        return Snapshot(await self._run(self.sync.snapshot), self._executor)


class DB(ColumnFamily):
    """A database. `esker.aio.open` opens it."""

    def __init__(self, sync: esker.DB, executor: ThreadPoolExecutor) -> None:
        super().__init__(sync, executor)
        self._own = executor

    def column_family(self, name: str) -> ColumnFamily:
        """Returns the column family of that name."""
        return ColumnFamily(self.sync.column_family(name), self._executor)

    async def create_column_family(self, name: str, **options: Any) -> ColumnFamily:
        """Creates a column family."""
        created = await self._run(self.sync.create_column_family, name, **options)
        return ColumnFamily(created, self._executor)

    async def drop_column_family(self, name: str) -> None:
        """Drops a column family."""
        await self._run(self.sync.drop_column_family, name)

    async def write(self, batch: WriteBatch, **write_options: Any) -> None:
        """Applies all writes of a batch, or none."""
        await self._run(self.sync.write, batch, **write_options)

    async def checkpoint(self, path: str | os.PathLike[str], **options: Any) -> int:
        """Creates a checkpoint, an independent database with the current rows, in `path`."""
        return await self._run(self.sync.checkpoint, path, **options)

    async def wait_for_compact(self) -> None:
        """Waits until no flush and no compaction is running or pending."""
        await self._run(self.sync.wait_for_compact)

    async def close(self) -> None:
        """Closes the database, and ends the threads."""
        await self._run(self.sync.close)
        self._own.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        await self.close()


class _Opening:
    """The result of `open`, to be awaited or used in `async with`."""

    def __init__(self, path: str | os.PathLike[str], threads: int, options: dict[str, Any]) -> None:
        self._path, self._threads, self._options = path, threads, options
        self._db: DB | None = None

    async def _open(self) -> DB:
        executor = ThreadPoolExecutor(self._threads, thread_name_prefix="esker")
        loop = asyncio.get_running_loop()
        try:
            sync = await loop.run_in_executor(executor, lambda: esker.open(self._path, **self._options))
        except BaseException:
            executor.shutdown(wait=False)
            raise
        return DB(sync, executor)

    def __await__(self) -> Any:
        return self._open().__await__()

    async def __aenter__(self) -> DB:
        self._db = await self._open()
        return self._db

    async def __aexit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        if self._db is not None:
            await self._db.close()


def open(path: str | os.PathLike[str], *, threads: int = 4, **options: Any) -> _Opening:
    """Opens the database in `path`, with a pool of `threads` threads. The options are those of
    `esker.open`."""
    return _Opening(path, threads, options)
