"""The types of user code that the engine calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypedDict, runtime_checkable

Decision = (
    bool
    | bytes
    | Literal["keep", "remove", "purge"]
    | tuple[Literal["skip_until"], bytes]
    | dict[bytes, bytes]
    | None
)
"""The decision of a compaction filter about an entry. `None`, `False` and `"keep"`: the entry stays. `True`
and `"remove"`: the entry is deleted. Bytes replace its value. `"purge"`: the entry is deleted by a single
deletion. `("skip_until", key)`: all entries from this one to `key`, exclusive, are dropped. A dict
makes the entry a wide-column entity of these columns."""

FullMerge = Callable[[bytes, bytes | None, list[bytes]], bytes | None]
"""Returns the value of a key from its older value, if it has one, and the operands from oldest to newest.
`None`: the merge fails."""

Filter = Callable[[bytes, bytes], Decision]
"""Decides about an entry by its key and value."""


@runtime_checkable
class Comparator(Protocol):
    """An order of keys. It must be total, and must never change for a database, whose files contain its
    name."""

    @property
    def name(self) -> str: ...

    def compare(self, a: bytes, b: bytes, /) -> int:
        """Returns a negative number if `a` comes before `b`, 0 if they are equal, a positive number if `a`
        comes after `b`."""


@runtime_checkable
class MergeOperatorObject(Protocol):
    """A merge operator. It may also have `partial_merge(key, older, newer)`, which returns one operand with
    the effect of both, or `None`."""

    @property
    def name(self) -> str: ...

    def full_merge(self, key: bytes, existing: bytes | None, operands: list[bytes], /) -> bytes | None:
        """Returns the merged value, as `FullMerge` does."""


@runtime_checkable
class CompactionFilter(Protocol):
    """A compaction filter that gets the level and the kind of an entry, too."""

    def filter(
        self,
        level: int,
        key: bytes,
        kind: Literal["value", "merge_operand"],
        value: bytes,
        /,
    ) -> Decision:
        """Decides about an entry in a compaction of files from `level`. A filter may also have
        `filter_entity(level, key, columns)`, which decides about wide-column entities by a dict of their
        columns; without it they are kept."""


class FilterContext(TypedDict):
    """The compaction for which a filter is created."""

    is_full_compaction: bool
    is_manual_compaction: bool
    column_family_id: int
    input_start_level: int | None
    oldest_snapshot: int


CompactionFilterFactory = Callable[[FilterContext], Filter | CompactionFilter | None]
"""Creates a filter for each compaction. `None`: the compaction filters no entries."""
