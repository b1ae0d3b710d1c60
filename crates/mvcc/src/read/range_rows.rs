//! The stored form of range tombstones. They are in the family of the versions they hide, so that both are
//! written, flushed and lost together.
//!
//! ```text
//! key 00 | suffix of the time   (versions of the empty user key, which no user has) ->
//!   u8 1 | (length varint | start | length varint | end)...
//! ```
//!
//! There is one row for each time, with the spans that were deleted at that time: in order, without overlaps
//! or adjoining spans. Fragments are not stored, because they follow from the rows. A write only changes the
//! row of its time, whatever it overlaps.

use std::collections::{BTreeMap, BTreeSet};

use base::coding::{self, Reader as Bytes};

use crate::error::{Error, Result};
use crate::key::mvcc_key::encode_key;
use crate::key::ranges::{Deleted, Ranges};
use crate::key::timestamp::Timestamp;

const ROW_VERSION: u8 = 1;

impl Ranges {
    /// The rows of `times`.
    pub fn rows(&self, times: &BTreeSet<Timestamp>) -> Vec<Row> {
        let mut spans: BTreeMap<Timestamp, Vec<Bounds<'_>>> =
            times.iter().map(|time| (*time, Vec::new())).collect();
        for fragment in self.fragments() {
            for time in fragment.stack.iter() {
                let Some(spans) = spans.get_mut(time) else {
                    continue;
                };
                match spans.last_mut().filter(|(_, end)| *end == &*fragment.start) {
                    Some((_, end)) => *end = &fragment.end,
                    None => spans.push((&fragment.start, &fragment.end)),
                }
            }
        }
        spans
            .into_iter()
            .map(|(time, spans)| encode(time, &spans))
            .collect()
    }
}

/// The row of one time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub key: Vec<u8>,
    /// `None` if no span is deleted at that time any more.
    pub value: Option<Vec<u8>>,
}

/// A start and an end.
type Bounds<'a> = (&'a [u8], &'a [u8]);

fn encode(time: Timestamp, spans: &[Bounds<'_>]) -> Row {
    let mut key = Vec::new();
    encode_key(&mut key, &[], time);
    let value = (!spans.is_empty()).then(|| {
        let mut value = vec![ROW_VERSION];
        for (start, end) in spans {
            coding::put_length_prefixed(&mut value, start);
            coding::put_length_prefixed(&mut value, end);
        }
        value
    });
    Row { key, value }
}

pub(crate) fn decode(time: Timestamp, row: &[u8], spans: &mut Vec<Deleted>) -> Result<()> {
    let damaged = |what: &str| Error::corruption(format!("the row of range tombstones at {time}: {what}"));
    let mut bytes = Bytes::new(row);
    let version = bytes.u8("version of a row of range tombstones")?;
    if version != ROW_VERSION {
        return Err(damaged(&format!("version {version}")));
    }
    if bytes.is_empty() {
        return Err(damaged("no span"));
    }
    let mut before: Option<&[u8]> = None;
    while !bytes.is_empty() {
        let start = bytes.length_prefixed("start of a range tombstone")?;
        let end = bytes.length_prefixed("end of a range tombstone")?;
        if start >= end || before.is_some_and(|before| before >= start) {
            return Err(damaged("spans out of order"));
        }
        before = Some(end);
        spans.push(Deleted {
            start: start.into(),
            end: end.into(),
            time,
        });
    }
    Ok(())
}
