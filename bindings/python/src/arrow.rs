//! Columns of keys and values through the Arrow C data interface. Any Arrow library can read and write them;
//! none has to be installed.
//!
//! Arrays are passed as PyCapsules, whose structs the arrow crates create and read.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray,
    RecordBatch, RecordBatchReader, StringArray, StringViewArray, StructArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use esker::{DbIterator, Error, ErrorKind, Result};
use parking_lot::Mutex;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use base::user_code::catch_or_fail;

use crate::call::exception;
use crate::shared::{Detached, Handle};

/// The names of the capsules in the interface.
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The maximum size in bytes of a column, whose offsets have 32 bits.
const MOST_BYTES: usize = i32::MAX as usize;

/// A column under construction: the bytes of its values, and the end of each value.
struct Column {
    bytes: Vec<u8>,
    offsets: Vec<i32>,
    nulls: Vec<bool>,
}

impl Column {
    /// Returns an empty column with room for `rows` values of `bytes` bytes together.
    fn with_capacity(rows: usize, bytes: usize) -> Column {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Column {
            bytes: Vec::with_capacity(bytes),
            offsets,
            nulls: Vec::new(),
        }
    }

    /// Returns true if `value` fits into the column.
    fn takes(&self, value: &[u8]) -> bool {
        self.bytes.len() + value.len() <= MOST_BYTES
    }

    /// Adds a value that fits by [`takes`](Column::takes).
    #[inline]
    fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        // The offset fits in 32 bits, because [`takes`](Column::takes) limits the size of a column.
        self.offsets.push(self.bytes.len() as i32);
    }

    fn finish(self) -> BinaryArray {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        let nulls = match self.nulls.is_empty() {
            true => None,
            false => Some(NullBuffer::from(self.nulls)),
        };
        BinaryArray::new(offsets, Buffer::from_vec(self.bytes), nulls)
    }
}

/// Returns the values as one array, in which `None` is null. `InvalidArgument` if they exceed 2 GiB.
pub fn array_of<V: AsRef<[u8]>>(py: Python<'_>, values: &[Option<V>]) -> PyResult<ArrowArray> {
    let mut column = Column::with_capacity(values.len(), 0);
    column.nulls = values.iter().map(Option::is_some).collect();
    for value in values {
        let value = value.as_ref().map_or(&[][..], AsRef::as_ref);
        if !column.takes(value) {
            let error = Error::invalid_argument("more than 2 GiB of values in one array");
            return Err(exception(py, &error));
        }
        column.push(value);
    }
    Ok(ArrowArray {
        array: Arc::new(column.finish()),
    })
}

/// A column of values for any Arrow library, as in `pyarrow.array(column)`.
#[pyclass(frozen, module = "esker")]
pub struct ArrowArray {
    array: ArrayRef,
}

#[pymethods]
impl ArrowArray {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    /// Returns the array and its type as capsules of the Arrow C data interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // A producer may ignore the requested type; the consumer casts.
        let _ = requested_schema;
        let (array, schema) = arrow_array::ffi::to_ffi(&self.array.to_data()).map_err(failed)?;
        let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
        let array = PyCapsule::new_with_value(py, array, ARRAY)?;
        PyTuple::new(py, [schema, array])
    }
}

/// The columns of a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    pub key: bool,
    pub value: bool,
}

impl Columns {
    /// Returns the columns with the given names. `ValueError` for an unknown name.
    pub fn of(names: Option<Vec<String>>) -> PyResult<Columns> {
        let Some(names) = names else {
            return Ok(Columns {
                key: true,
                value: true,
            });
        };
        let mut columns = Columns {
            key: false,
            value: false,
        };
        for name in names {
            match &*name {
                "key" => columns.key = true,
                "value" => columns.value = true,
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "no column {name:?}: there are key and value"
                    )));
                }
            }
        }
        match columns.key || columns.value {
            true => Ok(columns),
            false => Err(PyValueError::new_err("no column is requested")),
        }
    }

    fn schema(self) -> SchemaRef {
        let named = [("key", self.key), ("value", self.value)];
        let fields = named.iter().filter(|(_, asked)| *asked);
        let fields: Vec<Field> = fields
            .map(|(name, _)| Field::new(*name, DataType::Binary, false))
            .collect();
        Arc::new(Schema::new(fields))
    }
}

