//! Files: the caches of open ones, the deletion of obsolete ones, their checksums and their copies.

pub(crate) mod archived_wals;
pub(crate) mod blob_cache;
pub(crate) mod blob_cache_charge;
pub(crate) mod charged_reads;
pub(crate) mod copy;
pub(crate) mod deletion;
pub(crate) mod dropped_families;
pub(crate) mod feed_cursor;
pub(crate) mod file_checksum;
pub(crate) mod lost;
pub(crate) mod obsolete_files;
pub(crate) mod open_limit;
pub(crate) mod pinned_value;
pub(crate) mod read_latency;
pub(crate) mod row_cache;
pub(crate) mod session_id;
pub(crate) mod table_cache;
pub(crate) mod table_place;
pub(crate) mod timed_file;
pub(crate) mod unread_wals;
pub(crate) mod wal_archive;
