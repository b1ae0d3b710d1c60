//! The writing of a running trace, which is the same for all kinds of traces.

use base::user_code::catch_or_fail;
use base::{Error, Result};

use super::{TraceWriter, encode_record};

/// Appends the records of one trace. No record is appended after the file has reached its maximum size, or
/// after a record could not be written.
pub(super) struct Appender {
    writer: Box<dyn TraceWriter>,
    /// The size of the file in bytes beyond which no record is appended.
    max_trace_file_size: u64,
    /// The error of the first record that could not be written; no record is appended after it.
    error: Option<Error>,
    payload: Vec<u8>,
    record: Vec<u8>,
}

impl Appender {
    /// Begins a trace by writing `header`, an encoded record.
    pub fn begin(
        mut writer: Box<dyn TraceWriter>,
        max_trace_file_size: u64,
        header: Vec<u8>,
    ) -> Result<Appender> {
        writer.write(&header)?;
        Ok(Appender {
            writer,
            max_trace_file_size,
            error: None,
            payload: Vec::new(),
            record: header,
        })
    }

    /// True if no further record is appended: the file is full, or a record could not be written.
    pub fn is_full(&self) -> bool {
        self.error.is_some() || self.writer.file_size() > self.max_trace_file_size
    }

    /// Appends a record with the payload that `encode` writes.
    pub fn append(&mut self, timestamp: u64, kind: u8, encode: impl FnOnce(&mut Vec<u8>)) {
        self.payload.clear();
        encode(&mut self.payload);
        if u32::try_from(self.payload.len()).is_err() {
            self.error = Some(Error::not_supported("a record of 4 GiB or more in a trace"));
            return;
        }
        self.record.clear();
        encode_record(&mut self.record, timestamp, kind, &self.payload);
        // A panic of the user's writer ends the trace. The traced operation continues.
        self.error = catch_or_fail(|| self.writer.write(&self.record)).err();
    }

    /// Writes `last`, the encoded last record (empty in formats without one), and closes the writer. Returns
    /// the error of the first record that could not be written.
    pub fn finish(mut self, last: &[u8]) -> Result<()> {
        if let Some(error) = self.error.take() {
            // The caller gets the first error. The writer is closed nevertheless, and an error of that is
            // ignored.
            let _ = self.writer.close();
            return Err(error);
        }
        if !last.is_empty() {
            self.writer.write(last)?;
        }
        self.writer.close()
    }
}
