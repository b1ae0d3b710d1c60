from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Spark's workers run this interpreter, whose packages they need, and all processes use the loopback address.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
# Workers take the access keys of the bucket from the environment. The server of the tests accepts any keys.
os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "test"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pyspark = pytest.importorskip("pyspark.sql")
    import esker.spark

    builder = pyspark.SparkSession.builder.master("local[2,3]").appName("esker")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.enabled": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    esker.spark.register(session)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=4, object_store_memory=512 << 20, include_dashboard=False, _node_ip_address="127.0.0.1")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


class Bucket:
    """A bucket of a server that runs in a separate process."""

    def __init__(self, address: str) -> None:
        import pyarrow.fs

        self._query = f"?scheme=http&region=us-east-1&endpoint_override={address}"
        self._files = pyarrow.fs.S3FileSystem(
            endpoint_override=address, scheme="http", region="us-east-1", allow_bucket_creation=True
        )
        self._files.create_dir("loads")

    def url(self, path: str) -> str:
        return f"s3://loads/{path}{self._query}"

    def objects(self, path: str) -> list[str]:
        import pyarrow.fs

        selector = pyarrow.fs.FileSelector(f"loads/{path}", recursive=True, allow_not_found=True)
        files = self._files.get_file_info(selector)
        return [found.path for found in files if found.type == pyarrow.fs.FileType.File]


@pytest.fixture(scope="session")
def bucket() -> Iterator[Bucket]:
    pytest.importorskip("moto")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            assert server.poll() is None, "the server of the bucket has ended"
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                continue
        yield Bucket(f"127.0.0.1:{port}")
    finally:
        server.kill()
        server.wait()
