//! The record of a store: its threshold, its statistics, and what was collected.

use base::coding::{self, Reader as Bytes};
use esker::{ColumnFamily, Db, ReadOptions};

use crate::error::{Error, Result};
use crate::key::stats::MvccStats;
use crate::key::timestamp::Timestamp;

/// The engine key of the record.
pub(crate) const RECORD_KEY: &[u8] = &[0];

const RECORD_VERSION: u8 = 2;

/// The version of a record without range tombstones.
const PLAIN_VERSION: u8 = 1;

/// The number of fields of the statistics.
const FIELDS: usize = 11;

/// The number of fields in a record without range tombstones.
const PLAIN_FIELDS: usize = 8;

/// The length of the longest record.
const MAX_LEN: usize = 1 + 3 * 12 + 1 + FIELDS * 8;

/// The contents of the record.
#[derive(Default)]
pub(crate) struct Record {
    pub threshold: Timestamp,
    pub collected: Timestamp,
    pub distrusted: Timestamp,
    pub stats: Option<MvccStats>,
}

impl Record {
    /// Encodes the record. Without range tombstones it has the form that releases without them read.
    pub fn encode(&self, has_ranges: bool) -> Vec<u8> {
        let (version, fields_len) = match has_ranges {
            true => (RECORD_VERSION, FIELDS),
            false => (PLAIN_VERSION, PLAIN_FIELDS),
        };
        let mut record = Vec::with_capacity(MAX_LEN);
        record.push(version);
        for time in [self.threshold, self.collected, self.distrusted] {
            coding::put_u64(&mut record, time.wall as u64);
            coding::put_u32(&mut record, time.logical as u32);
        }
        record.push(u8::from(self.stats.is_some()));
        if let Some(stats) = &self.stats {
            for field in &fields(stats)[..fields_len] {
                coding::put_u64(&mut record, *field as u64);
            }
        }
        record
    }
}

fn fields(stats: &MvccStats) -> [i64; FIELDS] {
    [
        stats.last_update_nanos,
        stats.live_bytes,
        stats.live_count,
        stats.key_bytes,
        stats.key_count,
        stats.val_bytes,
        stats.val_count,
        stats.gc_bytes_age,
        stats.range_key_count,
        stats.range_key_bytes,
        stats.range_val_count,
    ]
}

/// The threshold in the state of `family` that `options` read; [`Timestamp::ZERO`] if it is not a store.
pub(crate) fn threshold_of(db: &Db, family: &ColumnFamily, options: &ReadOptions) -> Result<Timestamp> {
    match db.get_cf_opt(family, RECORD_KEY, options)? {
        Some(record) => Ok(decode_record(&record)?.threshold),
        None => Ok(Timestamp::ZERO),
    }
}

pub(crate) fn decode_record(record: &[u8]) -> Result<Record> {
    let mut bytes = Bytes::new(record);
    let version = bytes.u8("version of a store's record")?;
    if version != RECORD_VERSION && version != PLAIN_VERSION {
        return Err(Error::corruption(format!(
            "a store's record of version {version}"
        )));
    }
    let mut time = |what| -> Result<Timestamp> {
        let time = Timestamp {
            wall: bytes.u64(what)? as i64,
            logical: bytes.u32(what)? as i32,
        };
        if time.wall < 0 || time.logical < 0 {
            return Err(Error::corruption(format!("a store's {what} is negative")));
        }
        Ok(time)
    };
    let (threshold, collected) = (time("threshold")?, time("collected time")?);
    let distrusted = time("distrusted time")?;
    let stats = match bytes.u8("statistics")? {
        0 => None,
        1 => {
            let mut next = || bytes.u64("statistics").map(|field| field as i64);
            let mut stats = MvccStats {
                last_update_nanos: next()?,
                live_bytes: next()?,
                live_count: next()?,
                key_bytes: next()?,
                key_count: next()?,
                val_bytes: next()?,
                val_count: next()?,
                gc_bytes_age: next()?,
                ..MvccStats::default()
            };
            if version == RECORD_VERSION {
                stats.range_key_count = next()?;
                stats.range_key_bytes = next()?;
                stats.range_val_count = next()?;
            }
            Some(stats)
        }
        other => {
            return Err(Error::corruption(format!(
                "unknown flag {other} for statistics in a store's record"
            )));
        }
    };
    if !bytes.is_empty() {
        return Err(Error::corruption("bytes after a store's record"));
    }
    Ok(Record {
        threshold,
        collected,
        distrusted,
        stats,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_records_are_told() {
        let mut record = vec![RECORD_VERSION];
        for time in 7..10 {
            coding::put_u64(&mut record, time);
            coding::put_u32(&mut record, 3);
        }
        record.push(1);
        for field in 1..=11u64 {
            coding::put_u64(&mut record, field);
        }
        let read = decode_record(&record).unwrap();
        let times = [read.threshold, read.collected, read.distrusted];
        assert_eq!(
            times.map(|time| (time.wall, time.logical)),
            [(7, 3), (8, 3), (9, 3)]
        );
        assert_eq!(fields(&read.stats.unwrap()), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        for len in 0..record.len() {
            assert!(decode_record(&record[..len]).is_err(), "cut at {len}");
        }
        for (at, byte) in [(0, 9), (8, 0xff), (12, 0xff), (20, 0xff), (36, 0xff), (37, 2)] {
            let mut damaged = record.clone();
            damaged[at] = byte;
            assert!(decode_record(&damaged).is_err(), "byte {at}");
        }
        let mut plain = record.clone();
        plain[0] = PLAIN_VERSION;
        assert!(decode_record(&plain).is_err());
        plain.truncate(record.len() - 24);
        let read = decode_record(&plain).unwrap();
        assert_eq!(fields(&read.stats.unwrap()), [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0]);
        record.push(0);
        assert!(decode_record(&record).is_err());
    }
}
