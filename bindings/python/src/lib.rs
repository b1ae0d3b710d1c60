//! The module `esker._esker`: the engine for Python. `docs/python.md` and the stubs of the package document
//! its classes and functions.
//!
//! The GIL is released around every call of the engine, and around drops that may close a database:
//! background threads may be waiting for the GIL to call a merge operator or a compaction filter. A lock of
//! this crate is taken without the GIL, and released before the GIL is taken again.

#![deny(unsafe_code)]

mod arrow;
mod backup_engine;
mod bytes;
mod cache;
mod call;
mod column_family;
mod compaction_filter;
mod comparator;
mod cursor;
mod db;
mod merge_operator;
mod operation;
mod options;
mod range;
mod reader;
mod reads;
mod scan;
mod shared;
mod snapshot;
mod sst_file_writer;
mod statistics;
mod transaction;
mod write_batch;
mod writes;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _esker {
    #[pymodule_export]
    use super::arrow::{ArrowArray, ArrowStream};
    #[pymodule_export]
    use super::backup_engine::BackupEngine;
    #[pymodule_export]
    use super::cache::{Cache, RateLimiter, WriteBufferManager};
    #[pymodule_export]
    use super::column_family::ColumnFamily;
    #[pymodule_export]
    use super::cursor::Cursor;
    #[pymodule_export]
    use super::db::{DB, destroy, list_column_families, load_options, option_names, repair};
    #[pymodule_export]
    use super::merge_operator::{MergeOperator, string_append};
    #[pymodule_export]
    use super::reader::Reader;
    #[pymodule_export]
    use super::scan::Scan;
    #[pymodule_export]
    use super::shared::close_all;
    #[pymodule_export]
    use super::snapshot::Snapshot;
    #[pymodule_export]
    use super::sst_file_writer::SstFileWriter;
    #[pymodule_export]
    use super::statistics::Statistics;
    #[pymodule_export]
    use super::transaction::{OptimisticTransactionDB, Transaction, TransactionDB};
    #[pymodule_export]
    use super::write_batch::WriteBatch;
}
