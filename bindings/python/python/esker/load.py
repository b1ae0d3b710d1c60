"""Bulk load: tables are written by many processes into a directory or a bucket, and one ingestion takes them all.

A load has two phases, so that a failure leaves the database as it was or with every row::

    job = load.begin("load", splits=load.splits(db, parts=8))
    with job.part(0) as part:                       # in any process that sees the directory
        part.write_arrow(batch)                     # rows in the order of their keys
    job.commit(db, [part.message])                  # in the process that has the database

The directory is a path that every process can access, or the URL of a part of a bucket, as ``s3://bucket/loads/1``,
for which pyarrow is needed. The process that commits copies the tables of a bucket to the disk of the database.

The directory contains:

* ``load.json``: the identity of the load, its split points and options;
* ``parts/``: the tables of every attempt to write a part. A part may be written several times; the commit takes
  one attempt of each;
* ``commit.json``: the chosen tables. It appears in one step; from then on the load cannot be aborted;
* ``done.json``: the ingestion has returned.

`resume` continues a load whose driver has died. Without ``commit.json`` nothing was decided, and `abort` removes
the load.
"""

from __future__ import annotations

import bisect
import os
import pathlib
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from esker import errors
from esker._esker import DB, ColumnFamily, SstFileWriter
from esker._place import Place, place_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

Path = str | os.PathLike[str]
Message = dict[str, Any]
Target = DB | ColumnFamily | Path

TARGET_FILE_SIZE = 64 << 20
"""The size in bytes at which a table ends, as ``target_file_size_base`` of the engine."""

_ROWS = 8192
"""The most rows between two looks at the size of a table."""


def inside(directory: Path, name: str) -> Path:
    """Returns the path or URL of ``name`` in ``directory``."""
    if isinstance(directory, str) and "://" in directory:
        path, mark, query = directory.partition("?")
        return f"{path.rstrip('/')}/{name}{mark}{query}"
    return pathlib.Path(directory) / name


def splits(db: DB, parts: int, *, family: str = "default") -> list[bytes]:
    """Returns at most ``parts - 1`` keys that divide the family into ranges of about equal size.

    The keys are bounds of the family's own tables, in its largest level, so that the tables of a load begin and
    end where those of the database do. An empty family has none: a sample of the new rows must do.
    """
    files = [file for file in db.live_files() if file["column_family"] == family]
    if not files or parts < 2:
        return []
    sizes: dict[int, int] = {}
    for file in files:
        sizes[file["level"]] = sizes.get(file["level"], 0) + file["size"]
    largest = max(sizes, key=lambda level: sizes[level])
    files = sorted((file for file in files if file["level"] == largest), key=lambda file: file["smallest_key"])
    found: list[bytes] = []
    before = 0
    for file in files:
        # A table begins a part once the tables before it have the bytes that the parts so far should have.
        if before * parts >= (len(found) + 1) * sizes[largest] and len(found) < parts - 1:
            key = file["smallest_key"]
            if not found or found[-1] < key:
                found.append(key)
        before += file["size"]
    return found


def part_of(key: Buffer, splits: Sequence[bytes]) -> int:
    """Returns the number of the part that a key belongs to: the key of a split begins a part."""
    return bisect.bisect_right(splits, bytes(key))


def begin(
    directory: Path,
    *,
    splits: Sequence[bytes] = (),
    target_file_size: int = TARGET_FILE_SIZE,
    options: Mapping[str, Any] | None = None,
) -> Load:
    """Creates the load in a directory that has none. ``options`` are those of the tables: see `SstFileWriter`.
    They must be the target's (a comparator, a merge operator, a table format).

    Raises `FileExistsError` if the directory has a load.
    """
    if any(a >= b for a, b in zip(splits, splits[1:], strict=False)):
        raise ValueError("the split points do not ascend")
    about = {
        "id": uuid.uuid4().hex,
        "splits": [split.hex() for split in splits],
        "target_file_size": target_file_size,
        "options": dict(options or {}),
    }
    load = Load(directory, about)
    if not load.create():
        raise FileExistsError(f"{load.directory}: load.json")
    return load


