"""The exceptions of the package: RocksDB's statuses, below `Error`."""

from __future__ import annotations

import builtins


class Error(Exception):
    """An error of the engine. Its text begins with RocksDB's words for it.

    `kind` is the name of the status, `file` and `offset` say where the damage is, if that is known. An exception that Python code raised on
    the way (a merge operator, a comparator) is the `__cause__`.
    """

    kind: str = ""
    file: str | None = None
    offset: int | None = None


class NotFound(Error, LookupError):
    """Something asked for by name does not exist. Absent keys raise `KeyError`, or give `None`."""


class Corruption(Error):
    """Bytes on disk are not what they must be."""


class NotSupported(Error, NotImplementedError):
    """The request is valid, but the engine does not do it."""


class InvalidArgument(Error, ValueError):
    """The caller passed something that can never work."""


class IOError(Error, builtins.OSError):
    """The operating system refused or failed."""


class LockHeld(IOError):
    """Another process, or this one, has the database open."""


class NoSpace(IOError):
    """The disk, or the space allowed, is full."""


class ReadOnly(IOError):
    """An earlier write or sync failed, and the database takes no more writes until it is opened again."""


class MergeFailed(Corruption):
    """A merge could not be resolved."""


class Incomplete(Error):
    """The answer is not known without doing what the caller forbade."""


class ShutdownInProgress(Error):
    """The database is closed."""


class TimedOut(Error, TimeoutError):
    """A limit of time ran out."""


class Expired(Error):
    """The time limit of a transaction is over."""


class Aborted(Error):
    """Stopped on request."""


class Panicked(Aborted):
    """Code of the user's (a comparator, a filter) raised where something would have been left half done."""


class Busy(Error):
    """A resource is in use; trying again may work."""


class TryAgain(Error):
    """A conflict that a new attempt may not meet."""


class ColumnFamilyDropped(Error):
    """The column family was dropped."""


_KINDS: dict[str, type[Error]] = {
    "NotFound": NotFound,
    "Corruption": Corruption,
    "NotSupported": NotSupported,
    "InvalidArgument": InvalidArgument,
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
