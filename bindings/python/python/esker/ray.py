"""Ray Data writes tables in its tasks, and one ingestion takes them all: `esker.load` as a Datasink.

    import esker.ray

    ds.sort("id").write_datasink(esker.ray.EskerDatasink("path/of/db", key="id", value="payload"))

The dataset must be sorted by its keys, so that each task has a range of its own; otherwise the commit refuses the
parts, and the database is as it was. Each task sorts its own rows, and of rows with one key the last one counts.

A task that Ray repeats writes another attempt, and the one that Ray returns counts. If the job fails, nothing of it
is left. If the driver dies, `esker.load.open` of the load's directory and `resume` or `abort` end the load.

The program that opens the database is the driver: no other process may have it open meanwhile, unless it passes its
own `esker.DB`.
"""

from __future__ import annotations

import pathlib
import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ray.data import Datasink
from ray.data.block import BlockAccessor

from esker import errors, load
from esker._esker import ColumnFamily

if TYPE_CHECKING:
    from ray.data._internal.execution.interfaces import TaskContext
    from ray.data.block import Block
    from ray.data.datasource.datasink import WriteResult


class EskerDatasink(Datasink[load.Message]):
    """Loads a dataset into a database.

    ``target`` is the path of a database, which is created if it does not exist, or an open database or family of
    the driver's process. ``key`` and ``value`` are columns of bytes or text. ``directory`` is a path that every task
    can access (default: next to the database), or a URL such as ``s3://bucket/loads``. ``marker``, ``replace`` and
    ``options`` are those of `esker.load`.
    """

    def __init__(
        self,
        target: load.Target,
        *,
        key: str = "key",
        value: str = "value",
        directory: load.Path | None = None,
        marker: bytes | None = None,
        replace: tuple[bytes | None, bytes | None] | None = None,
        target_file_size: int = load.TARGET_FILE_SIZE,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if directory is None:
            if isinstance(target, ColumnFamily):
                raise ValueError("an open database needs the directory of the load")
            directory = f"{pathlib.Path(target)}.loads"
        self._target: load.Target | None = target
        self._columns = (key, value)
        self._marker = marker
        self._replace = replace
        identity = uuid.uuid4().hex
        about = {
            "id": identity,
            "splits": [],
            "target_file_size": target_file_size,
            "options": dict(options or {}),
        }
        self._load = load.Load(load.inside(directory, identity), about)
        self.rows = 0
        """The number of loaded rows, once the load is complete."""

    def __getstate__(self) -> dict[str, Any]:
        # A copy of the sink for a task has no database: tasks write parts, and only the driver has the
        # database.
        return {**self.__dict__, "_target": None}

    def on_write_start(self, schema: Any = None) -> None:
        """Creates the directory of the load, on the driver."""
        self._load.create()

    def write(self, blocks: Iterable[Block], ctx: TaskContext) -> load.Message:
        """Writes the rows of a task."""
        key, value = self._columns
        attempt = f"{ctx.task_idx}-{uuid.uuid4().hex}"
        with self._load.part(ctx.task_idx, attempt=attempt, sort=True) as part:
            for block in blocks:
                part.write_arrow(BlockAccessor.for_block(block).to_arrow(), key=key, value=value)
        return part.message

    def on_write_complete(self, write_result: WriteResult[load.Message]) -> None:
        """Ingests the tables of the tasks, on the driver."""
        if self._target is None:
            raise errors.InvalidArgument("a copy of the sink has no database")
        # Each task returns one message. Parts with the same index come from different operators of a plan,
        # and each is a part of its own.
        parts = [{**message, "part": at} for at, message in enumerate(write_result.write_returns)]
        self.rows = self._load.commit(self._target, parts, marker=self._marker, replace=self._replace)
        self._load.abort()
        self._load.place.remove_parent()

    def on_write_failed(self, error: Exception) -> None:
        """Removes the tables of all attempts, on the driver."""
        try:
            self._load.abort()
        except errors.InvalidArgument:
            # The load was committed, and its ingestion failed: the load is kept, so that it can be resumed.
            return
        self._load.place.remove_parent()
