"""User code that the engine calls: merge operators, compaction filters, comparators."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import esker
import pytest


class Longest:
    """Keeps the longest operand."""

    name = "longest"

    def full_merge(self, key: bytes, existing: bytes | None, operands: list[bytes]) -> bytes:
        return max([existing or b"", *operands], key=len)

    def partial_merge(self, key: bytes, older: bytes, newer: bytes) -> bytes:
        return max(older, newer, key=len)


def test_a_merge_operator_in_python(path: Path) -> None:
    with esker.open(path, merge_operator=Longest()) as db:
        db[b"k"] = b"12"
        for operand in (b"1", b"123", b"1"):
            db.merge(b"k", operand)
        assert db[b"k"] == b"123"
        db.flush()
        db.merge(b"k", b"12345")
        db.merge(b"new", b"x")
        db.compact_range()
        assert db[b"k"] == b"12345" and list(db.items()) == [(b"k", b"12345"), (b"new", b"x")]
        assert db.options["merge_operator"] == "longest"


def test_a_function_is_a_merge_operator(path: Path) -> None:
    def add(key: bytes, existing: bytes | None, operands: list[bytes]) -> bytes:
        return str(sum(map(int, operands), int(existing or b"0"))).encode()

    with esker.open(path, merge_operator=add) as db:
        for number in range(10):
            db.merge(b"sum", b"%d" % number)
        assert db[b"sum"] == b"45"


def test_a_merge_that_raises_is_an_error(path: Path) -> None:
    def broken(key: bytes, existing: bytes | None, operands: list[bytes]) -> bytes:
        raise ZeroDivisionError("no merge")

    with esker.open(path, merge_operator=broken) as db:
        db.merge(b"k", b"1")
        for read in (lambda: db[b"k"], lambda: list(db.items()), lambda: db.cursor().seek_to_first()):
            with pytest.raises(esker.MergeFailed) as raised:
                read()
            assert isinstance(raised.value.__cause__, ZeroDivisionError)
        db[b"k"] = b"whole again"
        assert db[b"k"] == b"whole again"


def test_a_merge_of_no_bytes_is_an_error(path: Path) -> None:
    with esker.open(path, merge_operator=lambda key, existing, operands: "text") as db:
        db.merge(b"k", b"1")
        with pytest.raises(esker.MergeFailed) as raised:
            db.get(b"k")
        assert isinstance(raised.value.__cause__, TypeError)
    with esker.open(path, merge_operator=lambda key, existing, operands: None) as db, pytest.raises(esker.MergeFailed):
        db.get(b"k")


def test_built_in_merge_operators(tmp_path: Path) -> None:
    with esker.open(tmp_path / "add", merge_operator=esker.merge.uint64add) as db:
        for _ in range(3):
            db.merge(b"n", (7).to_bytes(8, "little"))
        assert int.from_bytes(db[b"n"], "little") == 21
    with esker.DB(tmp_path / "add") as db:
        assert int.from_bytes(db[b"n"], "little") == 21, "the OPTIONS file names it"


def test_a_compaction_filter_is_a_function(path: Path) -> None:
    def old(key: bytes, value: bytes) -> bool | bytes | None:
        if key.startswith(b"drop"):
            return True
        return value.upper() if key.startswith(b"up") else None

    with esker.open(path, compaction_filter=old) as db:
        for key in (b"drop1", b"drop2", b"keep", b"up"):
            db[key] = b"value"
        db.compact_range()
        assert list(db.items()) == [(b"keep", b"value"), (b"up", b"VALUE")]


def test_a_compaction_filter_object_says_all_that_rocksdb_lets_it(path: Path) -> None:
    class Filter:
        name = "mine"

        def __init__(self) -> None:
            self.seen: list[tuple[int, bytes, str, bytes]] = []

        def filter(self, level: int, key: bytes, kind: str, value: bytes) -> Any:
            self.seen.append((level, key, kind, value))
            return {b"a": "keep", b"b": "remove", b"c": ("skip_until", b"f"), b"f": b"changed"}.get(key, "purge")

    filter = Filter()
    with esker.open(path, compaction_filter=filter) as db:
        for key in b"abcdefg":
            db[bytes([key])] = b"v"
        db.flush()
        db.compact_range(bottommost_level_compaction="kForce")
        assert dict(db.items()) == {b"a": b"v", b"f": b"changed"}
        assert (b"a", "value", b"v") in [entry[1:] for entry in filter.seen]
        assert b"d" not in [entry[1] for entry in filter.seen]


def test_a_compaction_filter_makes_and_sees_entities(path: Path) -> None:
    class Filter:
        seen: list[dict[bytes, bytes]] = []

        def filter(self, level: int, key: bytes, kind: str, value: bytes) -> Any:
            return {b"": value, b"n": b"1"}

        def filter_entity(self, level: int, key: bytes, columns: dict[bytes, bytes]) -> Any:
            self.seen.append(columns)
            return columns | {b"": b"again"}

    with esker.open(path, compaction_filter=Filter()) as db:
        db[b"k"] = b"v"
        db.flush()
        db.compact_range(bottommost_level_compaction="kForce")
        assert db[b"k"] == b"v" and Filter.seen == []
        db.compact_range(bottommost_level_compaction="kForce")
        assert db[b"k"] == b"again" and Filter.seen == [{b"": b"v", b"n": b"1"}]


def test_a_factory_makes_a_filter_for_each_compaction(path: Path) -> None:
    contexts: list[dict[str, Any]] = []

    def factory(context: dict[str, Any]) -> Any:
        contexts.append(context)
        return (lambda key, value: True) if context["is_manual_compaction"] else None

    with esker.open(path, compaction_filter_factory=factory) as db:
        db[b"k"] = b"v"
        db.flush()
        db.compact_range(bottommost_level_compaction="kForce")
        assert list(db) == [] and contexts[0]["is_manual_compaction"]


@pytest.mark.parametrize("answer", [RuntimeError("no"), "nonsense", ("nonsense", b""), 3.5])
def test_a_filter_that_raises_is_an_error(path: Path, answer: Any) -> None:
    def broken(key: bytes, value: bytes) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with esker.open(path, compaction_filter=broken, max_bgerror_resume_count=0) as db:
        db[b"k"] = b"v"
        db.flush()
        with pytest.raises(esker.Error) as raised:
            db.compact_range(bottommost_level_compaction="kForce")
        assert "Error" in str(raised.value), str(raised.value)
        assert db[b"k"] == b"v"
    with esker.open(path) as db:
        assert db[b"k"] == b"v"


class Backwards:
    name = "backwards"

    @staticmethod
    def compare(a: bytes, b: bytes) -> int:
        return (a < b) - (a > b)


def test_a_comparator_in_python(path: Path) -> None:
    with esker.open(path, comparator=Backwards()) as db:
        for key in b"bdac":
            db[bytes([key])] = b""
        assert list(db) == [b"d", b"c", b"b", b"a"]
        db.flush()
        db[b"e"] = b""
        db.compact_range()
        assert list(db) == [b"e", b"d", b"c", b"b", b"a"] and b"c" in db
        assert list(db.keys(b"d", b"b")) == [b"d", b"c"]
        assert db.comparator_name == "backwards"
        with pytest.raises(esker.NotSupported):
            db.keys(prefix=b"d")
    with pytest.raises(esker.InvalidArgument):
        esker.DB(path)
    with esker.open(path.with_name("other"), comparator="rocksdb.ReverseBytewiseComparator") as db:
        db.update({b"a": b"", b"b": b""})
        assert list(db) == [b"b", b"a"]


def test_a_comparator_that_raises_is_an_error(path: Path) -> None:
    class Broken(Backwards):
        broken = False

        def compare(self, a: bytes, b: bytes) -> int:  # type: ignore[override]
            if self.broken:
                raise LookupError("no order")
            return Backwards.compare(a, b)

    order = Broken()
    with esker.open(path, comparator=order) as db:
        db.update({b"%d" % number: b"" for number in range(50)})
        order.broken = True
        for call in (lambda: db.get(b"5"), lambda: db.cursor().seek(b"5")):
            with pytest.raises(esker.Error) as raised:
                call()
            assert isinstance(raised.value.__cause__, LookupError)
            assert "no order" in str(raised.value)
        order.broken = False
        assert len(list(db)) == 50


def test_callbacks_run_while_other_threads_work(path: Path) -> None:
    def join(key: bytes, existing: bytes | None, operands: list[bytes]) -> bytes:
        return (existing or b"") + b"".join(operands)

    with esker.open(
        path,
        merge_operator=join,
        compaction_filter=lambda key, value: None,
        write_buffer_size=64 << 10,
        level0_file_num_compaction_trigger=2,
    ) as db:

        def work(thread: int) -> None:
            for number in range(400):
                db.merge(b"%d-%d" % (thread, number % 20), b"x" * 20)
                if number % 50 == 0:
                    db.flush()
                    len(list(db.items()))

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        db.wait_for_compact()
        assert {len(value) for value in db.values()} == {400}


def test_a_program_that_forgets_to_close_ends(path: Path) -> None:
    """Threads of the engine may be calling Python code when the interpreter ends."""
    program = """
import sys, esker
keep = esker.open(sys.argv[1], merge_operator=lambda k, e, o: b"".join(o), compaction_filter=lambda k, v: None,
    write_buffer_size=65536, level0_file_num_compaction_trigger=2)
for number in range(3000):
    keep.merge(b"%d" % (number % 500), b"x" * 100)
scan = keep.items()
next(scan)
print("end")
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, timeout=120, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
