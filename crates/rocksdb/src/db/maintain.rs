//! Flushes, compactions, ingestions and options of an open database.

use std::path::Path;

use super::{DBCommon, DBInner, ThreadMode};
use crate::{
    AsColumnFamilyRef, CompactOptions, Error, FlushOptions, IngestExternalFileOptions, WaitForCompactOptions,
};

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// Writes the WAL to the kernel, or with `sync` to the disk.
    ///
    /// # Errors
    /// The errors of the write.
    pub fn flush_wal(&self, sync: bool) -> Result<(), Error> {
        Ok(self.engine().flush_wal(sync)?)
    }

    /// Writes the memtable of the default family to a table.
    ///
    /// # Errors
    /// The errors of the flush.
    pub fn flush(&self) -> Result<(), Error> {
        self.flush_opt(&FlushOptions::default())
    }

    /// Writes the memtable of the default family to a table, with options.
    ///
    /// # Errors
    /// The errors of the flush.
    pub fn flush_opt(&self, flushopts: &FlushOptions) -> Result<(), Error> {
        Ok(self.engine().flush_opt(&flushopts.inner)?)
    }

    /// Writes the memtable of a family to a table.
    ///
    /// # Errors
    /// The errors of the flush.
    pub fn flush_cf(&self, cf: &impl AsColumnFamilyRef) -> Result<(), Error> {
        self.flush_cf_opt(cf, &FlushOptions::default())
    }

    /// Writes the memtable of a family to a table, with options.
    ///
    /// # Errors
    /// The errors of the flush.
    pub fn flush_cf_opt(&self, cf: &impl AsColumnFamilyRef, flushopts: &FlushOptions) -> Result<(), Error> {
        let families = [cf.family().clone()];
        Ok(self.engine().flush_cf_opt(&families, &flushopts.inner)?)
    }

    /// Writes the memtables of several families to tables.
    ///
    /// # Errors
    /// The errors of the flush.
    pub fn flush_cfs_opt(&self, cfs: &[&impl AsColumnFamilyRef], opts: &FlushOptions) -> Result<(), Error> {
        let families: Vec<_> = cfs.iter().map(|cf| cf.family().clone()).collect();
        Ok(self.engine().flush_cf_opt(&families, &opts.inner)?)
    }

    /// Compacts the keys of the default family from `start` to `end`. An error goes to the info log, as in
    /// the `rocksdb` crate.
    pub fn compact_range<S: AsRef<[u8]>, E: AsRef<[u8]>>(&self, start: Option<S>, end: Option<E>) {
        self.compact_range_opt(start, end, &CompactOptions::default());
    }

    /// Compacts the keys of the default family from `start` to `end`, with options.
    pub fn compact_range_opt<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        start: Option<S>,
        end: Option<E>,
        opts: &CompactOptions,
    ) {
        let family = self.engine().default_column_family();
        self.compact(&family, as_bytes(&start), as_bytes(&end), opts);
    }

    /// Compacts the keys of a family from `start` to `end`.
    pub fn compact_range_cf<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        start: Option<S>,
        end: Option<E>,
    ) {
        self.compact_range_cf_opt(cf, start, end, &CompactOptions::default());
    }

    /// Compacts the keys of a family from `start` to `end`, with options.
    pub fn compact_range_cf_opt<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        start: Option<S>,
        end: Option<E>,
        opts: &CompactOptions,
    ) {
        self.compact(cf.family(), as_bytes(&start), as_bytes(&end), opts);
    }

    fn compact(
        &self,
        family: &esker::ColumnFamily,
        start: Option<&[u8]>,
        end: Option<&[u8]>,
        opts: &CompactOptions,
    ) {
        let _ = self
            .engine()
            .compact_range_cf_opt(family, start, end, &opts.inner);
    }

    /// Returns when no flush and no compaction runs or is due.
    ///
    /// # Errors
    /// The errors of flushes and compactions; `Operation aborted` and `Operation timed out` by the options.
    pub fn wait_for_compact(&self, opts: &WaitForCompactOptions) -> Result<(), Error> {
        Ok(self.engine().wait_for_compact_opt(&opts.inner)?)
    }

    /// Changes options of the default family while the database is open.
    ///
    /// # Errors
    /// `Invalid argument` for an option that does not exist, that cannot change, or whose value has another
    /// type.
    pub fn set_options(&self, opts: &[(&str, &str)]) -> Result<(), Error> {
        self.change_options(&self.engine().default_column_family(), opts)
    }

    /// Changes options of a family while the database is open.
    ///
    /// # Errors
    /// The errors of [`set_options`](Self::set_options).
    pub fn set_options_cf(&self, cf: &impl AsColumnFamilyRef, opts: &[(&str, &str)]) -> Result<(), Error> {
        self.change_options(cf.family(), opts)
    }

    fn change_options(&self, family: &esker::ColumnFamily, opts: &[(&str, &str)]) -> Result<(), Error> {
        if opts.is_empty() {
            return Err(Error::invalid_argument("empty input"));
        }
        if let Some((name, _)) = opts
            .iter()
            .find(|(name, value)| name.contains('\0') || value.contains('\0'))
        {
            return Err(Error::new(format!(
                "Invalid option name or value, with NUL: {name:?}"
            )));
        }
        // Kept options may change at any time.
        let changes: Vec<_> = opts
            .iter()
            .copied()
            .filter(|(name, _)| !crate::options::KEPT.contains(name))
            .collect();
        match changes.is_empty() {
            true => Ok(()),
            false => Ok(self.engine().set_options(family, &changes)?),
        }
    }

    /// Reads the writes of the primary since the last catch-up.
    ///
    /// # Errors
    /// `Not implemented` if the database is no secondary.
    pub fn try_catch_up_with_primary(&self) -> Result<(), Error> {
        self.engine().try_catch_up_with_primary()?;
        Ok(())
    }

    /// Ingests table files into the default family.
    ///
    /// # Errors
    /// The errors of the ingestion.
    pub fn ingest_external_file<P: AsRef<Path>>(&self, paths: Vec<P>) -> Result<(), Error> {
        self.ingest_external_file_opts(&IngestExternalFileOptions::default(), paths)
    }

    /// Ingests table files into the default family, with options.
    ///
    /// # Errors
    /// The errors of the ingestion.
    pub fn ingest_external_file_opts<P: AsRef<Path>>(
        &self,
        opts: &IngestExternalFileOptions,
        paths: Vec<P>,
    ) -> Result<(), Error> {
        self.engine().ingest_external_file(&paths, &opts.inner)?;
        Ok(())
    }

    /// Ingests table files into a family.
    ///
    /// # Errors
    /// The errors of the ingestion.
    pub fn ingest_external_file_cf<P: AsRef<Path>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        paths: Vec<P>,
    ) -> Result<(), Error> {
        self.ingest_external_file_cf_opts(cf, &IngestExternalFileOptions::default(), paths)
    }

    /// Ingests table files into a family, with options.
    ///
    /// # Errors
    /// The errors of the ingestion.
    pub fn ingest_external_file_cf_opts<P: AsRef<Path>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        opts: &IngestExternalFileOptions,
        paths: Vec<P>,
    ) -> Result<(), Error> {
        self.engine()
            .ingest_external_file_cf(cf.family(), &paths, &opts.inner)?;
        Ok(())
    }

    /// Cancels flushes and compactions, and waits for their end if requested.
    pub fn cancel_all_background_work(&self, wait: bool) {
        let _ = self.engine().cancel_all_background_work(wait);
    }

    /// Lets compactions drop versions older than this timestamp. The timestamp never decreases.
    ///
    /// # Errors
    /// `Invalid argument` if the family has no timestamps, or the timestamp is older than the present one.
    pub fn increase_full_history_ts_low<S: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        ts: S,
    ) -> Result<(), Error> {
        Ok(self
            .engine()
            .increase_full_history_ts_low(cf.family(), ts.as_ref())?)
    }

    /// The timestamp below which compactions drop versions; empty if there is none.
    ///
    /// # Errors
    /// `Invalid argument` if the family has no timestamps.
    pub fn get_full_history_ts_low(&self, cf: &impl AsColumnFamilyRef) -> Result<Vec<u8>, Error> {
        Ok(self.engine().full_history_ts_low(cf.family())?)
    }
}

fn as_bytes<B: AsRef<[u8]>>(bound: &Option<B>) -> Option<&[u8]> {
    bound.as_ref().map(AsRef::as_ref)
}
