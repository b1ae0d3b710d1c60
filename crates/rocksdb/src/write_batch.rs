//! Batches of writes.

use esker::Operation;

use crate::{AsColumnFamilyRef, Error};

/// A batch for [`DB`](crate::DB).
pub type WriteBatch = WriteBatchWithTransaction<false>;

/// Receives the puts and deletions of the default family.
pub trait WriteBatchIterator {
    /// A put.
    fn put(&mut self, key: &[u8], value: &[u8]);
    /// A deletion.
    fn delete(&mut self, key: &[u8]);
}

/// Receives the puts, deletions and merges of all families.
pub trait WriteBatchIteratorCf {
    /// A put.
    fn put_cf(&mut self, cf_id: u32, key: &[u8], value: &[u8]);
    /// A deletion.
    fn delete_cf(&mut self, cf_id: u32, key: &[u8]);
    /// A merge.
    fn merge_cf(&mut self, cf_id: u32, key: &[u8], value: &[u8]);
}

/// Writes that are applied together or not at all. A batch for transactions takes no range deletions.
///
/// ```
/// use esker_rocksdb::{DB, WriteBatch};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path()).unwrap();
/// let mut batch = WriteBatch::default();
/// batch.put(b"a", b"1");
/// batch.put(b"b", b"2");
/// batch.delete(b"a");
/// db.write(batch).unwrap();
/// assert!(db.get(b"a").unwrap().is_none());
/// ```
#[derive(Default)]
pub struct WriteBatchWithTransaction<const TRANSACTION: bool> {
    pub(crate) inner: esker::WriteBatch,
    /// The reason why the bytes from which the batch was created are no valid batch.
    damaged: Option<(Vec<u8>, Error)>,
}

impl<const TRANSACTION: bool> WriteBatchWithTransaction<TRANSACTION> {
    /// Creates an empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty batch, with room for this number of bytes.
    pub fn with_capacity_bytes(capacity_bytes: usize) -> Self {
        Self {
            inner: esker::WriteBatch::with_capacity(capacity_bytes),
            damaged: None,
        }
    }

    /// Creates a batch from the bytes of [`data`](Self::data). If they are invalid, its write fails.
    pub fn from_data(data: &[u8]) -> Self {
        match esker::WriteBatch::from_data(data) {
            Ok(inner) => Self { inner, damaged: None },
            Err(error) => Self {
                inner: esker::WriteBatch::new(),
                damaged: Some((data.to_vec(), error.into())),
            },
        }
    }

    pub(crate) fn of(inner: esker::WriteBatch) -> Self {
        Self { inner, damaged: None }
    }

    /// Returns the batch of the crate `esker`.
    pub(crate) fn engine(self) -> Result<esker::WriteBatch, Error> {
        match self.damaged {
            Some((_, error)) => Err(error),
            None => Ok(self.inner),
        }
    }

    /// The batch of the crate `esker`, for reading.
    pub(crate) fn checked(&self) -> Result<&esker::WriteBatch, Error> {
        match &self.damaged {
            Some((_, error)) => Err(error.clone()),
            None => Ok(&self.inner),
        }
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.inner.count() as usize
    }

    /// The size in bytes.
    pub fn size_in_bytes(&self) -> usize {
        self.data().len()
    }

    /// The bytes of the batch.
    pub fn data(&self) -> &[u8] {
        match &self.damaged {
            Some((bytes, _)) => bytes,
            None => self.inner.data(),
        }
    }

    /// True if there are no operations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Passes on the puts and deletions of the default family, up to the first operation on another family,
    /// or on a range.
    pub fn iterate<T: WriteBatchIterator>(&self, callbacks: &mut T) {
        for operation in self.inner.operations() {
            match operation {
                Ok(Operation::Put {
                    family: 0,
                    key,
                    value,
                }) => callbacks.put(key, value),
                Ok(Operation::Delete { family: 0, key }) => callbacks.delete(key),
                Ok(Operation::DeleteRange { .. }) => return,
                Ok(operation) if operation.family().is_none_or(|family| family == 0) => {}
                _ => return,
            }
        }
    }

    /// Passes on the puts, deletions and merges of all families.
    pub fn iterate_cf<T: WriteBatchIteratorCf>(&self, callbacks: &mut T) {
        for operation in self.inner.operations() {
            match operation {
                Ok(Operation::Put { family, key, value }) => callbacks.put_cf(family, key, value),
                Ok(Operation::Delete { family, key }) => callbacks.delete_cf(family, key),
                Ok(Operation::Merge { family, key, operand }) => callbacks.merge_cf(family, key, operand),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    /// Sets a key of the default family.
    pub fn put<K: AsRef<[u8]>, V: AsRef<[u8]>>(&mut self, key: K, value: V) {
        self.inner.put(key.as_ref(), value.as_ref());
    }

    /// Sets a key.
    pub fn put_cf<K: AsRef<[u8]>, V: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, key: K, value: V) {
        self.inner.put_cf(cf.family(), key.as_ref(), value.as_ref());
    }

    /// Sets a key as of a timestamp.
    pub fn put_cf_with_ts<K: AsRef<[u8]>, V: AsRef<[u8]>, S: AsRef<[u8]>>(
        &mut self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        value: V,
    ) {
        self.inner
            .put_at(cf.family(), key.as_ref(), ts.as_ref(), value.as_ref());
    }

    /// Adds a merge operand to a key of the default family.
    pub fn merge<K: AsRef<[u8]>, V: AsRef<[u8]>>(&mut self, key: K, value: V) {
        self.inner.merge(key.as_ref(), value.as_ref());
    }

    /// Adds a merge operand to a key.
    pub fn merge_cf<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
    ) {
        self.inner.merge_cf(cf.family(), key.as_ref(), value.as_ref());
    }

    /// Deletes a key of the default family.
    pub fn delete<K: AsRef<[u8]>>(&mut self, key: K) {
        self.inner.delete(key.as_ref());
    }

    /// Deletes a key of the default family that was put once.
    pub fn single_delete<K: AsRef<[u8]>>(&mut self, key: K) {
        self.inner.single_delete(key.as_ref());
    }

    /// Deletes a key.
    pub fn delete_cf<K: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, key: K) {
        self.inner.delete_cf(cf.family(), key.as_ref());
    }

    /// Deletes a key that was put once.
    pub fn single_delete_cf<K: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, key: K) {
        self.inner.single_delete_cf(cf.family(), key.as_ref());
    }

    /// Deletes a key as of a timestamp.
    pub fn delete_cf_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &mut self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
    ) {
        self.inner.delete_at(cf.family(), key.as_ref(), ts.as_ref());
    }

    /// Adds bytes that go to the WAL alone.
    pub fn put_log_data<V: AsRef<[u8]>>(&mut self, log_data: V) {
        self.inner.put_log_data(log_data.as_ref());
    }

    /// Removes all operations.
    pub fn clear(&mut self) {
        self.inner.clear();
        self.damaged = None;
    }
}

impl WriteBatchWithTransaction<false> {
    /// Deletes the keys of the default family from `from` to before `to`.
    pub fn delete_range<K: AsRef<[u8]>>(&mut self, from: K, to: K) {
        self.inner.delete_range(from.as_ref(), to.as_ref());
    }

    /// Deletes the keys from `from` to before `to`.
    pub fn delete_range_cf<K: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, from: K, to: K) {
        self.inner
            .delete_range_cf(cf.family(), from.as_ref(), to.as_ref());
    }
}
