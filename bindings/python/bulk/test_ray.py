"""Loads by a real Ray: tasks that fail and are repeated, jobs that fail, rows that are not sorted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import esker
import pyarrow as pa
import pytest
from esker import load
from rows import rows_of


DRIVER = """
import os, sys
import esker.ray
import pyarrow as pa
import ray
from esker import load

path, url, dies = sys.argv[1:]
ray.init(num_cpus=2, object_store_memory=128 << 20, include_dashboard=False, _node_ip_address="127.0.0.1")

def ingest(self, target, plan):
    if dies == "after":
        kept(self, target, plan)
    os._exit(3)

kept = load.Load._ingest
load.Load._ingest = ingest

class Dies(esker.ray.EskerDatasink):
    def on_write_complete(self, result):
        if dies == "before":
            os._exit(3)
        super().on_write_complete(result)

rows = pa.table({"key": [b"k%04d" % n for n in range(1000)], "value": [b"new"] * 1000})
ray.data.from_arrow(rows).sort("key").write_datasink(Dies(path, directory=url, marker=b"zz"))
"""


def dataset(ray: Any, rows: int, value: bytes = b"new") -> Any:
    def keyed(batch: pa.Table) -> pa.Table:
        keys = pa.array([b"k%08d" % (number.as_py() * 7919 % rows) for number in batch["id"]], pa.binary())
        return pa.table({"key": keys, "value": pa.array([value] * len(batch), pa.binary())})

    return ray.data.range(rows, override_num_blocks=4).map_batches(keyed, batch_format="pyarrow")


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
            # The task dies here: its tables stay, and the driver gets no message.
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


def test_a_dataset_goes_through_a_bucket(ray: Any, path: Path, bucket: Any, tmp_path: Path) -> None:
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
            os._exit(1)

    sink = Lost(path, directory=bucket.url("ray"), marker=b"zz")
    dataset(ray, 5003).sort("key").write_datasink(sink)
    assert Path(once).exists() and sink.rows == 5003
    assert len(rows_of(path)) == 5004 and bucket.objects("ray") == []

    class Fails(esker.ray.EskerDatasink):
        def write(self, blocks: Any, ctx: Any) -> Any:
            message = super().write(blocks, ctx)
            raise RuntimeError(f"planned: {len(message)}")

    with pytest.raises(Exception, match="planned"):
        dataset(ray, 1009).sort("key").write_datasink(Fails(path, directory=bucket.url("ray")))
    assert len(rows_of(path)) == 5004 and bucket.objects("ray") == []


@pytest.mark.parametrize("dies", ["before", "between", "after"])
def test_a_driver_dies(path: Path, bucket: Any, dies: str) -> None:
    url = bucket.url(f"dies-{dies}")
    words = [sys.executable, "-c", DRIVER, str(path), url, dies]
    assert subprocess.run(words, check=False).returncode == 3
    objects = bucket.objects(f"dies-{dies}")
    (found,) = {name.split("/")[2] for name in objects}
    job = load.open(load.inside(url, found))
    if dies == "before":
        with pytest.raises(FileNotFoundError):
            job.resume(path)
        assert not path.exists()
    else:
        assert job.resume(path) == 1000
        assert job.resume(path) == 1000
        assert len(rows_of(path)) == 1001
    job.abort()
    assert bucket.objects(f"dies-{dies}") == []
