"""Debian's balboa-rocksdb, a server of passive DNS, over RocksDB and over Esker in turn, on one directory.

through_balboa.py SERVER THEIRS OURS DIR: SERVER is the program, THEIRS and OURS are directories with a
librocksdb.so.7.8. Each check prints `test NAME ... ok` or `test NAME ... FAILED`, after the reason.
"""

import os
import shutil
import socket
import struct
import subprocess
import sys
import time

SERVER, THEIRS, OURS, DIR = sys.argv[1:5]
INPUT, QUERY, BACKUP, DUMP = 1, 2, 3, 4
DATA, END = 131, 132


# The part of MessagePack that the protocol uses.
def packed(value):
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return struct.pack(">BI", 0xCE, value)
    if isinstance(value, str):
        data = value.encode()
        return struct.pack(">BH", 0xDA, len(data)) + data
    if isinstance(value, bytes):
        return struct.pack(">BH", 0xC5, len(value)) + value
    if isinstance(value, Seconds):
        return b"\xd6\xff" + struct.pack(">I", value.seconds)
    return bytes([0x80 | len(value)]) + b"".join(packed(part) for pair in value.items() for part in pair)


class Seconds:
    def __init__(self, seconds):
        self.seconds = seconds


class Reader:
    """Reads values from bytes, and more bytes when it needs them."""

    def __init__(self, more):
        self.data, self.more = b"", more

    def take(self, count):
        while len(self.data) < count:
            part = self.more()
            if not part:
                raise EOFError
            self.data += part
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def number(self, size):
        return int.from_bytes(self.take(size), "big")

    def value(self):
        head = self.number(1)
        if head < 0x80:
            return head
        if head < 0x90:
            return {self.value(): self.value() for _ in range(head & 15)}
        if 0xA0 <= head < 0xC0:
            return self.take(head & 31).decode()
        if head in (0xC4, 0xC5, 0xC6):
            return self.take(self.number(1 << (head - 0xC4)))
        if 0xCC <= head <= 0xCF:
            return self.number(1 << (head - 0xCC))
        if 0xD0 <= head <= 0xD3:
            size = 1 << (head - 0xD0)
            return int.from_bytes(self.take(size), "big", signed=True)
        if head == 0xD6:
            self.take(1)
            return self.number(4)
        if head in (0xD9, 0xDA, 0xDB):
            return self.take(self.number(1 << (head - 0xD9))).decode()
        raise ValueError(f"a value begins with {head:#x}")


