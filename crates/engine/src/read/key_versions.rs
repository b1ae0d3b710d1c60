//! Every version of the keys of a family, with sequence numbers and types: RocksDB's `GetAllKeyVersions`.

use base::internal_key::ParsedInternalKey;
use base::{Cursor, Kind, MAX_SEQNO, Result, SeqNo};

use crate::read::merging_cursor::before_key;
use crate::read::sources::{self, SourceOptions};
use crate::state::column_family::ColumnFamily;
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;

/// One version of a key, as memtables and tables have it.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// db.put(b"key", b"old")?;
/// let snapshot = db.snapshot();
/// db.put(b"key", b"new")?;
/// let versions = db.get_all_key_versions(&db.default_column_family(), None, None, 100)?;
/// assert_eq!(versions[0].value, b"new");
/// assert!(versions[0].sequence > snapshot.sequence_number());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyVersion {
    /// The user key, with its timestamp in families that have them.
    pub user_key: Vec<u8>,
    /// The value in its stored form: for a value in a blob file its index, for an entity its encoding; empty
    /// for deletions.
    pub value: Vec<u8>,
    /// The sequence number; 0 if a compaction has dropped it.
    pub sequence: SeqNo,
    /// The type of the entry.
    pub kind: Kind,
}

impl Db {
    /// Returns every version of the keys of `family` from `begin` up to `end`, exclusive, in order, the
    /// newest version of each key first; at most `max_num_ikeys` of them. Range deletions are not returned,
    /// and neither are the versions that they cover. For debugging: the result is in memory as a whole.
    ///
    /// # Errors
    /// `InvalidArgument` for a family of another database; those of reading.
    pub fn get_all_key_versions(
        &self,
        family: &ColumnFamily,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        max_num_ikeys: usize,
    ) -> Result<Vec<KeyVersion>> {
        self.inner().check_owns(&family.0)?;
        let (super_version, _) = family.0.view(None);
        if super_version.is_closed() {
            return Err(closing());
        }
        let user = family.0.cmp.user();
        let newest = vec![0xff; user.timestamp_size()];
        let timestamp = (!newest.is_empty()).then_some(&newest[..]);
        let sources = SourceOptions::of(&ReadOptions {
            fill_cache: false,
            ..ReadOptions::default()
        });
        let (mut cursor, missing) =
            sources::merged(&family.0, &super_version, MAX_SEQNO, None, timestamp, &sources);
        if let Some(error) = missing {
            return Err(error);
        }
        match begin {
            Some(begin) => {
                let mut target = Vec::new();
                before_key(&mut target, user, begin);
                cursor.seek(&target);
            }
            None => cursor.seek_to_first(),
        }
        let mut versions = Vec::new();
        while cursor.valid() && versions.len() < max_num_ikeys {
            let entry = ParsedInternalKey::parse(cursor.key())?;
            let is_behind = |end: &[u8]| {
                user.compare_without_timestamp(entry.user_key, &user.stamped(end))
                    .is_ge()
            };
            if end.is_some_and(is_behind) {
                break;
            }
            versions.push(KeyVersion {
                user_key: entry.user_key.to_vec(),
                value: cursor.value().to_vec(),
                sequence: entry.seqno,
                kind: entry.kind,
            });
            cursor.next();
        }
        cursor.status()?;
        Ok(versions)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::MemFs;

    use super::*;
    use crate::options::Options;

    #[test]
    fn every_version_comes_up_to_the_end() {
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            ..Options::default()
        };
        let db = Db::open(&options, "/db").unwrap();
        let family = db.default_column_family();
        let _held = db.snapshot();
        db.put(b"a", b"1").unwrap();
        let _newer = db.snapshot();
        db.flush().unwrap();
        db.put(b"a", b"2").unwrap();
        db.delete(b"b").unwrap();
        db.put(b"c", b"3").unwrap();
        db.put(b"d", b"4").unwrap();
        db.delete_range_cf(&family, b"d", b"e").unwrap();
        let versions = |begin: Option<&[u8]>, end: Option<&[u8]>, most| {
            let found = db.get_all_key_versions(&family, begin, end, most).unwrap();
            let text = |version: &KeyVersion| {
                let (key, value) = (&version.user_key, &version.value);
                format!(
                    "{}@{}#{}={}",
                    key.escape_ascii(),
                    version.sequence,
                    version.kind as u8,
                    value.escape_ascii()
                )
            };
            found.iter().map(text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(versions(None, None, 9), "a@2#1=2 a@1#1=1 b@3#0= c@4#1=3");
        assert_eq!(versions(Some(b"b"), Some(b"c"), 9), "b@3#0=");
        assert_eq!(versions(None, None, 1), "a@2#1=2");
    }
}
