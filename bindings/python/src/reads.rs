//! Reads of a column family, from the current rows or from a snapshot.

use esker::{DbIterator, KeyMayExist, PinnedValue, ReadOptions};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::arrow::{ArrowArray, ArrowStream, Columns, array_of};
use crate::bytes::Bytes;
use crate::call::{call, exception};
use crate::cursor::Cursor;
use crate::operation::{Keywords, read_options};
use crate::range::Range;
use crate::reader::Reader;
use crate::scan::{Scan, Yields};
use crate::shared::Detached;

impl Reader {
    pub fn read_options(&self, keywords: Option<Keywords<'_, '_>>) -> PyResult<ReadOptions> {
        read_options(self.snapshot()?, keywords)
    }

    fn found(
        &self,
        py: Python<'_>,
        key: &[u8],
        keywords: Option<Keywords<'_, '_>>,
    ) -> PyResult<Option<PinnedValue>> {
        let options = self.read_options(keywords)?;
        call(py, || {
            self.shared.check_open()?;
            self.shared.db().get_pinned_cf_opt(&self.family, key, &options)
        })
    }

    /// Returns an iterator over a range.
    pub fn iterator(
        &self,
        py: Python<'_>,
        range: Range<'_>,
        keywords: Option<Keywords<'_, '_>>,
    ) -> PyResult<DbIterator> {
        let mut options = self.read_options(keywords)?;
        range.bound(py, self.family.comparator().is_bytewise(), &mut options)?;
        call(py, || {
            self.shared.check_open()?;
            Ok(self.shared.db().iter_cf_opt(&self.family, &options))
        })
    }

    fn scan(
        &self,
        py: Python<'_>,
        range: Range<'_>,
        reverse: bool,
        keywords: Option<Keywords<'_, '_>>,
        yields: Yields,
    ) -> PyResult<Scan> {
        let iter = self.iterator(py, range, keywords)?;
        Ok(Scan::over(self.shared.clone(), iter, yields, reverse))
    }
}

/// Returns `value` as `bytes`, or `None`.
pub fn optional<'py>(py: Python<'py>, value: Option<&[u8]>) -> Option<Bound<'py, PyBytes>> {
    value.map(|value| PyBytes::new(py, value))
}

#[pymethods]
impl Reader {
    /// The name of the column family.
    #[getter]
    fn name(&self) -> &str {
        self.family.name()
    }

    /// The id of the column family.
    #[getter]
    fn id(&self) -> u32 {
        self.family.id()
    }

    /// The name of the comparator.
    #[getter]
    fn comparator_name(&self) -> &str {
        self.family.comparator().name()
    }

