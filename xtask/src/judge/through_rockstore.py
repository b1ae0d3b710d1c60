# Tests each method of rockstore over the library that the loader finds, and prints `ok NAME` or `FAILED NAME:
# why` for each test. argv[1] is a directory for databases.
import os
import sys

from rockstore import RockStore, open_database

PLACE = sys.argv[1]
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def path(name):
    return os.path.join(PLACE, name)


def rows(count):
    return [(b"key%05d" % number, b"value%d" % number * 3) for number in range(count)]


@test
def the_library_is_ours(name):
    with open_database(path(name)):
        with open("/proc/self/maps") as maps:
            loaded = {line.split()[-1] for line in maps if "librocksdb" in line}
    assert loaded == {os.path.join(os.environ["LD_LIBRARY_PATH"], "librocksdb.so")}, loaded


@test
def put_get_and_delete(name):
    with open_database(path(name)) as db:
        assert db.get(b"a") is None
        db.put(b"a", b"1")
        db.put(b"a", b"2", sync=True)
        assert db.get(b"a") == b"2"
        db.delete(b"a")
        assert db.get(b"a") is None


@test
def empty_and_binary(name):
    with open_database(path(name)) as db:
        binary = bytes(range(256))
        db.put(b"", b"of the empty key")
        db.put(binary, binary)
        db.put(b"empty", b"")
        assert db.get(b"") == b"of the empty key"
        assert db.get(binary) == binary
        assert db.get(b"empty") == b""


@test
def a_long_value(name):
    value = os.urandom(5_000_000)
    with open_database(path(name)) as db:
        db.put(b"long", value)
    with open_database(path(name)) as db:
        assert db.get(b"long") == value


@test
def rows_are_there_after_a_reopen(name):
    with open_database(path(name)) as db:
        for key, value in rows(3000):
            db.put(key, value)
    with open_database(path(name)) as db:
        assert db.get_all() == dict(rows(3000))


@test
def ranges(name):
    with open_database(path(name)) as db:
        for key, value in rows(100):
            db.put(key, value)
        some = db.get_range(b"key00010", b"key00019")
        assert list(some)[0] == b"key00010" and len(some) == 10, some
        assert len(db.get_range(b"key00010", None, limit=5)) == 5
        assert len(db.get_range(None, None)) == 100


@test
def iteration(name):
    with open_database(path(name)) as db:
        for key, value in rows(500):
            db.put(key, value)
        assert list(db.iterate_range(None, None)) == rows(500)
        assert next(iter(db.iterate_range(b"key00123", None))) == rows(500)[123]


@test
def batches(name):
    with open_database(path(name)) as db:
        db.write_batch(rows(1000))
        db.delete_batch([key for key, _ in rows(1000)[::2]], sync=True)
        assert list(db.iterate_range(None, None)) == rows(1000)[1::2]


@test
def reading_only(name):
    with open_database(path(name)) as db:
        db.put(b"a", b"1")
    with open_database(path(name), {"read_only": True}) as db:
        assert db.get(b"a") == b"1"
        try:
            db.put(b"b", b"2")
        except IOError:
            pass
        else:
            raise AssertionError("it could be written")


@test
def a_missing_database_is_an_error(name):
    try:
        RockStore(path(name), {"create_if_missing": False})
    except RuntimeError as error:
        assert "does not exist (create_if_missing is false)" in str(error), error
    else:
        raise AssertionError("it was made")


@test
def a_second_open_is_an_error(name):
    with open_database(path(name)):
        try:
            RockStore(path(name))
        except RuntimeError as error:
            assert "LOCK" in str(error), error
        else:
            raise AssertionError("it was opened twice")


@test
def each_compression(name):
    kinds = ["no", "snappy", "zlib", "bz2", "lz4", "lz4hc", "zstd"]
    for kind in kinds:
        options = {"compression_type": kind + "_compression", "write_buffer_size": 100_000}
        with open_database(path(name), options) as db:
            for key, value in rows(4000):
                db.put(kind.encode() + key, value * 10)
    with open_database(path(name), {"max_open_files": 10}) as db:
        for kind in kinds:
            for key, value in rows(4000)[::97]:
                assert db.get(kind.encode() + key) == value * 10, (kind, key)


for function in TESTS:
    try:
        function(function.__name__)
        print("ok", function.__name__, flush=True)
    except Exception as error:
        print(f"FAILED {function.__name__}: {type(error).__name__}: {error}", flush=True)
