//! Commands over a database for tests.