    /// Returns the value of `key`, or `default`.
    #[pyo3(signature = (key, default = None, **read_options))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'_>,
        default: Option<Bound<'py, PyAny>>,
        read_options: Option<Keywords<'_, 'py>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.found(py, &key, read_options)? {
            Some(value) => Ok(Some(PyBytes::new(py, &value).into_any())),
            None => Ok(default),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes: Bytes<'_> = key.extract()?;
        match self.found(py, &bytes, None)? {
            Some(value) => Ok(PyBytes::new(py, &value)),
            None => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<bool> {
        Ok(self.found(py, &key, None)?.is_some())
    }

    /// Returns the values of many keys as of one moment, in their order, with `None` for absent keys. Cheaper
    /// than the same number of gets.
    #[pyo3(signature = (keys, **read_options))]
    fn multi_get<'py>(
        &self,
        py: Python<'py>,
        keys: Vec<Bound<'py, PyAny>>,
        read_options: Option<Keywords<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let found = self.many(py, &keys, read_options)?;
        PyList::new(py, found.iter().map(|value| optional(py, value.as_deref())))
    }

    /// Returns false if the data in memory proves that `key` has no value; otherwise true. Does not read from
    /// the disk.
    #[pyo3(signature = (key, **read_options))]
    fn key_may_exist(
        &self,
        py: Python<'_>,
        key: Bytes<'_>,
        read_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<bool> {
        let options = self.read_options(read_options)?;
        let found = call(py, || {
            self.shared.check_open()?;
            self.shared
                .db()
                .key_may_exist_cf_opt(&self.family, &key, &options)
        })?;
        Ok(!matches!(found, KeyMayExist::No))
    }

    /// Iterates over the keys and values of a range.
    #[pyo3(signature = (start = None, stop = None, *, include_start = true, include_stop = false, prefix = None, reverse = false, **read_options))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn items(
        &self,
        py: Python<'_>,
        start: Option<Bytes<'_>>,
        stop: Option<Bytes<'_>>,
        include_start: bool,
        include_stop: bool,
        prefix: Option<Bytes<'_>>,
        reverse: bool,
        read_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<Scan> {
        let range = Range {
            start,
            stop,
            include_start,
            include_stop,
            prefix,
        };
        self.scan(py, range, reverse, read_options, Yields::Items)
    }

    /// Iterates over the keys of a range.
    #[pyo3(signature = (start = None, stop = None, *, include_start = true, include_stop = false, prefix = None, reverse = false, **read_options))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn keys(
        &self,
        py: Python<'_>,
        start: Option<Bytes<'_>>,
        stop: Option<Bytes<'_>>,
        include_start: bool,
        include_stop: bool,
        prefix: Option<Bytes<'_>>,
        reverse: bool,
        read_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<Scan> {
        let range = Range {
            start,
            stop,
            include_start,
            include_stop,
            prefix,
        };
        self.scan(py, range, reverse, read_options, Yields::Keys)
    }

    /// Iterates over the values of a range.
    #[pyo3(signature = (start = None, stop = None, *, include_start = true, include_stop = false, prefix = None, reverse = false, **read_options))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn values(
        &self,
        py: Python<'_>,
        start: Option<Bytes<'_>>,
        stop: Option<Bytes<'_>>,
        include_start: bool,
        include_stop: bool,
        prefix: Option<Bytes<'_>>,
        reverse: bool,
        read_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<Scan> {
        let range = Range {
            start,
            stop,
            include_start,
            include_stop,
            prefix,
        };
        self.scan(py, range, reverse, read_options, Yields::Values)
    }

    /// Returns the values of many keys as one Arrow array, with null for absent keys. The keys are a sequence
    /// of bytes.
    #[pyo3(signature = (keys, **read_options))]
    fn multi_get_arrow<'py>(
        &self,
        py: Python<'py>,
        keys: Vec<Bound<'py, PyAny>>,
        read_options: Option<Keywords<'_, 'py>>,
    ) -> PyResult<ArrowArray> {
        let found = self.many(py, &keys, read_options)?;
        array_of(py, &found.iter().map(Option::as_deref).collect::<Vec<_>>())
    }

    /// Returns the rows of a range as a stream of Arrow record batches, with the columns `key` and `value`,
    /// or one of them. A batch ends at `batch_rows` rows or `batch_bytes` bytes.
    #[pyo3(signature = (start = None, stop = None, *, include_start = true, include_stop = false, prefix = None, reverse = false, columns = None, batch_rows = 8192, batch_bytes = 4_194_304, **read_options))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn scan_arrow(
        &self,
        py: Python<'_>,
        start: Option<Bytes<'_>>,
        stop: Option<Bytes<'_>>,
        include_start: bool,
        include_stop: bool,
        prefix: Option<Bytes<'_>>,
        reverse: bool,
        columns: Option<Vec<String>>,
        batch_rows: usize,
        batch_bytes: usize,
        read_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<ArrowStream> {
        let range = Range {
            start,
            stop,
            include_start,
            include_stop,
            prefix,
        };
        let columns = Columns::of(columns)?;
        let iter = self.iterator(py, range, read_options)?;
        Ok(ArrowStream::over(
            self.shared.clone(),
            iter,
            reverse,
            columns,
            batch_rows,
            batch_bytes,
        ))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Scan> {
        self.scan(py, Range::ALL, false, None, Yields::Keys)
    }

    fn __reversed__(&self, py: Python<'_>) -> PyResult<Scan> {
        self.scan(py, Range::ALL, true, None, Yields::Keys)
    }

    /// Returns a cursor over a range. It is not on a row yet.
    #[pyo3(signature = (start = None, stop = None, *, include_start = true, include_stop = false, prefix = None, **read_options))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn cursor(
        &self,
        py: Python<'_>,
        start: Option<Bytes<'_>>,
        stop: Option<Bytes<'_>>,
        include_start: bool,
        include_stop: bool,
        prefix: Option<Bytes<'_>>,
        read_options: Option<Keywords<'_, '_>>,
    ) -> PyResult<Cursor> {
        let range = Range {
            start,
            stop,
            include_start,
            include_stop,
            prefix,
        };
        let iter = self.iterator(py, range, read_options)?;
        Ok(Cursor::over(self.shared.clone(), iter))
    }

    /// The number of keys according to the property `rocksdb.estimate-num-keys`: exact only if each key was
    /// written once and none was deleted.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let number = self.number(py, "rocksdb.estimate-num-keys")?;
        Ok(usize::try_from(number.unwrap_or(0)).unwrap_or(usize::MAX))
    }

