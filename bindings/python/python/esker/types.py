"""The forms that code of the user's has, which the engine calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypedDict, runtime_checkable

Decision = (
    bool
    | bytes
    | Literal["keep", "remove", "purge"]
    | tuple[Literal["skip_until"], bytes]
    | None
)
"""The fate of an entry that is compacted. `None`, `False` and `"keep"`: it stays. `True` and `"remove"`: it is deleted. Bytes: they are
its value from now on. `"purge"`: as remove, by a single deletion. `("skip_until", key)`: all vanish from it up to `key`, exclusive."""

FullMerge = Callable[[bytes, bytes | None, list[bytes]], bytes | None]
"""The value of a key from its older value, if there is one, and the operands from oldest to newest. `None`: they cannot be merged."""

Filter = Callable[[bytes, bytes], Decision]
"""Decides about key and value."""


@runtime_checkable
class Comparator(Protocol):
    """An order of keys. It must be total and never change for a database, whose files hold its name."""

    @property
    def name(self) -> str: ...

    def compare(self, a: bytes, b: bytes, /) -> int:
        """Below 0 if `a` comes before `b`, 0 if they are the same, above 0 if `a` comes behind `b`."""


@runtime_checkable
class MergeOperatorObject(Protocol):
    """A merge operator. It may also have `partial_merge(key, older, newer)`: one operand that does what both would, or `None`."""

    @property
    def name(self) -> str: ...

    def full_merge(self, key: bytes, existing: bytes | None, operands: list[bytes], /) -> bytes | None:
        """See `FullMerge`."""


@runtime_checkable
class CompactionFilter(Protocol):
    """A compaction filter that is shown all there is."""

    def filter(
        self,
        level: int,
        key: bytes,
        kind: Literal["value", "merge_operand", "wide_column_entity"],
        value: bytes,
        /,
    ) -> Decision:
        """Decides about an entry that is compacted from `level`."""


class FilterContext(TypedDict):
    """The compaction that a filter is made for."""

    is_full_compaction: bool
    is_manual_compaction: bool
    column_family_id: int
    input_start_level: int | None
    oldest_snapshot: int


CompactionFilterFactory = Callable[[FilterContext], Filter | CompactionFilter | None]
"""Makes a filter for each compaction; `None`: nothing is filtered."""