class Balboa:
    """A running server."""

    def __init__(self, library, place):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.library = f"{library}/librocksdb.so.7.8"
        self.log = open(f"{DIR}/server.log", "ab")
        self.process = subprocess.Popen(
            [SERVER, "-d", place, "-p", str(self.port), "-R", "-j", "4", "--parallelism", "2"],
            env=dict(os.environ, LD_LIBRARY_PATH=library),
            stdout=self.log,
            stderr=self.log,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()

    def check_library(self):
        with open(f"/proc/{self.process.pid}/maps") as maps:
            if os.path.realpath(self.library) not in maps.read():
                raise RuntimeError(f"the server does not use the library of {self.library}")

    def connected(self):
        for _ in range(600):
            try:
                connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
                self.check_library()
                return connection
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    raise RuntimeError("the server has ended") from None
                time.sleep(0.1)
        raise RuntimeError("the server does not listen")

    def observe(self, observations):
        with self.connected() as connection:
            for name, kind, data, sensor, count, first, last in observations:
                entry = {"C": count, "F": Seconds(first), "L": Seconds(last), "D": data, "N": name, "T": kind, "I": sensor}
                connection.sendall(packed({"T": INPUT, "M": packed(entry)}))
            # Messages of a connection are handled in order.
            self.asked(connection, "nothing", "")

    def asked(self, connection, name, data):
        query = {"Qrdata": data, "Qrrname": name, "Qrrtype": "", "QsensorID": ""}
        query.update({"Hrdata": data != "", "Hrrname": name != "", "Hrrtype": False, "HsensorID": False, "Limit": 1000})
        connection.sendall(packed({"T": QUERY, "M": packed(query)}))
        reader = Reader(lambda: connection.recv(65536))
        found = set()
        while True:
            message = reader.value()
            if message["T"] == END:
                return found
            if message["T"] == DATA:
                whole = Reader(lambda: b"")
                whole.data = message["M"]
                row = whole.value()
                found.add(tuple(row[field] for field in "NTDICFL"))

    def of(self, name="", data=""):
        with self.connected() as connection:
            return self.asked(connection, name, data)

    def ordered(self, kind, path):
        """Sends a request for a backup or a dump, and returns all that comes until the server closes."""
        with self.connected() as connection:
            connection.sendall(packed({"T": kind, "M": packed({"P": path})}))
            connection.shutdown(socket.SHUT_WR)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
        return b"".join(parts)

    def dump(self):
        reader = Reader(lambda: b"")
        reader.data = self.ordered(DUMP, "-")
        found = set()
        while reader.data:
            row = reader.value()
            text = [row[at] if isinstance(row[at], int) else row[at].decode() for at in range(7)]
            found.add(tuple(text))
        return found


class Model:
    """What the server is to know: counts add up, times widen."""

    def __init__(self):
        self.rows = {}

    def observe(self, observations):
        for name, kind, data, sensor, count, first, last in observations:
            key = (name, kind, data, sensor)
            old = self.rows.get(key, (0, first, last))
            self.rows[key] = (old[0] + count, min(old[1], first), max(old[2], last))
        return observations

    def all(self):
        return {key + value for key, value in self.rows.items()}


def observations(begin, end):
    return [
        (f"host{at % 97}.example.org", ("A", "AAAA", "CNAME")[at % 3], f"192.0.2.{at % 251}", f"sensor{at % 5}", at % 7 + 1,
         1_500_000_000 + at * 10, 1_600_000_000 + at)
        for at in range(begin, end)
    ]


def restore(library, backup, place):
    """Restores the newest backup through a library, in a process of its own."""
    source = (
        "import ctypes, sys\n"
        "lib = ctypes.CDLL(sys.argv[1])\n"
        "p, c = ctypes.c_void_p, ctypes.c_char_p\n"
        "for name in ('options_create', 'restore_options_create', 'backup_engine_open'):\n"
        "    getattr(lib, 'rocksdb_' + name).restype = p\n"
        "error = c()\n"
        "engine = p(lib.rocksdb_backup_engine_open(p(lib.rocksdb_options_create()), c(sys.argv[2].encode()), ctypes.byref(error)))\n"
        "assert error.value is None, error.value\n"
        "to = c(sys.argv[3].encode())\n"
        "lib.rocksdb_backup_engine_restore_db_from_latest_backup(engine, to, to, p(lib.rocksdb_restore_options_create()), ctypes.byref(error))\n"
        "assert error.value is None, error.value\n"
        "lib.rocksdb_backup_engine_close(engine)\n"
    )
    command = [sys.executable, "-c", source, f"{library}/librocksdb.so.7.8", backup, place]
    subprocess.run(command, check=True, env=dict(os.environ, LD_LIBRARY_PATH=library))


def check(name, run):
    try:
        run()
    except Exception as error:  # Every failure is a result.
        print(f"    {name}: {type(error).__name__}: {str(error)[:400]}")
        print(f"test {name} ... FAILED")
    else:
        print(f"test {name} ... ok")
    sys.stdout.flush()


def demand(found, wanted):
    assert found == wanted, f"{len(found)} rows for {len(wanted)}; {sorted(found ^ wanted)[:3]}"


def main():
    shutil.rmtree(DIR, ignore_errors=True)
    os.makedirs(DIR)
    place = f"{DIR}/database"
    model = Model()
    libraries = {"rocksdb": THEIRS, "esker": OURS}

    def turn(library, begin, end):
        """Checks all rows, adds some, and checks again."""
        with Balboa(libraries[library], place) as server:
            if model.rows:
                demand(server.dump(), model.all())
            server.observe(model.observe(observations(begin, end)))
            demand(server.dump(), model.all())
            for name in ("host0.example.org", "host42.example.org", "nothing.example.org"):
                demand(server.of(name=name), {row for row in model.all() if row[0] == name})
            demand(server.of(data="192.0.2.9"), {row for row in model.all() if row[2] == "192.0.2.9"})

    turns = [("rocksdb", 0, 400), ("esker", 300, 900), ("rocksdb", 700, 1200), ("esker", 0, 300), ("rocksdb", 1200, 1300)]
    for at, (library, begin, end) in enumerate(turns):
        check(f"turn_{at + 1}_{library}", lambda: turn(library, begin, end))

    def backup(maker, restorer):
        kept, copy = f"{DIR}/backup-{maker}", f"{DIR}/restored-{maker}"
        with Balboa(libraries[maker], place) as server:
            server.ordered(BACKUP, kept)
            demand(server.dump(), model.all())
        restore(libraries[restorer], kept, copy)
        with Balboa(libraries[restorer], copy) as server:
            demand(server.dump(), model.all())

    check("backup_of_esker_restored_by_rocksdb", lambda: backup("esker", "rocksdb"))
    check("backup_of_rocksdb_restored_by_esker", lambda: backup("rocksdb", "esker"))


main()
