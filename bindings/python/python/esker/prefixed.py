"""A part of a database with its own key prefix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from esker._esker import ColumnFamily, Reader


def _behind(prefix: bytes) -> bytes | None:
    """Returns the first key after all keys that begin with `prefix`; `None` if there is none."""
    for at in range(len(prefix) - 1, -1, -1):
        if prefix[at] != 0xFF:
            return prefix[:at] + bytes([prefix[at] + 1])
    return None


class Prefixed:
    """The keys of `family` that begin with `prefix`, as a mapping of the keys without the prefix."""

    def __init__(self, family: ColumnFamily | Reader, prefix: bytes) -> None:
        self.family: Any = family
        self.prefix = bytes(prefix)

    def _inside(self, key: Any) -> bytes:
        return self.prefix + bytes(memoryview(key))

    def get(self, key: Any, default: Any = None, **read_options: Any) -> Any:
        """Returns the value of `key`, or `default`."""
        return self.family.get(self._inside(key), default, **read_options)

    def __getitem__(self, key: Any) -> bytes:
        value: bytes | None = self.family.get(self._inside(key))
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: Any) -> bool:
        return self._inside(key) in self.family

    def put(self, key: Any, value: Any, **write_options: Any) -> None:
        """Sets `key` to `value`."""
        self.family.put(self._inside(key), value, **write_options)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def delete(self, key: Any, **write_options: Any) -> None:
        """Deletes `key`, whether or not it exists."""
        self.family.delete(self._inside(key), **write_options)

    def __delitem__(self, key: Any) -> None:
        self.delete(key)

    def merge(self, key: Any, operand: Any, **write_options: Any) -> None:
        """Adds `operand` to the value of `key`, by the family's merge operator."""
        self.family.merge(self._inside(key), operand, **write_options)

    def prefixed(self, prefix: Any) -> Prefixed:
        """Returns the keys of this part that begin with `prefix`, as a part of its own."""
        return Prefixed(self.family, self._inside(prefix))

    def bounds(
        self,
        start: Any = None,
        stop: Any = None,
        *,
        include_start: bool = True,
        include_stop: bool = False,
        prefix: Any = None,
    ) -> dict[str, Any]:
        """Returns the family's range for bounds of this part, as keywords of `items`, `keys`, `values` and
        `cursor`."""
        if prefix is not None:
            if start is not None or stop is not None:
                raise TypeError("prefix excludes start and stop")
            return {"prefix": self._inside(prefix)}
        if start is None and stop is None:
            return {"prefix": self.prefix}
        range: dict[str, Any] = {"include_start": include_start, "include_stop": include_stop}
        range["start"] = self.prefix if start is None else self._inside(start)
        if start is None:
            range["include_start"] = True
        if stop is not None:
            range["stop"] = self._inside(stop)
        else:
            range["stop"] = _behind(self.prefix)
            range["include_stop"] = False
        return range

    def items(self, start: Any = None, stop: Any = None, **options: Any) -> Iterator[tuple[bytes, bytes]]:
        """Iterates over the keys, without the prefix, and values of a range."""
        length = len(self.prefix)
        for key, value in self.family.items(**self._range(start, stop, options)):
            yield key[length:], value

    def keys(self, start: Any = None, stop: Any = None, **options: Any) -> Iterator[bytes]:
        """Iterates over the keys of a range, without the prefix."""
        length = len(self.prefix)
        for key in self.family.keys(**self._range(start, stop, options)):
            yield key[length:]

    def values(self, start: Any = None, stop: Any = None, **options: Any) -> Iterator[bytes]:
        """Iterates over the values of a range."""
        values: Iterator[bytes] = self.family.values(**self._range(start, stop, options))
        return values

    def _range(self, start: Any, stop: Any, options: dict[str, Any]) -> dict[str, Any]:
        bounds = {name: options.pop(name) for name in ("include_start", "include_stop", "prefix") if name in options}
        return {**options, **self.bounds(start, stop, **bounds)}

    def __iter__(self) -> Iterator[bytes]:
        return self.keys()
