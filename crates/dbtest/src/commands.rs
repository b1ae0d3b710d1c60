//! The commands of data-driven tests.