def open(directory: Path) -> Load:
    """Opens the load of a directory or bucket. Raises `FileNotFoundError` if it has none."""
    return Load(directory, place_of(directory).read("load.json"))


class Load:
    """A load in a directory. It can be pickled, to be used where its parts are written."""

    def __init__(self, directory: Path, about: dict[str, Any]) -> None:
        self.place: Place = place_of(directory)
        self.directory = directory if isinstance(directory, str) and "://" in directory else pathlib.Path(directory)
        self._about = about
        self.id: str = about["id"]
        self.splits: list[bytes] = [bytes.fromhex(split) for split in about["splits"]]
        self.target_file_size: int = about["target_file_size"]
        self.options: dict[str, Any] = about["options"]

    def create(self) -> bool:
        """Creates the directory and the identity of the load. False if the directory already has an identity.
        Tasks must not call this: a task that outlives an abort would create the directory again."""
        self.place.begin()
        try:
            self.place.write_once("load.json", self._about)
        except FileExistsError:
            return False
        return True

    def part(self, number: int, *, attempt: str | None = None, sort: bool = False) -> PartWriter:
        """Begins an attempt to write a part. Each attempt has a name of its own, so that several may run at once.

        With ``sort`` the rows may come in any order; all rows of the part are then held in memory, and pyarrow
        is needed. Of rows with equal keys the last one counts.
        """
        return PartWriter(self, number, attempt or uuid.uuid4().hex, sort=sort)

    def commit(
        self,
        db: Target,
        messages: Iterable[Message],
        *,
        marker: bytes | None = None,
        replace: tuple[bytes | None, bytes | None] | None = None,
        verify_checksums: bool = False,
    ) -> int:
        """Chooses one attempt of each part from ``messages``, and ingests its tables in one step. Returns the
        number of rows.

        ``marker`` is a key of the target, outside of the loaded rows, that gets the identity of the load as its
        value in the same step. With it, a load whose driver has died is never ingested twice; without it,
        `resume` may ingest the same tables again, over rows that were written in between.

        ``replace`` is a range, from its first key to its exclusive end: the tables replace every row in it.

        Raises `InvalidArgument` if keys of different parts overlap. Nothing was changed then.
        """
        if self.place.exists("commit.json"):
            raise errors.InvalidArgument("the load was committed: resume it")
        files = _chosen(self, messages)
        if marker is not None and files:
            files.append(self._mark(marker))
            files.sort(key=lambda file: file["smallest"])
            _check_apart(files)
        self.place.write_once(
            "commit.json",
            {
                "id": self.id,
                "files": files,
                "marker": marker.hex() if marker is not None else None,
                "replace": [bound.hex() if bound is not None else None for bound in replace] if replace else None,
                "verify_checksums": verify_checksums,
            },
        )
        return self.resume(db)

    def resume(self, db: Target) -> int:
        """Ingests the tables of a load that was committed, unless they are in the database, and removes what is
        left of them. Returns the number of rows. It may be called any number of times.

        Raises `FileNotFoundError` if the load was not committed.
        """
        plan = self.place.read("commit.json")
        rows: int = sum(file["rows"] for file in plan["files"])
        if plan["marker"] is not None and plan["files"]:
            rows -= 1
        if self.place.exists("done.json"):
            return rows
        if isinstance(db, ColumnFamily):
            self._ingest(db, plan)
        else:
            known = (pathlib.Path(db) / "CURRENT").exists()
            with DB(db, create_if_missing=True, load_options=known) as opened:
                self._ingest(opened, plan)
        self.place.write_once("done.json", {"rows": rows})
        self.place.remove_parts()
        return rows

    def abort(self) -> None:
        """Removes the load with all its tables. A load that was committed raises `InvalidArgument`: resume it."""
        if self.place.exists("commit.json") and not self.place.exists("done.json"):
            raise errors.InvalidArgument("the load was committed: resume it")
        self.place.remove()

    def _ingest(self, db: ColumnFamily, plan: dict[str, Any]) -> None:
        files = plan["files"]
        marker = bytes.fromhex(plan["marker"]) if plan["marker"] is not None else None
        if not files or (marker is not None and db.get(marker) == self.id.encode()):
            return
        replace = plan["replace"]
        bounds = [bytes.fromhex(bound) if bound is not None else None for bound in replace] if replace else None
        # Copies of the tables on the database's disk can be ingested by hard links.
        beside = db.path.parent if isinstance(db, DB) else pathlib.Path(tempfile.gettempdir())
        tables, copies = self.place.fetch([file["name"] for file in files], beside)
        try:
            db.ingest(
                tables,
                atomic_replace_range=(bounds[0], bounds[1]) if bounds else None,
                # Ingestion by hard links copies nothing. The original names stay until the load is done,
                # because a resumed load needs them.
                link_files=True,
                snapshot_consistency=bounds is None,
                verify_checksums_before_ingest=plan["verify_checksums"],
            )
        finally:
            if copies is not None:
                shutil.rmtree(copies)

    def _mark(self, marker: bytes) -> dict[str, Any]:
        with self.part(-1) as part:
            part.put(marker, self.id.encode())
        return dict(part.message["files"][0])


