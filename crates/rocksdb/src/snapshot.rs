//! Snapshots.

use crate::{
    AsColumnFamilyRef, DBAccess, DBIteratorWithThreadMode, DBPinnableSlice, DBRawIteratorWithThreadMode,
    Error, IteratorMode, ReadOptions,
};

/// The rows at one moment, readable as long as the snapshot is held.
///
/// ```
/// use esker_rocksdb::DB;
///
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path()).unwrap();
/// db.put(b"key", b"before").unwrap();
/// let snapshot = db.snapshot();
/// db.put(b"key", b"after").unwrap();
/// assert_eq!(snapshot.get(b"key").unwrap().unwrap(), b"before");
/// ```
pub struct SnapshotWithThreadMode<'a, D: DBAccess> {
    db: &'a D,
    pub(crate) inner: Option<esker::Snapshot>,
}

impl ReadOptions {
    /// Reads the state of the snapshot.
    pub fn set_snapshot<D: DBAccess>(&mut self, snapshot: &SnapshotWithThreadMode<'_, D>) {
        self.inner.snapshot = snapshot.inner.clone();
    }
}

impl<'a, D: DBAccess> SnapshotWithThreadMode<'a, D> {
    /// A snapshot of the present state.
    pub fn new(db: &'a D) -> SnapshotWithThreadMode<'a, D> {
        SnapshotWithThreadMode {
            db,
            inner: db.engine_snapshot(),
        }
    }

    fn options(&self, mut readopts: ReadOptions) -> ReadOptions {
        readopts.inner.snapshot = self.inner.clone();
        readopts
    }

    /// The sequence number of the last visible write.
    pub fn sequence_number(&self) -> u64 {
        self.inner.as_ref().map_or(0, esker::Snapshot::sequence_number)
    }

    /// An iterator over the default family.
    pub fn iterator(&self, mode: IteratorMode<'_>) -> DBIteratorWithThreadMode<'a, D> {
        self.iterator_opt(mode, ReadOptions::default())
    }

    /// An iterator over a family.
    pub fn iterator_cf(
        &self,
        cf_handle: &impl AsColumnFamilyRef,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'_, D> {
        self.iterator_cf_opt(cf_handle, ReadOptions::default(), mode)
    }

    /// An iterator over the default family, with options.
    pub fn iterator_opt(
        &self,
        mode: IteratorMode<'_>,
        readopts: ReadOptions,
    ) -> DBIteratorWithThreadMode<'a, D> {
        let readopts = self.options(readopts);
        DBIteratorWithThreadMode::new(self.db, self.db.engine_iter(None, &readopts), &readopts, mode)
    }

    /// An iterator over a family, with options.
    pub fn iterator_cf_opt(
        &self,
        cf_handle: &impl AsColumnFamilyRef,
        readopts: ReadOptions,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'_, D> {
        let (family, readopts) = (Some(cf_handle.family()), self.options(readopts));
        DBIteratorWithThreadMode::new(self.db, self.db.engine_iter(family, &readopts), &readopts, mode)
    }

    /// A raw iterator over the default family.
    pub fn raw_iterator(&self) -> DBRawIteratorWithThreadMode<'_, D> {
        self.raw_iterator_opt(ReadOptions::default())
    }

    /// A raw iterator over a family.
    pub fn raw_iterator_cf(&self, cf_handle: &impl AsColumnFamilyRef) -> DBRawIteratorWithThreadMode<'_, D> {
        self.raw_iterator_cf_opt(cf_handle, ReadOptions::default())
    }

    /// A raw iterator over the default family, with options.
    pub fn raw_iterator_opt(&self, readopts: ReadOptions) -> DBRawIteratorWithThreadMode<'_, D> {
        let readopts = self.options(readopts);
        DBRawIteratorWithThreadMode::new(self.db, self.db.engine_iter(None, &readopts), &readopts)
    }

    /// A raw iterator over a family, with options.
    pub fn raw_iterator_cf_opt(
        &self,
        cf_handle: &impl AsColumnFamilyRef,
        readopts: ReadOptions,
    ) -> DBRawIteratorWithThreadMode<'_, D> {
        let (family, readopts) = (Some(cf_handle.family()), self.options(readopts));
        DBRawIteratorWithThreadMode::new(self.db, self.db.engine_iter(family, &readopts), &readopts)
    }

    /// The value of a key of the default family.
    ///
    /// # Errors
    /// The errors of the read.
    pub fn get<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<Vec<u8>>, Error> {
        self.get_opt(key, ReadOptions::default())
    }

    /// The value of a key.
    ///
    /// # Errors
    /// The errors of the read.
    pub fn get_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_cf_opt(cf, key, ReadOptions::default())
    }

    /// The value of a key of the default family, with options.
    ///
    /// # Errors
    /// The errors of the read.
    pub fn get_opt<K: AsRef<[u8]>>(&self, key: K, readopts: ReadOptions) -> Result<Option<Vec<u8>>, Error> {
        self.db.get_opt(key, &self.options(readopts))
    }

    /// The value of a key, with options.
    ///
    /// # Errors
    /// The errors of the read.
    pub fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.db.get_cf_opt(cf, key, &self.options(readopts))
    }

    /// The pinned value of a key of the default family.
    ///
    /// # Errors
    /// The errors of the read.
    pub fn get_pinned<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_opt(key, ReadOptions::default())
    }

    /// The pinned value of a key.
    ///
    /// # Errors
    /// The errors of the read.
    pub fn get_pinned_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_cf_opt(cf, key, ReadOptions::default())
    }

    /// The pinned value of a key of the default family, with options.
    ///
    /// # Errors
    /// The errors of the read.
    pub fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.db.get_pinned_opt(key, &self.options(readopts))
    }

    /// The pinned value of a key, with options.
    ///
    /// # Errors
    /// The errors of the read.
    pub fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.db.get_pinned_cf_opt(cf, key, &self.options(readopts))
    }

    /// The values of keys of the default family, in their order.
    pub fn multi_get<K: AsRef<[u8]>, I>(&self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        I: IntoIterator<Item = K>,
    {
        self.multi_get_opt(keys, ReadOptions::default())
    }

    /// The values of keys of any families, in their order.
    pub fn multi_get_cf<'b, K, I, W>(&self, keys_cf: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: AsColumnFamilyRef + 'b,
    {
        self.multi_get_cf_opt(keys_cf, ReadOptions::default())
    }

    /// The values of keys of the default family, in their order, with options.
    pub fn multi_get_opt<K, I>(&self, keys: I, readopts: ReadOptions) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        self.db.multi_get_opt(keys, &self.options(readopts))
    }

    /// The values of keys of any families, in their order, with options.
    pub fn multi_get_cf_opt<'b, K, I, W>(
        &self,
        keys_cf: I,
        readopts: ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: AsColumnFamilyRef + 'b,
    {
        self.db.multi_get_cf_opt(keys_cf, &self.options(readopts))
    }
}
