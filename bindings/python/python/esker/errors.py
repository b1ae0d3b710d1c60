"""The exceptions of the package: RocksDB's statuses, below `Error`."""

from __future__ import annotations

import builtins


class Error(Exception):
    """An error of the engine. Its text begins with RocksDB's words for the status.

    `kind` is the name of the status. `file` and `offset` locate the damage, if the location is known. If
    Python code (a merge operator, a comparator) has raised an exception during the call, that is the
    `__cause__`.
    """

    kind: str = ""
    file: str | None = None
    offset: int | None = None


class NotFound(Error, LookupError):
    """A named object does not exist. An absent key raises `KeyError`, or returns `None`."""


class Corruption(Error):
    """Data on disk is corrupt."""


class NotSupported(Error, NotImplementedError):
    """The request is valid, but the engine does not support it."""


class InvalidArgument(Error, ValueError):
    """An argument is invalid; the call can never succeed."""


class NoDatabase(InvalidArgument):
    """No database is in the directory, and `create_if_missing` is off."""


class ComparatorMismatch(InvalidArgument):
    """The database was written in the order of another comparator."""


class IOError(Error, builtins.OSError):
    """A call of the operating system failed."""


class LockHeld(IOError):
    """Another process, or this one, has the database open."""


class NoSpace(IOError):
    """The disk, or the permitted space, is full."""


class ReadOnly(IOError):
    """An earlier write or sync failed, and the database accepts no writes until it is reopened."""


class MergeFailed(Corruption):
    """A merge could not be resolved."""


class Incomplete(Error):
    """The result is unknown without an operation that the caller has forbidden."""


class ShutdownInProgress(Error):
    """The database is closed."""


class TimedOut(Error, TimeoutError):
    """A time limit expired."""


class Expired(Error):
    """The time limit of a transaction expired."""


class Aborted(Error):
    """The operation was stopped on request."""


class Panicked(Aborted):
    """User code (a comparator, a filter) raised an exception where it would have left an operation
    incomplete."""


class Busy(Error):
    """A resource is in use; a retry may succeed."""


class TryAgain(Error):
    """A conflict with another write; a retry may succeed."""


class ColumnFamilyDropped(Error):
    """The column family was dropped."""


_KINDS: dict[str, type[Error]] = {
    "NotFound": NotFound,
    "Corruption": Corruption,
    "NotSupported": NotSupported,
    "InvalidArgument": InvalidArgument,
    "NoDatabase": NoDatabase,
    "ComparatorMismatch": ComparatorMismatch,
    "Io": IOError,
    "MergeFailed": MergeFailed,
    "Incomplete": Incomplete,
    "ShutdownInProgress": ShutdownInProgress,
    "TimedOut": TimedOut,
    "Expired": Expired,
    "Aborted": Aborted,
    "Busy": Busy,
    "TryAgain": TryAgain,
    "ColumnFamilyDropped": ColumnFamilyDropped,
    "LockHeld": LockHeld,
    "NoSpace": NoSpace,
    "ReadOnly": ReadOnly,
    "Panicked": Panicked,
}


def _of_kind(kind: str, text: str, file: str | None, offset: int | None) -> Error:
    error = _KINDS.get(kind, Error)(text)
    error.kind = kind
    error.file = file
    error.offset = offset
    return error
