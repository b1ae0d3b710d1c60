//! Limits of scans that do not split a row of several keys.

use crate::error::Result;
use crate::key::mvcc_key::next_user_key;
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::read::reader::Reader;
use crate::read::results::{MvccReadOptions, Resume, RowPrefix, ScanResult};

/// The prefix that the keys of the row of `user_key` share.
fn row_of(row: RowPrefix, user_key: &[u8]) -> &[u8] {
    &user_key[..row(user_key).min(user_key.len())]
}

impl Reader<'_> {
    /// The versions of the keys of `span` at `timestamp`, in order, or from the last to the first.
    ///
    /// # Errors
    /// Those of [`get`](Self::get); `InvalidArgument` for a span whose end is the empty key.
    pub fn scan(
        &self,
        span: Span<'_>,
        timestamp: Timestamp,
        options: &MvccReadOptions,
    ) -> Result<ScanResult> {
        let result = self.scan_values(span, timestamp, options)?;
        match (options.whole_rows, &result.resume) {
            (Some(row), Some(_)) => self.keep_rows_whole(result, row, timestamp, options),
            _ => Ok(result),
        }
    }

    /// The result of a scan that a limit has stopped, perhaps within a row.
    fn keep_rows_whole(
        &self,
        mut result: ScanResult,
        row: RowPrefix,
        timestamp: Timestamp,
        options: &MvccReadOptions,
    ) -> Result<ScanResult> {
        let Some(last) = result.rows.iter().last() else {
            return Ok(result);
        };
        let prefix = row_of(row, last.user_key).to_vec();
        let Some(mut resume) = result.resume.take() else {
            return Ok(result);
        };
        let next = match options.reverse {
            false => Some(resume.start.clone()),
            true => resume.end.as_ref().map(|end| end[..end.len() - 1].to_vec()),
        };
        if next.is_none_or(|next| row_of(row, &next) != prefix) {
            result.resume = Some(resume);
            return Ok(result);
        }
        let is_of_row = |key: &[u8]| row_of(row, key) == prefix;
        let first = result.rows.iter().position(|found| is_of_row(found.user_key));
        let whole = first.unwrap_or_default() as u64;
        if whole == 0 && !options.allow_empty {
            return self.finish_row(result, resume, &is_of_row, timestamp, options);
        }
        let before = result.rows.bytes();
        let first = result
            .rows
            .iter()
            .nth(whole as usize)
            .map(|found| found.user_key.to_vec());
        if let Some(first) = first {
            match options.reverse {
                false => resume.start = first,
                true => resume.end = Some(next_user_key(&first)),
            }
        }
        let parted = result.rows.len() - whole;
        result.rows.truncate(whole);
        result.counters.rows -= parted;
        resume.next_bytes += before - result.rows.bytes();
        result.resume = Some(resume);
        Ok(result)
    }

    /// Continues from `left` to the end of a row, key by key.
    fn finish_row(
        &self,
        mut result: ScanResult,
        mut left: Resume,
        is_of_row: &dyn Fn(&[u8]) -> bool,
        timestamp: Timestamp,
        options: &MvccReadOptions,
    ) -> Result<ScanResult> {
        let unlimited = MvccReadOptions {
            max_keys: None,
            target_bytes: None,
            whole_rows: None,
            ..*options
        };
        let span = left.clone();
        let mut iter = self.versions(span.span())?;
        match options.reverse {
            false => iter.seek_to_first(),
            true => iter.seek_to_last(),
        }
        loop {
            let Some(key) = iter.current()?.map(|at| at.user_key.to_vec()) else {
                break;
            };
            if !is_of_row(&key) {
                match options.reverse {
                    false => left.start = key,
                    true => left.end = Some(next_user_key(&key)),
                }
                left.next_bytes = 0;
                result.resume = Some(left);
                break;
            }
            let behind = next_user_key(&key);
            let found = self.scan_values(Span::new(&key, &behind), timestamp, &unlimited)?;
            result.rows.append(&found.rows);
            result.counters += found.counters;
            match options.reverse {
                false => iter.next_key(),
                true => iter.prev_key(&key)?,
            }
        }
        result.counters += iter.counters;
        Ok(result)
    }
}
