"""Merge operators that run without Python code, for the option `merge_operator`."""

from esker._esker import string_append

uint64add = "UInt64AddOperator"
"""Adds little-endian 64-bit numbers: RocksDB's `UInt64AddOperator`."""

put = "PutOperator"
"""Keeps the newest operand."""

__all__ = ["put", "string_append", "uint64add"]
