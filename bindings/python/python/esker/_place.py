"""Where a load keeps its files: a directory, or a part of a bucket.

The names of files are relative to the place. A place can be pickled, so that the processes that write parts can use it.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import uuid
from collections.abc import Mapping
from typing import Any, Protocol

PARTS = "parts"
"""The name of the folder of the tables."""

_JSON = ("load.json", "commit.json", "done.json")


class Place(Protocol):
    """A directory, or a part of a bucket."""

    def begin(self) -> None:
        """Prepares the place for files. Repeated calls are allowed."""

    def exists(self, name: str) -> bool:
        """True if the place has this file."""

    def read(self, name: str) -> dict[str, Any]:
        """Returns the content of a file. Raises `FileNotFoundError`."""

    def write_once(self, name: str, content: Mapping[str, Any]) -> None:
        """Creates a file with this content, in one step. Raises `FileExistsError` if it exists."""

    def size(self, table: str) -> int:
        """Returns the size of a table in bytes. Raises `FileNotFoundError`."""

    def written_at(self, table: str) -> pathlib.Path:
        """Returns the local path at which a table is written before `keep`."""

    def keep(self, table: str) -> None:
        """Keeps a table that was written completely."""

    def finish(self) -> None:
        """Makes the kept tables durable."""

    def discard(self, stem: str) -> None:
        """Removes the tables of an attempt, whose names begin with ``stem``."""

    def fetch(self, tables: list[str], beside: pathlib.Path) -> tuple[list[pathlib.Path], pathlib.Path | None]:
        """Returns local paths of tables; also the directory of the copies, in ``beside``, if tables must be copied."""

    def remove_parts(self) -> None:
        """Removes all tables."""

    def remove(self) -> None:
        """Removes all files of the load, and the place if it has no others."""

    def remove_parent(self) -> None:
        """Removes the parent of the place, unless it has other files."""


def place_of(directory: str | os.PathLike[str]) -> Place:
    """Returns the place at a path, or at a URL such as ``s3://bucket/prefix``."""
    if isinstance(directory, str) and "://" in directory:
        return Bucket(directory)
    return Directory(pathlib.Path(directory))


