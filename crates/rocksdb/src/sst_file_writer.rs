//! Tables outside of a database.

use std::marker::PhantomData;
use std::path::Path;

use base::sync::Mutex;

use crate::{Error, Options};

/// Writes a table that a database can ingest: keys are added in their order, each once.
///
/// ```
/// use esker_rocksdb::{DB, Options, SstFileWriter};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let options = Options::default();
/// let file = dir.path().join("outside.sst");
/// let mut writer = SstFileWriter::create(&options);
/// writer.open(&file).unwrap();
/// writer.put(b"apple", b"1").unwrap();
/// writer.put(b"pear", b"2").unwrap();
/// writer.finish().unwrap();
///
/// let db = DB::open_default(dir.path().join("db")).unwrap();
/// db.ingest_external_file(vec![&file]).unwrap();
/// assert_eq!(db.get(b"pear").unwrap().unwrap(), b"2");
/// ```
pub struct SstFileWriter<'a> {
    /// A mutex, because files are opened through a shared borrow, as in the `rocksdb` crate.
    state: Mutex<WriterState>,
    /// The size of the timestamps in the keys, in bytes; 0 without timestamps.
    timestamp_size: usize,
    /// The reason not to open a file, from the options.
    refused: Option<Error>,
    _options: PhantomData<&'a Options>,
}

struct WriterState {
    writer: esker::SstFileWriter,
    /// The size of the last finished file in bytes, until another one is opened.
    finished: Option<u64>,
}

impl<'a> SstFileWriter<'a> {
    /// Creates a writer of tables with these options.
    pub fn create(opts: &'a Options) -> SstFileWriter<'a> {
        SstFileWriter {
            state: Mutex::new(WriterState {
                writer: esker::SstFileWriter::new(&opts.inner),
                finished: None,
            }),
            timestamp_size: opts.inner.column_family.comparator.timestamp_size(),
            refused: opts.check().err(),
            _options: PhantomData,
        }
    }

    /// Begins a file.
    ///
    /// # Errors
    /// The errors of the file system; a file is open.
    pub fn open<P: AsRef<Path>>(&'a self, path: P) -> Result<(), Error> {
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        let mut state = self.state.lock();
        state.writer.open(path.as_ref())?;
        state.finished = None;
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The errors of the file system; nothing was written.
    pub fn finish(&mut self) -> Result<(), Error> {
        let state = self.state.get_mut();
        state.finished = Some(state.writer.finish()?.file_size);
        Ok(())
    }

    /// The bytes of the file that are written so far.
    pub fn file_size(&self) -> u64 {
        let state = self.state.lock();
        state.finished.unwrap_or_else(|| state.writer.file_size())
    }

    fn writer(&mut self) -> &mut esker::SstFileWriter {
        &mut self.state.get_mut().writer
    }

    fn stamped(&self, key: &[u8], ts: &[u8]) -> Result<Vec<u8>, Error> {
        match ts.len() == self.timestamp_size {
            true => Ok([key, ts].concat()),
            false => Err(Error::invalid_argument(format!(
                "Timestamp size mismatch: {} bytes, not {}",
                ts.len(),
                self.timestamp_size
            ))),
        }
    }

    /// Adds a value.
    ///
    /// # Errors
    /// `Invalid argument` if the key is not after the one before.
    pub fn put<K: AsRef<[u8]>, V: AsRef<[u8]>>(&mut self, key: K, value: V) -> Result<(), Error> {
        Ok(self.writer().put(key.as_ref(), value.as_ref())?)
    }

    /// Adds a value as of a timestamp.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put); a timestamp with another length than the order's.
    pub fn put_with_ts<K, V, S>(&mut self, key: K, ts: S, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let key = self.stamped(key.as_ref(), ts.as_ref())?;
        self.put(key, value)
    }

    /// Adds a merge operand.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put).
    pub fn merge<K: AsRef<[u8]>, V: AsRef<[u8]>>(&mut self, key: K, value: V) -> Result<(), Error> {
        Ok(self.writer().merge(key.as_ref(), value.as_ref())?)
    }

    /// Adds a deletion.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put).
    pub fn delete<K: AsRef<[u8]>>(&mut self, key: K) -> Result<(), Error> {
        Ok(self.writer().delete(key.as_ref())?)
    }

    /// Adds a deletion of a range, the end exclusive.
    ///
    /// # Errors
    /// `Invalid argument` if it ends before it begins.
    pub fn delete_range<K: AsRef<[u8]>>(&mut self, begin_key: K, end_key: K) -> Result<(), Error> {
        Ok(self.writer().delete_range(begin_key.as_ref(), end_key.as_ref())?)
    }

    /// Adds a deletion as of a timestamp.
    ///
    /// # Errors
    /// The errors of [`put_with_ts`](Self::put_with_ts).
    pub fn delete_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(&mut self, key: K, ts: S) -> Result<(), Error> {
        let key = self.stamped(key.as_ref(), ts.as_ref())?;
        self.delete(key)
    }
}
