//! A trace under way: what all kinds of traces share while they are written.

use base::user_code::catch_or_fail;
use base::{Error, Result};

use super::{TraceWriter, encode_record};

/// Appends the records of one trace. Nothing is appended once the file is as large as it may be, or once a
/// record could not be written.
pub(super) struct Appender {
    writer: Box<dyn TraceWriter>,
    /// In bytes.
    max_trace_file_size: u64,
    /// Why nothing is recorded any more.
    error: Option<Error>,
    payload: Vec<u8>,
    record: Vec<u8>,
}

impl Appender {
    /// Begins a trace with `header`, a whole record.
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

    /// True if nothing is recorded any more.
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
        // A panic of the user's writer ends the trace, and nothing that is traced.
        self.error = catch_or_fail(|| self.writer.write(&self.record)).err();
    }

    /// Writes `last`, a whole record if the format has one, and closes the writer. The error of the first
    /// record that could not be written.
    pub fn finish(mut self, last: &[u8]) -> Result<()> {
        if let Some(error) = self.error.take() {
            // The first error is the reason; the file is closed as far as it can be.
            let _ = self.writer.close();
            return Err(error);
        }
        if !last.is_empty() {
            self.writer.write(last)?;
        }
        self.writer.close()
    }
}