/// The rows of a range in record batches. A reader of Arrow streams reads them, once.
#[pyclass(frozen, module = "esker")]
pub struct ArrowStream {
    batches: Mutex<Option<Batches>>,
}

impl ArrowStream {
    pub fn over(
        shared: Handle,
        iter: DbIterator,
        reverse: bool,
        columns: Columns,
        batch_rows: usize,
        batch_bytes: usize,
    ) -> ArrowStream {
        ArrowStream {
            batches: Mutex::new(Some(Batches {
                shared,
                iter: Some(Detached::new(iter)),
                started: false,
                reverse,
                columns,
                schema: columns.schema(),
                rows: batch_rows.max(1),
                bytes: batch_bytes.clamp(1, MOST_BYTES),
                last_bytes: (0, 0),
            })),
        }
    }
}

#[pymethods]
impl ArrowStream {
    /// Returns the stream as a capsule of the Arrow C stream interface. `ValueError` at the second call.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The requested type of the stream is ignored: the consumer casts.
        let _ = requested_schema;
        let batches = self.batches.lock().take();
        let batches = batches.ok_or_else(|| PyValueError::new_err("the stream was read already"))?;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }

    /// Returns the names and types of the columns as a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.batches.lock().as_ref().map(|batches| batches.schema.clone());
        let schema = schema.ok_or_else(|| PyValueError::new_err("the stream was read already"))?;
        let schema = FFI_ArrowSchema::try_from(&*schema).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }
}

/// The rows of an iterator as record batches. The reader of the stream may or may not hold the GIL.
struct Batches {
    shared: Handle,
    /// The iterator; `None` once its rows have ended.
    iter: Option<Detached<DbIterator>>,
    started: bool,
    reverse: bool,
    columns: Columns,
    schema: SchemaRef,
    rows: usize,
    bytes: usize,
    /// The bytes of keys and of values of the last batch: the next one has room for as many, and does not
    /// grow step by step.
    last_bytes: (usize, usize),
}

impl Batches {
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        self.shared.check_open()?;
        let Some(iter) = &mut self.iter else {
            return Ok(None);
        };
        if !self.started {
            self.started = true;
            match self.reverse {
                true => iter.seek_to_last(),
                false => iter.seek_to_first(),
            }
        }
        let (key_bytes, value_bytes) = self.last_bytes;
        let mut keys = Column::with_capacity(self.rows.min(1 << 16), key_bytes);
        let mut values = Column::with_capacity(self.rows.min(1 << 16), value_bytes);
        let mut rows = 0;
        while rows < self.rows && iter.valid() {
            let (key, value) = (iter.key(), iter.value());
            let bytes = keys.bytes.len() + values.bytes.len();
            if rows > 0 && (bytes >= self.bytes || !keys.takes(key) || !values.takes(value)) {
                break;
            }
            if self.columns.key {
                keys.push(key);
            }
            if self.columns.value {
                values.push(value);
            }
            rows += 1;
            match self.reverse {
                true => iter.prev(),
                false => iter.next(),
            }
        }
        if !iter.valid() {
            let status = iter.status();
            self.iter = None;
            status?;
        }
        if rows == 0 {
            return Ok(None);
        }
        self.last_bytes = (keys.bytes.len(), values.bytes.len());
        let mut arrays: Vec<ArrayRef> = Vec::new();
        if self.columns.key {
            arrays.push(Arc::new(keys.finish()));
        }
        if self.columns.value {
            arrays.push(Arc::new(values.finish()));
        }
        let batch = RecordBatch::try_new(self.schema.clone(), arrays);
        batch.map(Some).map_err(of_arrow)
    }
}

