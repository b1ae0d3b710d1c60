"""Compares the speed of esker with rocksdict (RocksDB) and plyvel (LevelDB): `cargo xtask python bench`.

Each measurement is the median of several rounds, in which the engines take turns; every engine has the same
rows. Figures are thousands of operations per second, and the median of esker's ratios to each of the others in
the same round. On a busy machine `--clock cpu` measures processor time, including that of background threads.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import esker
import pyarrow

BUFFER = 64 << 20

# A scan of all rows takes some ten milliseconds, too few for one pass to be measured.
PASSES = 5


class Esker:
    name = "esker"

    def __init__(self, path: Path) -> None:
        self.db = esker.open(path, write_buffer_size=BUFFER, filter_policy="bloomfilter:10:false", block_cache=512 << 20)
        self.get = self.db.get
        self.put = self.db.put

    def batch(self, rows: list[tuple[bytes, bytes]]) -> None:
        with self.db.write_batch() as batch:
            put = batch.put
            for key, value in rows:
                put(key, value)

    def scan(self) -> Iterator[tuple[bytes, bytes]]:
        return self.db.items()

    def settle(self) -> None:
        self.db.compact_range()

    def close(self) -> None:
        self.db.close()


class Rocksdict:
    name = "rocksdict"

    def __init__(self, path: Path) -> None:
        import rocksdict

        self.module: Any = rocksdict
        options = rocksdict.Options(raw_mode=True)
        options.set_write_buffer_size(BUFFER)
        table = rocksdict.BlockBasedOptions()
        table.set_bloom_filter(10, False)
        table.set_block_cache(rocksdict.Cache(512 << 20))
        options.set_block_based_table_factory(table)
        self.db: Any = rocksdict.Rdict(str(path), options)
        self.get = self.db.get
        self.put = self.db.put

    def batch(self, rows: list[tuple[bytes, bytes]]) -> None:
        batch = self.module.WriteBatch(raw_mode=True)
        put = batch.put
        for key, value in rows:
            put(key, value)
        self.db.write(batch)

    def scan(self) -> Iterator[tuple[bytes, bytes]]:
        return self.db.items()

    def settle(self) -> None:
        self.db.flush()
        self.db.compact_range(None, None)

    def close(self) -> None:
        self.db.close()


class Plyvel:
    name = "plyvel"

    def __init__(self, path: Path) -> None:
        import plyvel

        self.db: Any = plyvel.DB(
            str(path), create_if_missing=True, write_buffer_size=BUFFER, bloom_filter_bits=10, lru_cache_size=512 << 20
        )
        self.get = self.db.get
        self.put = self.db.put

    def batch(self, rows: list[tuple[bytes, bytes]]) -> None:
        with self.db.write_batch() as batch:
            put = batch.put
            for key, value in rows:
                put(key, value)

    def scan(self) -> Iterator[tuple[bytes, bytes]]:
        return self.db.iterator()

    def settle(self) -> None:
        self.db.compact_range()

    def close(self) -> None:
        self.db.close()


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = time.perf_counter


def timed(body: Callable[[], int], passes: int = 1) -> float:
    """Returns operations per second of all passes together."""
    started = clock()
    operations = sum(body() for _ in range(passes))
    return operations / (clock() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--value", type=int, default=100, help="bytes of a value")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--engines", default="esker,rocksdict,plyvel")
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    arguments = parser.parse_args()
    global clock
    clock = CLOCKS[arguments.clock]

    chance = random.Random(1)
    rows = [(b"%016d" % number, chance.randbytes(arguments.value)) for number in range(arguments.rows)]
    shuffled = rows[:]
    chance.shuffle(shuffled)
    keys = [key for key, _ in shuffled]
    kinds = [kind for kind in (Esker, Rocksdict, Plyvel) if kind.name in arguments.engines.split(",")]
    measured: dict[str, dict[str, list[float]]] = {}

    def note(work: str, engine: str, figure: float) -> None:
        measured.setdefault(work, {}).setdefault(engine, []).append(figure)

    for turn in range(arguments.turns):
        for kind in kinds[turn % len(kinds) :] + kinds[: turn % len(kinds)]:
            directory = Path(tempfile.mkdtemp(prefix="esker-bench"))
            try:
                measure(kind, directory, rows, shuffled, keys, note)
            finally:
                shutil.rmtree(directory)

    print(f"{arguments.rows} rows of 16+{arguments.value} bytes, median of {arguments.turns}, thousand operations a second of {arguments.clock} time")
    names = [kind.name for kind in kinds]
    print(f"{'':14}" + "".join(f"{name:>12}" for name in names) + "   esker to the others")
    for work, figures in measured.items():
        columns = "".join(
            f"{statistics.median(figures[name]) / 1000:12.0f}" if name in figures else f"{'-':>12}" for name in names
        )
        ratios = [f"{ratio(figures['esker'], figures[name]):.2f}x" for name in names[1:] if name in figures]
        if work == "scan_arrow":
            ratios += [
                f"{ratio(figures['esker'], measured[loop]['esker']):.2f}x of {loop}" for loop in ("scan", "scan_to_table")
            ]
        print(f"{work:14}{columns}   {' '.join(ratios)}")


def ratio(these: list[float], those: list[float]) -> float:
    """Returns the median of the ratios of the figures in each round."""
    return statistics.median(this / that for this, that in zip(these, those, strict=True))


def measure(
    kind: Any,
    directory: Path,
    rows: list[tuple[bytes, bytes]],
    shuffled: list[tuple[bytes, bytes]],
    keys: list[bytes],
    note: Callable[[str, str, float], None],
) -> None:
    engine = kind(directory / "put")

    def put() -> int:
        for key, value in shuffled:
            engine.put(key, value)
        return len(shuffled)

    note("put", kind.name, timed(put))
    engine.settle()

    def get() -> int:
        for key in keys:
            engine.get(key)
        return len(keys)

    get()
    note("get", kind.name, timed(get))
    assert engine.get(keys[0]) == shuffled[0][1]

    def scan() -> int:
        return sum(1 for _ in engine.scan())

    assert scan() == len(rows)
    note("scan", kind.name, timed(scan, PASSES))

    def scan_to_table() -> int:
        keys, values = [], []
        for key, value in engine.scan():
            keys.append(key)
            values.append(value)
        return pyarrow.table({"key": keys, "value": values}).num_rows

    note("scan_to_table", kind.name, timed(scan_to_table, PASSES))
    if kind is Esker:
        arrow(engine, len(rows), note)
    engine.close()

    engine = kind(directory / "batch")

    def batch() -> int:
        for start in range(0, len(shuffled), 1000):
            engine.batch(shuffled[start : start + 1000])
        return len(shuffled)

    note("batch", kind.name, timed(batch))
    engine.close()


def arrow(engine: Esker, rows: int, note: Callable[[str, str, float], None]) -> None:
    """Measures rows as columns, and reads of many keys at once: the other engines have neither."""

    def scan() -> int:
        return pyarrow.table(engine.db.scan_arrow()).num_rows

    assert scan() == rows
    note("scan_arrow", "esker", timed(scan, PASSES))
    some = [b"%016d" % (number * 7919 % rows) for number in range(min(rows, 100_000))]

    def multi_get() -> int:
        return sum(len(engine.db.multi_get(some[start : start + 1000])) for start in range(0, len(some), 1000))

    note("multi_get", "esker", timed(multi_get))


if __name__ == "__main__":
    main()
