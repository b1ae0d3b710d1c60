"""Random operations against a sorted dict."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import esker
import pytest

pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule  # noqa: E402

# Short keys with few letters, so that operations share keys.
KEYS = st.lists(st.sampled_from([0, 1, 254, 255]), max_size=3).map(bytes)
VALUES = st.binary(max_size=20)
BOUND = st.none() | KEYS


class Database(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.dir = tempfile.TemporaryDirectory()
        self.path = Path(self.dir.name) / "db"
        self.model: dict[bytes, bytes] = {}
        self.old: tuple[esker.Snapshot, dict[bytes, bytes]] | None = None
        self.open()

    def open(self) -> None:
        self.db = esker.open(self.path, merge_operator=esker.merge.string_append(b"+"), write_buffer_size=64 << 10)

    def teardown(self) -> None:
        self.old = None
        self.db.close()
        self.dir.cleanup()

    @rule(key=KEYS, value=VALUES)
    def put(self, key: bytes, value: bytes) -> None:
        self.db[key] = value
        self.model[key] = value

    @rule(key=KEYS)
    def delete(self, key: bytes) -> None:
        del self.db[key]
        self.model.pop(key, None)

    @rule(key=KEYS, value=VALUES)
    def merge(self, key: bytes, value: bytes) -> None:
        self.db.merge(key, value)
        self.model[key] = self.model[key] + b"+" + value if key in self.model else value

    @rule(start=KEYS, stop=KEYS)
    def delete_range(self, start: bytes, stop: bytes) -> None:
        start, stop = min(start, stop), max(start, stop)
        self.db.delete_range(start, stop)
        self.model = {key: value for key, value in self.model.items() if not start <= key < stop}

    @rule(rows=st.lists(st.tuples(KEYS, VALUES)), fails=st.booleans())
    def batch(self, rows: list[tuple[bytes, bytes]], fails: bool) -> None:
        try:
            with self.db.write_batch() as batch:
                for key, value in rows:
                    batch.put(key, value)
                if fails:
                    raise LookupError
        except LookupError:
            return
        self.model.update(rows)

    @rule()
    def flush(self) -> None:
        self.db.flush()

    @rule()
    def compact(self) -> None:
        self.db.compact_range()

    @rule()
    def reopen(self) -> None:
        self.old = None
        self.db.close()
        self.open()

    @rule()
    def take_snapshot(self) -> None:
        self.old = (self.db.snapshot(), dict(self.model))

    @precondition(lambda self: self.old is not None)
    @rule()
    def read_snapshot(self) -> None:
        assert self.old is not None
        snapshot, model = self.old
        assert list(snapshot.items()) == sorted(model.items())

    @rule(start=BOUND, stop=BOUND, include_start=st.booleans(), include_stop=st.booleans(), reverse=st.booleans())
    def scan(self, **bounds: Any) -> None:
        start, stop = bounds["start"], bounds["stop"]

        def inside(key: bytes) -> bool:
            above = start is None or key > start or (bounds["include_start"] and key == start)
            below = stop is None or key < stop or (bounds["include_stop"] and key == stop)
            return above and below

        expected = sorted((row for row in self.model.items() if inside(row[0])), reverse=bounds["reverse"])
        assert list(self.db.items(**bounds)) == expected

    @rule(prefix=KEYS, reverse=st.booleans())
    def scan_prefix(self, prefix: bytes, reverse: bool) -> None:
        expected = sorted((key for key in self.model if key.startswith(prefix)), reverse=reverse)
        assert list(self.db.keys(prefix=prefix, reverse=reverse)) == expected
        part = esker.Prefixed(self.db, prefix)
        assert list(part.keys(reverse=reverse)) == [key[len(prefix):] for key in expected]

    @rule(sought=KEYS, steps=st.lists(st.booleans(), max_size=6))
    def walk(self, sought: bytes, steps: list[bool]) -> None:
        keys = sorted(self.model)
        cursor = self.db.cursor()
        at = next((index for index, key in enumerate(keys) if key >= sought), None)
        assert cursor.seek(sought) == (at is not None)
        for forwards in steps:
            if at is None:
                break
            assert cursor.item == (keys[at], self.model[keys[at]])
            moved = cursor.next() if forwards else cursor.prev()
            at += 1 if forwards else -1
            at = at if 0 <= at < len(keys) else None
            assert moved == (at is not None)

    @rule(keys=st.lists(KEYS))
    def get(self, keys: list[bytes]) -> None:
        expected = [self.model.get(key) for key in keys]
        assert self.db.multi_get(keys) == expected == [self.db.get(key) for key in keys]
        for key in keys:
            assert (key in self.db) == (key in self.model)

    @invariant()
    def same_ends(self) -> None:
        rows = sorted(self.model.items())
        assert (self.db.first(), self.db.last()) == ((rows[0], rows[-1]) if rows else (None, None))


TestDatabase = Database.TestCase
TestDatabase.settings = settings(
    max_examples=30,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