class Directory:
    """A directory that every process of the load can access. Tables are written into it."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def begin(self) -> None:
        (self._path / PARTS).mkdir(parents=True, exist_ok=True)

    def exists(self, name: str) -> bool:
        return (self._path / name).exists()

    def read(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._path / name).read_text())
        return found

    def write_once(self, name: str, content: Mapping[str, Any]) -> None:
        path = self._path / name
        temporary = path.with_name(f"{name}.{uuid.uuid4().hex}")
        try:
            with temporary.open("x") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            # The file is linked and not renamed, because a link fails if the name exists.
            os.link(temporary, path)
            _sync_directory(self._path)
        finally:
            temporary.unlink(missing_ok=True)

    def size(self, table: str) -> int:
        return (self._path / PARTS / table).stat().st_size

    def written_at(self, table: str) -> pathlib.Path:
        return self._path / PARTS / table

    def keep(self, table: str) -> None:
        """Does nothing: the table was written in its place."""

    def finish(self) -> None:
        # An abort may have removed the directory.
        with contextlib.suppress(FileNotFoundError):
            _sync_directory(self._path / PARTS)

    def discard(self, stem: str) -> None:
        for left in (self._path / PARTS).glob(f"{stem}-*"):
            left.unlink(missing_ok=True)

    def fetch(self, tables: list[str], beside: pathlib.Path) -> tuple[list[pathlib.Path], pathlib.Path | None]:
        return [self._path / PARTS / table for table in tables], None

    def remove_parts(self) -> None:
        # After the rename of the folder of parts, a task that still runs cannot add files to the folder.
        aside = self._path / f"removed.{uuid.uuid4().hex}"
        with contextlib.suppress(FileNotFoundError):
            (self._path / PARTS).rename(aside)
        for left in self._path.glob("removed.*"):
            shutil.rmtree(left, ignore_errors=True)

    def remove(self) -> None:
        self.remove_parts()
        for name in _JSON:
            (self._path / name).unlink(missing_ok=True)
        for left in self._path.glob("*.json.*"):
            left.unlink(missing_ok=True)
        # The directory may have files that are not of the load.
        with contextlib.suppress(OSError):
            self._path.rmdir()

    def remove_parent(self) -> None:
        # The parent may have other loads.
        with contextlib.suppress(OSError):
            self._path.parent.rmdir()


class Bucket:
    """A part of a bucket, by its URL, through ``pyarrow.fs``: S3, Google Cloud Storage, HDFS, or ``file://``.

    Tables are written to the local disk, and uploaded when they are complete. If two drivers commit one load at the
    same moment, both may succeed: the check that an object does not exist and its creation are two steps.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._scratch = f"esker-{uuid.uuid4().hex}"

    def begin(self) -> None:
        # Only file systems need folders: in a bucket a folder would be an object.
        files, root = self._files()
        if files.type_name in ("local", "hdfs"):
            files.create_dir(f"{root}/{PARTS}", recursive=True)

    def exists(self, name: str) -> bool:
        import pyarrow.fs

        files, root = self._files()
        kind = files.get_file_info(f"{root}/{name}").type
        return bool(kind == pyarrow.fs.FileType.File)

    def read(self, name: str) -> dict[str, Any]:
        files, root = self._files()
        with files.open_input_stream(f"{root}/{name}") as file:
            found: dict[str, Any] = json.loads(file.read())
        return found

    def write_once(self, name: str, content: Mapping[str, Any]) -> None:
        if self.exists(name):
            raise FileExistsError(f"{self._url}: {name}")
        files, root = self._files()
        # An object appears when its stream is closed, with all of its bytes.
        with files.open_output_stream(f"{root}/{name}") as file:
            file.write(json.dumps(content).encode())

    def size(self, table: str) -> int:
        import pyarrow.fs

        files, root = self._files()
        found = files.get_file_info(f"{root}/{PARTS}/{table}")
        if found.type != pyarrow.fs.FileType.File:
            raise FileNotFoundError(f"{self._url}: {PARTS}/{table}")
        return int(found.size)

    def written_at(self, table: str) -> pathlib.Path:
        import tempfile

        scratch = pathlib.Path(tempfile.gettempdir()) / self._scratch
        scratch.mkdir(exist_ok=True)
        return scratch / table

    def keep(self, table: str) -> None:
        import pyarrow.fs

        files, root = self._files()
        local = self.written_at(table)
        pyarrow.fs.copy_files(str(local), f"{root}/{PARTS}/{table}", pyarrow.fs.LocalFileSystem(), files)
        self._forget(table)
        # An abort removes load.json first. Either the abort then finds this table and removes it, or this
        # task finds that load.json is gone.
        if not self.exists("load.json"):
            files.delete_file(f"{root}/{PARTS}/{table}")
            raise FileNotFoundError(f"{self._url}: the load was aborted")

    def finish(self) -> None:
        """Does nothing: an upload that has ended is durable."""

    def discard(self, stem: str) -> None:
        import pyarrow.fs

        files, root = self._files()
        selector = pyarrow.fs.FileSelector(f"{root}/{PARTS}", allow_not_found=True)
        for found in files.get_file_info(selector):
            if found.base_name.startswith(f"{stem}-"):
                files.delete_file(found.path)
        for left in self.written_at(stem).parent.glob(f"{stem}-*"):
            self._forget(left.name)
        self._forget(stem)

    def fetch(self, tables: list[str], beside: pathlib.Path) -> tuple[list[pathlib.Path], pathlib.Path | None]:
        import tempfile

        import pyarrow.fs

        files, root = self._files()
        copies = pathlib.Path(tempfile.mkdtemp(prefix="esker-load-", dir=beside))
        for table in tables:
            pyarrow.fs.copy_files(
                f"{root}/{PARTS}/{table}", str(copies / table), files, pyarrow.fs.LocalFileSystem()
            )
        return [copies / table for table in tables], copies

    def remove_parts(self) -> None:
        import pyarrow.fs

        files, root = self._files()
        selector = pyarrow.fs.FileSelector(f"{root}/{PARTS}", allow_not_found=True)
        for found in files.get_file_info(selector):
            files.delete_file(found.path)
        with contextlib.suppress(FileNotFoundError):
            files.delete_dir(f"{root}/{PARTS}")

    def remove(self) -> None:
        files, root = self._files()
        for name in _JSON:
            if self.exists(name):
                files.delete_file(f"{root}/{name}")
        self.remove_parts()
        self._remove_if_empty(files, root)

    def remove_parent(self) -> None:
        files, root = self._files()
        parent, _, _ = root.rpartition("/")
        # The bucket itself stays.
        if "/" in parent.strip("/"):
            self._remove_if_empty(files, parent)

    def _remove_if_empty(self, files: Any, path: str) -> None:
        import pyarrow.fs

        if not files.get_file_info(pyarrow.fs.FileSelector(path, allow_not_found=True)):
            # A folder of a bucket exists only while it has objects.
            with contextlib.suppress(FileNotFoundError):
                files.delete_dir(path)

    def _files(self) -> tuple[Any, str]:
        import pyarrow.fs

        files, root = pyarrow.fs.FileSystem.from_uri(self._url)
        return files, root.rstrip("/")

    def _forget(self, table: str) -> None:
        local = self.written_at(table)
        local.unlink(missing_ok=True)
        # The directory may have other tables of the task that it has not uploaded yet.
        with contextlib.suppress(OSError):
            local.parent.rmdir()


def _sync_directory(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