impl Iterator for Batches {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // No panic may leave this function, whose caller is C code.
        let read = catch_or_fail(|| self.read());
        if read.is_err() {
            self.iter = None;
        }
        read.map_err(|error| ArrowError::IoError(error.to_string(), std::io::Error::other(error)))
            .transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Returns the engine's error of an Arrow error.
fn of_arrow(error: ArrowError) -> Error {
    Error::new(ErrorKind::InvalidArgument, error.to_string())
}

fn failed(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Returns the batches of an object that exports Arrow data: a table, a record batch, a stream. `TypeError`
/// for other objects.
pub fn batches_of(data: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    if data.hasattr("__arrow_c_stream__")? {
        let capsule = data.call_method0("__arrow_c_stream__")?;
        return Ok(Box::new(stream_of(capsule.cast::<PyCapsule>()?)?));
    }
    if data.hasattr("__arrow_c_array__")? {
        let pair = data.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
        let array = imported(&schema, &array)?;
        let rows = array.as_any().downcast_ref::<StructArray>();
        let rows = rows.ok_or_else(|| PyTypeError::new_err("a table, a batch or a stream is needed"))?;
        let batch = RecordBatch::from(rows.clone());
        let schema = batch.schema();
        return Ok(Box::new(arrow_array::RecordBatchIterator::new(
            [Ok(batch)],
            schema,
        )));
    }
    Err(PyTypeError::new_err(
        "a table, a record batch or a stream of Arrow is needed: an object with __arrow_c_stream__ or __arrow_c_array__",
    ))
}

/// Moves the stream out of its capsule.
#[expect(unsafe_code, reason = "the Arrow C stream interface is pointers")]
fn stream_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<RecordBatchStreamReader> {
    let pointer = capsule
        .pointer_checked(Some(STREAM))?
        .cast::<FFI_ArrowArrayStream>();
    // SAFETY: the interface guarantees that a capsule of this name points to a struct of that interface,
    // which lives while `capsule` is borrowed. The reader moves the struct out, and marks the rest in the
    // capsule as released.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr()) };
    reader.map_err(failed)
}

/// Moves an array out of its capsule.
#[expect(unsafe_code, reason = "the Arrow C data interface is pointers")]
fn imported(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<ArrayRef> {
    let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: the interface guarantees that capsules of these names point to structs of that interface, which
    // live while they are borrowed. `from_raw` moves the array out, and marks the rest as released; the
    // schema is only read. The producer guarantees that the buffers match the schema.
    let data = unsafe {
        let array = FFI_ArrowArray::from_raw(array.as_ptr());
        arrow_array::ffi::from_ffi(array, schema.as_ref())
    };
    Ok(arrow_array::make_array(data.map_err(failed)?))
}

/// A column of bytes or text, as the values of its rows.
pub enum Values<'a> {
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    FixedSize(&'a FixedSizeBinaryArray),
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
}

impl<'a> Values<'a> {
    /// Returns the column `name` of a batch. `InvalidArgument` if it does not exist, or contains neither
    /// bytes nor text.
    pub fn of(batch: &'a RecordBatch, name: &str) -> Result<Values<'a>> {
        let column = batch.column_by_name(name);
        let column = column.ok_or_else(|| Error::invalid_argument(format!("no column {name:?}")))?;
        let column = column.as_any();
        let found = column
            .downcast_ref()
            .map(Values::Binary)
            .or_else(|| column.downcast_ref().map(Values::LargeBinary))
            .or_else(|| column.downcast_ref().map(Values::BinaryView))
            .or_else(|| column.downcast_ref().map(Values::FixedSize))
            .or_else(|| column.downcast_ref().map(Values::Utf8))
            .or_else(|| column.downcast_ref().map(Values::LargeUtf8))
            .or_else(|| column.downcast_ref().map(Values::Utf8View));
        found.ok_or_else(|| Error::invalid_argument(format!("column {name:?} has neither bytes nor text")))
    }

    /// Returns the value of a row; `None` for null.
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Values::Binary(array) => array.is_valid(row).then(|| array.value(row)),
            Values::LargeBinary(array) => array.is_valid(row).then(|| array.value(row)),
            Values::BinaryView(array) => array.is_valid(row).then(|| array.value(row)),
            Values::FixedSize(array) => array.is_valid(row).then(|| array.value(row)),
            Values::Utf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Values::LargeUtf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Values::Utf8View(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
        }
    }
}
