"""Loads by a real Ray: tasks that fail and are repeated, jobs that fail, rows that are not sorted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import esker
import pyarrow as pa
import pytest


def dataset(ray: Any, rows: int, value: bytes = b"new") -> Any:
    def keyed(batch: pa.Table) -> pa.Table:
        keys = pa.array([b"k%08d" % (number.as_py() * 7919 % rows) for number in batch["id"]], pa.binary())
        return pa.table({"key": keys, "value": pa.array([value] * len(batch), pa.binary())})

    return ray.data.range(rows, override_num_blocks=4).map_batches(keyed, batch_format="pyarrow")


def rows_of(path: Path) -> dict[bytes, bytes]:
    with esker.DB(path) as db:
        return dict(db.items())


def nothing_beside(path: Path) -> bool:
    return not Path(f"{path}.loads").exists()


def test_a_sorted_dataset_is_loaded(ray: Any, path: Path) -> None:
    import esker.ray

    sink = esker.ray.EskerDatasink(path)
    dataset(ray, 10_007).sort("key").write_datasink(sink)
    assert sink.rows == 10_007
    rows = rows_of(path)
    assert len(rows) == 10_007 and rows[b"k00000003"] == b"new" and nothing_beside(path)


def test_an_open_database_is_loaded(ray: Any, path: Path, tmp_path: Path) -> None:
    import esker.ray

    with esker.open(path) as db:
        db[b"k00000001"] = b"old"
        with pytest.raises(ValueError, match="directory"):
            esker.ray.EskerDatasink(db)
        sink = esker.ray.EskerDatasink(db, directory=tmp_path / "loads", replace=(None, None))
        dataset(ray, 503).sort("key").write_datasink(sink)
        assert len(list(db)) == 503 and db[b"k00000001"] == b"new"


def test_rows_that_are_not_sorted_are_refused(ray: Any, path: Path) -> None:
    import esker.ray

    with pytest.raises(Exception, match="overlap"):
        dataset(ray, 2003).write_datasink(esker.ray.EskerDatasink(path))
    assert not path.exists() and nothing_beside(path)


def test_a_task_that_is_lost_is_repeated(ray: Any, path: Path, tmp_path: Path) -> None:
    import esker.ray

    once = str(tmp_path / "once")

    class Lost(esker.ray.EskerDatasink):
        def write(self, blocks: Any, ctx: Any) -> Any:
            import os

            message = super().write(blocks, ctx)
            try:
                os.close(os.open(once, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return message
            # The tables of this attempt stay, and its message does not come.
            os._exit(1)

    sink = Lost(path)
    dataset(ray, 5003).sort("key").write_datasink(sink)
    assert Path(once).exists() and sink.rows == 5003
    assert len(rows_of(path)) == 5003 and nothing_beside(path)


def test_a_job_that_fails_leaves_nothing(ray: Any, path: Path) -> None:
    import esker.ray

    class Fails(esker.ray.EskerDatasink):
        def write(self, blocks: Any, ctx: Any) -> Any:
            message = super().write(blocks, ctx)
            raise RuntimeError(f"planned: {len(message)}")

    with pytest.raises(Exception, match="planned"):
        dataset(ray, 1009).sort("key").write_datasink(Fails(path))
    assert not path.exists() and nothing_beside(path)


def test_skew_and_equal_keys(ray: Any, path: Path) -> None:
    import esker.ray

    def hot(batch: pa.Table) -> pa.Table:
        keys = [b"hot" if number.as_py() % 10 else b"k%06d" % number.as_py() for number in batch["id"]]
        return pa.table({"k": pa.array(keys, pa.binary()), "v": pa.array([b"v"] * len(keys), pa.binary())})

    ds = ray.data.range(5000, override_num_blocks=4).map_batches(hot, batch_format="pyarrow")
    sink = esker.ray.EskerDatasink(path, key="k", value="v")
    ds.sort("k").write_datasink(sink)
    assert len(rows_of(path)) == 501
