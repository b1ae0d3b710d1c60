"""Transactions with locks, and optimistic ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import esker
import pytest


@pytest.fixture
def bank(path: Path) -> Iterator[esker.TransactionDB]:
    with esker.TransactionDB(path, create_if_missing=True, transaction_db_options={"default_lock_timeout": 0}) as db:
        db.update({b"alice": b"100", b"bob": b"0"})
        yield db


def test_a_transaction_is_a_block(bank: esker.TransactionDB) -> None:
    with bank.transaction() as transfer:
        assert transfer.get_for_update(b"alice") == b"100"
        transfer[b"alice"] = b"70"
        transfer.put(b"bob", b"30")
        del transfer[b"nobody"]
        assert transfer[b"alice"] == b"70" and b"nobody" not in transfer
        assert list(transfer.items()) == [(b"alice", b"70"), (b"bob", b"30")]
        assert list(transfer.items(reverse=True, prefix=b"a")) == [(b"alice", b"70")]
        cursor = transfer.cursor()
        assert cursor.seek_to_last() and cursor.value == b"30"
        assert bank[b"alice"] == b"100"
    assert bank[b"alice"] == b"70" and transfer.state == "Committed"
    with pytest.raises(RuntimeError), bank.transaction() as transfer:
        transfer[b"alice"] = b"0"
        raise RuntimeError
    assert bank[b"alice"] == b"70"
    bank[b"alice"] = b"1"


def test_locks_keep_others_out(bank: esker.TransactionDB) -> None:
    first, second = bank.transaction(), bank.transaction(lock_timeout=0)
    first.put(b"alice", b"1")
    with pytest.raises(esker.TimedOut):
        second.put(b"alice", b"2")
    with pytest.raises(esker.TimedOut):
        bank.put(b"alice", b"3")
    with pytest.raises(esker.TimedOut):
        second.get_for_update(b"alice", exclusive=False)
    first.commit()
    second.put(b"alice", b"2")
    second.rollback()
    assert bank[b"alice"] == b"1"


def test_a_deadlock_is_found(bank: esker.TransactionDB) -> None:
    first = bank.transaction(deadlock_detect=True, lock_timeout=-1)
    second = bank.transaction(deadlock_detect=True, lock_timeout=60_000)
    first.put(b"alice", b"1")
    second.put(b"bob", b"2")
    errors: list[esker.Error] = []

    def wait() -> None:
        try:
            second.put(b"alice", b"2")
        except esker.Error as error:
            errors.append(error)
            second.rollback()

    other = threading.Thread(target=wait)
    other.start()
    try:
        first.set_snapshot()
        first.get_for_update(b"bob")
    except esker.Error as error:
        errors.append(error)
        first.rollback()
    other.join()
    assert len(errors) == 1 and isinstance(errors[0], (esker.Busy, esker.TimedOut))


def test_save_points_and_families(bank: esker.TransactionDB) -> None:
    other = bank.create_column_family("other")
    with bank.transaction() as transaction:
        transaction.put(b"k", b"1", column_family=other)
        transaction.set_save_point()
        transaction.put(b"k", b"2", column_family=other)
        transaction.rollback_to_save_point()
        with pytest.raises(esker.NotFound):
            transaction.rollback_to_save_point()
        assert transaction.get(b"k", column_family=other) == b"1" and transaction.get(b"k", b"-") == b"-"
    assert other[b"k"] == b"1" and b"k" not in bank


def test_two_phases_outlive_the_process(path: Path) -> None:
    with esker.TransactionDB(path, create_if_missing=True) as db:
        transaction = db.transaction()
        transaction.set_name(b"name")
        transaction.put(b"k", b"v")
        transaction.prepare()
        assert transaction.state == "Prepared"
        assert b"k" not in db
    with pytest.raises(esker.ShutdownInProgress):
        transaction.commit()
    with esker.TransactionDB(path) as db:
        assert db.transaction_by_name(b"other") is None
        (found,) = db.prepared_transactions()
        assert found.name == b"name" and b"k" not in db
        found.commit()
        assert db[b"k"] == b"v"


def test_optimistic_transactions_fail_at_their_commit(path: Path) -> None:
    with esker.OptimisticTransactionDB(path, create_if_missing=True) as db:
        db[b"k"] = b"0"
        with db.transaction() as transaction:
            transaction.get_for_update(b"k")
            transaction.put(b"k", b"1")
        assert db[b"k"] == b"1"
        with pytest.raises((esker.Busy, esker.TryAgain)), db.transaction() as transaction:
            transaction.get_for_update(b"k")
            db[b"k"] = b"meanwhile"
            transaction.put(b"k", b"2")
        assert db[b"k"] == b"meanwhile"
        with pytest.raises(TypeError):
            db.transaction(nonsense=True)


def test_a_transaction_keeps_its_database_open(path: Path) -> None:
    db = esker.TransactionDB(path, create_if_missing=True)
    transaction = db.transaction()
    transaction.put(b"k", b"v")
    del db
    transaction.commit()
    with pytest.raises(esker.LockHeld):
        esker.open(path)
    del transaction
    with esker.open(path) as plain:
        assert plain[b"k"] == b"v"
