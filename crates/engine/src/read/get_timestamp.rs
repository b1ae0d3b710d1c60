//! Gets that also return the timestamp of the value.

use base::Result;

use crate::files::pinned_value::PinnedValue;
use crate::state::column_family::ColumnFamily;
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;

impl Db {
    /// The same as [`get_pinned`](Db::get_pinned), with the timestamp that the value was written at:
    /// RocksDB's `Get` with a timestamp. Empty in families without timestamps.
    ///
    /// # Errors
    /// Those of `get_pinned`.
    pub fn get_with_timestamp(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Option<(PinnedValue, Vec<u8>)>> {
        let key = key.as_ref();
        if family.comparator().timestamp_size() == 0 {
            let found = self.get_pinned_cf_opt(family, key, options)?;
            return Ok(found.map(|value| (value, Vec::new())));
        }
        let inner = self.inner();
        inner.check_owns(&family.0)?;
        let _charged = inner.charged_reads(options);
        let (super_version, seqno) = family.0.view(options.snapshot.as_ref());
        if super_version.is_closed() {
            return Err(closing());
        }
        if inner.traces.query.is_on() {
            inner.trace_get(options, &family.0, key, seqno);
        }
        let found = inner.iterator_at(&super_version, seqno, None, options, &family.0, key)?;
        Ok(found.map(|iter| {
            let timestamp = iter.timestamp().to_vec();
            (iter.value_pinned(), timestamp)
        }))
    }
}