    /// A database is true, even an empty one.
    fn __bool__(&self) -> bool {
        true
    }

    /// Returns a property by RocksDB's name: numbers as `int`, others as text, `None` for an unknown name.
    fn property<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(number) = self.number(py, name)? {
            return Ok(Some(number.into_pyobject(py)?.into_any()));
        }
        let text = call(py, || Ok(self.shared.db().property(&self.family, name)))?;
        Ok(text
            .map(|text| match text.parse::<u64>() {
                Ok(number) => number.into_pyobject(py).map(Bound::into_any),
                Err(_) => Ok(PyString::new(py, &text).into_any()),
            })
            .transpose()?)
    }

    /// Returns the approximate size in bytes of the files with keys from `start` to `stop`, exclusive.
    fn approximate_size(&self, py: Python<'_>, start: Bytes<'_>, stop: Bytes<'_>) -> PyResult<u64> {
        let sizes = call(py, || {
            self.shared.check_open()?;
            self.shared
                .db()
                .approximate_sizes(&self.family, &[(&start, &stop)])
        })?;
        Ok(sizes.first().copied().unwrap_or(0))
    }

    /// Returns the first key and value, or `None`.
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        self.end(py, |iter| iter.seek_to_first())
    }

    /// Returns the last key and value, or `None`.
    fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        self.end(py, |iter| iter.seek_to_last())
    }
}

impl Reader {
    /// Returns the values of `keys`.
    pub fn many(
        &self,
        py: Python<'_>,
        keys: &[Bound<'_, PyAny>],
        keywords: Option<Keywords<'_, '_>>,
    ) -> PyResult<Vec<Option<PinnedValue>>> {
        let options = self.read_options(keywords)?;
        let keys: Vec<Bytes<'_>> = keys.iter().map(|key| key.extract()).collect::<PyResult<_>>()?;
        call(py, || {
            self.shared.check_open()?;
            let found = self
                .shared
                .db()
                .multi_get_pinned_cf_opt(&self.family, &keys, &options);
            found.into_iter().collect()
        })
    }

    fn number(&self, py: Python<'_>, name: &str) -> PyResult<Option<u64>> {
        call(py, || {
            self.shared.check_open()?;
            Ok(self.shared.db().property_int(&self.family, name))
        })
    }

    fn end<'py>(
        &self,
        py: Python<'py>,
        seek: impl FnOnce(&mut DbIterator) + Send,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        let mut iter = Detached::new(self.iterator(py, Range::ALL, None)?);
        call(py, || {
            seek(&mut iter);
            iter.status()
        })?;
        Ok(iter
            .valid()
            .then(|| (PyBytes::new(py, iter.key()), PyBytes::new(py, iter.value()))))
    }

    /// Fails if the database is closed.
    pub fn check_open(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.check_open().map_err(|error| exception(py, &error))
    }
}