class PartWriter:
    """An attempt to write a part. Rows come in the order of their keys, unless the writer sorts.

    The end of a ``with`` block finishes the part, whose `message` then goes to the commit; an exception removes
    its tables.
    """

    def __init__(self, load: Load, number: int, attempt: str, *, sort: bool = False) -> None:
        self._load = load
        self._number = number
        self._attempt = attempt
        self._files: list[dict[str, Any]] = []
        self._open: SstFileWriter | None = None
        self._rows_in_file = 0
        self._held: list[Any] = []
        self._last: Any = None
        self._sort = sort
        self._message: Message | None = None

    @property
    def message(self) -> Message:
        """The description of the finished part, which can be pickled and written as JSON."""
        if self._message is None:
            raise errors.InvalidArgument("the part is not finished")
        return self._message

    def put(self, key: Buffer, value: Buffer) -> None:
        """Adds a row."""
        if self._sort:
            raise errors.InvalidArgument("a writer that sorts takes Arrow data")
        self._roll_if_full()
        self._writer().put(key, value)
        self._added(1)

    def write_arrow(self, data: Any, *, key: str = "key", value: str = "value") -> None:
        """Adds the rows of a record batch or table of pyarrow, from its columns of bytes or text. Of adjacent rows
        with equal keys the last one counts. A null value deletes its key."""
        import pyarrow as pa

        columns = [_bytes(data.column(name)) for name in (key, value)]
        table = pa.table(columns, names=["key", "value"])
        if self._sort:
            self._held.append(table)
        else:
            self._write(table)

    def finish(self) -> Message:
        """Completes the tables. Returns the message for the commit."""
        if self._held:
            import pyarrow as pa

            held = pa.concat_tables(self._held)
            self._held = []
            # The position is the second sort key, so that the last of several rows with one key stays last.
            held = held.append_column("at", pa.array(range(len(held)), pa.int64()))
            held = held.sort_by([("key", "ascending"), ("at", "ascending")])
            self._write(held.drop_columns(["at"]))
        if self._last is not None:
            last, self._last = self._last, None
            # The last row is added to the current table, so that it does not become a table of one row.
            self._added(self._writer().write_arrow(last))
        self._roll()
        self._load.place.finish()
        self._message = {
            "load": self._load.id,
            "part": self._number,
            "attempt": self._attempt,
            "files": self._files,
        }
        return self._message

    def discard(self) -> None:
        """Removes the tables of this attempt."""
        self._held = []
        self._last = None
        open_file, self._open = self._open, None
        del open_file
        self._load.place.discard(self._stem())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            if kind is not None or self._message is None:
                self.discard()

    def _stem(self) -> str:
        return f"part-{self._number:05d}-{self._attempt}"

    def _writer(self) -> SstFileWriter:
        if self._open is None:
            name = f"{self._stem()}-{len(self._files):05d}.sst"
            self._open = SstFileWriter(self._load.place.written_at(name), **self._load.options)
        return self._open

    def _write(self, table: Any) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        # The last row of a batch is held back until the next batch, which may begin with the same key.
        if self._last is not None:
            table = pa.concat_tables([self._last, table])
        if len(table) == 0:
            return
        self._last = table.slice(len(table) - 1)
        keys = table.column("key").combine_chunks()
        if keys.null_count:
            raise errors.InvalidArgument("a key is null")
        kept = pc.not_equal(keys.slice(0, len(table) - 1), keys.slice(1))
        self._append(table.slice(0, len(table) - 1).filter(kept))

    def _append(self, table: Any) -> None:
        if len(table) == 0:
            return
        in_a_quarter = self._load.target_file_size // 4 * len(table) // max(table.nbytes, 1)
        step = max(1, min(_ROWS, in_a_quarter))
        for at in range(0, len(table), step):
            self._roll_if_full()
            self._added(self._writer().write_arrow(table.slice(at, step)))

    def _added(self, rows: int) -> None:
        self._rows_in_file += rows

    def _roll_if_full(self) -> None:
        if self._open is not None and self._open.file_size >= self._load.target_file_size:
            self._roll()

    def _roll(self) -> None:
        if self._open is None or self._rows_in_file == 0:
            return
        info = self._open.finish()
        self._open = None
        name = pathlib.Path(info["file_path"]).name
        self._load.place.keep(name)
        # A table's writer checks the order only within the table, so the order between tables is checked
        # here.
        if self._files and info["smallest_key"].hex() <= self._files[-1]["largest"]:
            raise errors.InvalidArgument("Keys must be added in strict ascending order.")
        self._files.append(
            {
                "name": name,
                "size": info["file_size"],
                "rows": info["num_entries"],
                "smallest": info["smallest_key"].hex(),
                "largest": info["largest_key"].hex(),
            }
        )
        self._rows_in_file = 0


