//! Inline values: the single value of a key, without a time, versions or history. A key has either an inline
//! value or versions.

use crate::error::{Error, Result, Shown};
use crate::key::span::Span;
use crate::key::value::Value;
use crate::read::results::{Resume, ResumeReason, check_key};
use crate::write::batch::{DeleteRangeResult, MvccBatch, Newest, check_condition, sum_of};

impl MvccBatch<'_> {
    /// Sets the inline value of `key`, which has no versions and no history; `None` removes it. Returns
    /// whether there was one.
    ///
    /// # Errors
    /// `InvalidArgument` for the empty key, a key with versions, and a key without an inline value that a
    /// range tombstone has deleted, even if `value` is `None`. An inline value that existed before the range
    /// tombstone can be set and removed.
    pub fn put_inline(&mut self, key: &[u8], value: Option<Value<'_>>) -> Result<bool> {
        let before = self.inline_before(key, value, false)?;
        self.write_inline(key, value, before.as_ref().map(|before| before.value_len));
        Ok(before.is_some())
    }

    /// Puts a value as [`put_inline`](Self::put_inline) does, if the inline value is `expected`: `None` means
    /// no value. With `allow_if_not_exists` the absence of a value also satisfies the condition.
    ///
    /// # Errors
    /// [`Error::ConditionFailed`] with the value found; those of [`put_inline`](Self::put_inline), which take
    /// precedence.
    pub fn conditional_put_inline(
        &mut self,
        key: &[u8],
        value: Option<Value<'_>>,
        expected: Option<Value<'_>>,
        allow_if_not_exists: bool,
    ) -> Result<()> {
        let before = self.inline_before(key, value, true)?;
        check_condition(key, before.as_ref(), expected, allow_if_not_exists)?;
        self.write_inline(key, value, before.map(|before| before.value_len));
        Ok(())
    }

    /// Adds `by` to the number that is the inline value of `key`, where no value counts as 0, and sets the
    /// sum. Returns the sum.
    ///
    /// # Errors
    /// `InvalidArgument` if the value is not a number, [`Error::Overflow`], those of
    /// [`put_inline`](Self::put_inline).
    pub fn increment_inline(&mut self, key: &[u8], by: i64) -> Result<i64> {
        let before = self.inline_before(key, Some(Value::Int(by)), true)?;
        let sum = sum_of(key, before.as_ref(), by)?;
        let before = before.map(|before| before.value_len);
        self.write_inline(key, Some(Value::Int(sum)), before);
        Ok(sum)
    }

    /// Removes the inline values of the keys of `span`, of `max_keys` at most (default: no limit). Returns
    /// the keys if `return_keys`. Reads the span up to the limit.
    ///
    /// # Errors
    /// `InvalidArgument` for a span whose end is the empty key, and for a key with versions that is met
    /// before the limit. Nothing is removed then.
    pub fn delete_range_inline(
        &mut self,
        span: Span<'_>,
        max_keys: Option<u64>,
        return_keys: bool,
    ) -> Result<DeleteRangeResult> {
        if let Some(end) = span.end {
            check_key(end)?;
        }
        let mut result = DeleteRangeResult::default();
        if span.is_empty() {
            return Ok(result);
        }
        let mut found: Vec<(Vec<u8>, usize)> = Vec::new();
        let statistics = self.options().statistics;
        let mut iter = self.reader().versions(span)?;
        iter.seek_to_first();
        while let Some(at) = iter.current()? {
            let user_key = at.user_key.to_vec();
            if max_keys.is_some_and(|most| found.len() as u64 >= most) {
                result.resume = Some(Resume {
                    start: user_key,
                    end: span.end.map(<[u8]>::to_vec),
                    reason: ResumeReason::KeyLimit,
                    next_bytes: 0,
                });
                break;
            }
            if !at.timestamp.is_zero() {
                return Err(has_versions(&user_key));
            }
            let value_len = if statistics { iter.value_len()? } else { 0 };
            found.push((user_key, value_len));
            iter.next();
        }
        self.counters += iter.counters;
        drop(iter);
        result.count = found.len() as u64;
        for (key, value_len) in found {
            self.write_inline(&key, None, Some(value_len));
            if return_keys {
                result.keys.push(key);
            }
        }
        Ok(result)
    }

    /// The inline value of `key`, if `value` may be written over it or it may be removed. It is read only if
    /// `reads_value`.
    fn inline_before(
        &mut self,
        key: &[u8],
        value: Option<Value<'_>>,
        reads_value: bool,
    ) -> Result<Option<Newest>> {
        check_key(key)?;
        self.check_size(key, value)?;
        let newest = self.newest(key, reads_value)?;
        match &newest {
            Some(newest) if !newest.timestamp.is_zero() => Err(has_versions(key)),
            None if self.deletions(key).is_some() => Err(Error::invalid_argument(format!(
                "{} is deleted by a range tombstone, and takes no inline value",
                Shown(key)
            ))),
            _ => Ok(newest),
        }
    }
}

#[cold]
fn has_versions(key: &[u8]) -> Error {
    Error::invalid_argument(format!("{} has versions, and takes no inline value", Shown(key)))
}
