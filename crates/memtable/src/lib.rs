//! The in-memory table: an arena, a concurrent skip list, and range tombstones.