def _chosen(load: Load, messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Returns the tables of one attempt of each part, in the order of their keys."""
    parts: dict[int, Message] = {}
    for message in messages:
        if message["load"] != load.id:
            raise errors.InvalidArgument(f"a part of load {message['load']} in a commit of {load.id}")
        parts.setdefault(message["part"], message)
    files = [file for message in parts.values() for file in message["files"]]
    files.sort(key=lambda file: file["smallest"])
    _check_apart(files)
    for file in files:
        found = load.place.size(file["name"])
        if found != file["size"]:
            raise errors.Corruption(f"{file['name']} has {found} bytes and should have {file['size']}")
    return files


def _check_apart(files: Sequence[Mapping[str, Any]]) -> None:
    # Hexadecimal text has the order of the bytes.
    for left, right in zip(files, files[1:], strict=False):
        if left["largest"] >= right["smallest"]:
            raise errors.InvalidArgument(
                f"tables {left['name']} and {right['name']} overlap: each key must be in one part, and each part sorted"
            )


def _bytes(column: Any) -> Any:
    """Returns the column as bytes: Arrow orders text and bytes alike."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return column.cast(pa.binary())
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise errors.InvalidArgument(f"a column of {kind}: keys and values are bytes or text")
    return column


def batches(rows: Iterable[tuple[bytes, bytes]], size: int = _ROWS) -> Iterator[Any]:
    """Returns rows as record batches of pyarrow with the columns ``key`` and ``value``."""
    import pyarrow as pa

    held: list[tuple[bytes, bytes]] = []
    for row in rows:
        held.append(row)
        if len(held) == size:
            yield _batch(pa, held)
            held = []
    if held:
        yield _batch(pa, held)


def _batch(pa: Any, rows: Sequence[tuple[bytes, bytes]]) -> Any:
    keys, values = zip(*rows, strict=True)
    return pa.record_batch([pa.array(keys, pa.binary()), pa.array(values, pa.binary())], names=["key", "value"])
