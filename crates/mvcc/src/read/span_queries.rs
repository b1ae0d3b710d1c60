//! Queries about spans that do not read values.

use crate::error::Result;
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::read::reader::Reader;
use crate::read::window::inline_in_window;

impl Reader<'_> {
    /// True if `span` has neither a version nor a range tombstone above `after` and at or below `until`.
    /// Deletions are versions. From [`Timestamp::ZERO`] to [`Timestamp::MAX`] it has no inline value either.
    ///
    /// # Errors
    /// `InvalidArgument` in any other window for an inline value that is met before a version, since it has
    /// no time; those of [`incremental`](Self::incremental); errors of the engine.
    pub fn is_span_empty(&self, span: Span<'_>, after: Timestamp, until: Timestamp) -> Result<bool> {
        self.check_window(after, until)?;
        if span.is_empty() {
            return Ok(true);
        }
        if self
            .ranges()
            .is_some_and(|ranges| !ranges.window(span, after, until).is_empty())
        {
            return Ok(false);
        }
        let is_window = !after.is_zero() || until < Timestamp::MAX;
        let mut iter = self.versions(span)?;
        let mut user_key = Vec::new();
        iter.seek_to_first();
        while let Some(version) = iter.current()? {
            user_key.clear();
            user_key.extend_from_slice(version.user_key);
            let mut time = Some(version.timestamp);
            if version.timestamp > until {
                iter.descend(&user_key, until)?;
                time = iter.time_of(&user_key)?;
            }
            match time {
                Some(time) if time.is_zero() && is_window => return Err(inline_in_window(&user_key)),
                Some(time) if time.is_zero() || time > after => return Ok(false),
                Some(_) => iter.next_key(),
                None => {}
            }
        }
        Ok(true)
    }

    /// The key at which to split `span` so that the part before it has about `target_bytes` of keys and
    /// values: the nearest existing key, but never the first. `None` if there are fewer than two keys. Reads
    /// the span up to about that key.
    pub fn find_split_key(&self, span: Span<'_>, target_bytes: u64) -> Result<Option<Vec<u8>>> {
        if span.is_empty() {
            return Ok(None);
        }
        let mut iter = self.versions(span)?;
        let mut user_key: Option<Vec<u8>> = None;
        let mut best: Option<(u64, Vec<u8>)> = None;
        let mut left = 0u64;
        iter.seek_to_first();
        while let Some(version) = iter.current()? {
            if user_key.as_deref() != Some(version.user_key) {
                if user_key.is_some() {
                    let distance = left.abs_diff(target_bytes);
                    if best.as_ref().is_some_and(|(nearest, _)| *nearest <= distance) {
                        break;
                    }
                    best = Some((distance, version.user_key.to_vec()));
                }
                user_key = Some(version.user_key.to_vec());
            }
            left += (iter.engine_key().len() + iter.value_len()?) as u64;
            iter.next();
        }
        Ok(best.map(|(_, key)| key))
    }
}
