//! Tests of the MVCC layer over real databases.

extern crate esker_mvcc as mvcc;

mod blob_files;
mod bottom;
mod compactions;
mod costs;
mod crash;
mod files;
mod fingerprint;
mod history;
mod key_batches;
mod memtables_first;
mod model;
mod old_versions;
mod oracle;
mod races;
mod range_tombstones;
mod recount;
mod row_limit;
mod threshold;
mod times;
mod window;
mod ycsb;
