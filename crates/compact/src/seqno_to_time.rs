//! The times at which rows were written: pairs of a sequence number and a time, RocksDB's
//! `SeqnoToTimeMapping`.
//!
//! ```text
//! rocksdb.seqno.time.map = v64 number of pairs, then of each v64 sequence number, v64 time: each less what the pair before has
//! ```

use base::coding::{self, Reader};
use base::{Error, Result, SeqNo};

/// The maximum number of pairs in a table.
pub const MAX_PAIRS_PER_TABLE: usize = 100;

/// The maximum number of pairs in memory.
const MAX_PAIRS: usize = 1000;

/// Pairs of a sequence number and Unix seconds, both ascending. A pair means that this was the last sequence
/// number at that time: rows up to it were written then or earlier, rows after it then or later.
///
/// ```
/// # use esker_compact as esker;
///
/// use esker::SeqnoToTimeMapping;
///
/// let mut mapping = SeqnoToTimeMapping::default();
/// mapping.append(10, 1_000);
/// mapping.append(20, 2_000);
/// assert_eq!(mapping.oldest_approximate_time(15), Some(1_000));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeqnoToTimeMapping {
    pairs: Vec<(SeqNo, u64)>,
}

impl SeqnoToTimeMapping {
    /// Records that `seqno` is the last sequence number at `time`. A pair that is not newer than the last one
    /// is ignored.
    pub fn append(&mut self, seqno: SeqNo, time: u64) {
        if seqno == 0 {
            return;
        }
        match self.pairs.last_mut() {
            Some(last) if seqno < last.0 || time < last.1 => {}
            // No row was written meanwhile: the later time is a better bound for later rows.
            Some(last) if seqno == last.0 => last.1 = time,
            Some(last) if time == last.1 => {}
            _ => self.pairs.push((seqno, time)),
        }
        if self.pairs.len() > MAX_PAIRS {
            self.pairs.remove(0);
        }
    }

    /// Removes the pairs older than `time`, except for the last such pair.
    pub fn truncate_before(&mut self, time: u64) {
        let older = self.pairs.partition_point(|pair| pair.1 <= time);
        self.pairs.drain(..older.saturating_sub(1));
    }

    /// The pairs of a sequence number and a time.
    pub fn pairs(&self) -> &[(SeqNo, u64)] {
        &self.pairs
    }

    /// Unix seconds before which row `seqno` was not written; `None` if unknown.
    pub fn oldest_approximate_time(&self, seqno: SeqNo) -> Option<u64> {
        let behind = self.pairs.partition_point(|pair| pair.0 < seqno);
        Some(self.pairs[behind.checked_sub(1)?].1)
    }

    /// Rows with lower sequence numbers are older than `time`, in Unix seconds; 0 if that is known of no row.
    pub fn oldest_sequence_number(&self, time: u64) -> SeqNo {
        let older = self.pairs.partition_point(|pair| pair.1 <= time);
        older.checked_sub(1).map_or(0, |last| self.pairs[last].0)
    }

    /// Adds the pairs of another mapping.
    pub fn merge(&mut self, other: &SeqnoToTimeMapping) {
        self.pairs.extend_from_slice(&other.pairs);
        self.pairs.sort_unstable();
        let all = std::mem::take(&mut self.pairs);
        for (seqno, time) in all {
            match self.pairs.last_mut() {
                Some(last) if last.0 == seqno => last.1 = time,
                // A later row whose time is no newer adds no information.
                Some(last) if time <= last.1 => {}
                _ => self.pairs.push((seqno, time)),
            }
        }
    }

    /// The property's value for a table of rows from `smallest` to `largest`: at most [`MAX_PAIRS_PER_TABLE`]
    /// pairs, evenly spread in time. Empty if no time is known of the rows.
    pub fn encode(&self, smallest: SeqNo, largest: SeqNo) -> Vec<u8> {
        // The pair before the first row comes first: it bounds the age of that row.
        let first = self
            .pairs
            .partition_point(|pair| pair.0 < smallest)
            .saturating_sub(1);
        let end = self.pairs.partition_point(|pair| pair.0 <= largest);
        let pairs = self.pairs.get(first..end).unwrap_or_default();
        let mut out = Vec::new();
        let Some((&(_, begin), &(_, last))) = pairs.first().zip(pairs.last()) else {
            return out;
        };
        let mut chosen: Vec<(SeqNo, u64)> = Vec::new();
        for (at, &pair) in pairs.iter().enumerate() {
            let left = pairs.len() - at;
            let room = MAX_PAIRS_PER_TABLE - chosen.len();
            // The time is divided into as many steps as there may be pairs; the next pair is chosen at the
            // next step.
            let step = (last - begin) / (MAX_PAIRS_PER_TABLE as u64);
            let due = begin.saturating_add(step.saturating_mul(chosen.len() as u64));
            if left <= room || (room > 0 && pair.1 >= due) {
                chosen.push(pair);
            }
        }
        coding::put_varint64(&mut out, chosen.len() as u64);
        let mut before = (0, 0);
        for pair in chosen {
            coding::put_varint64(&mut out, pair.0 - before.0);
            coding::put_varint64(&mut out, pair.1 - before.1);
            before = pair;
        }
        out
    }

    /// The mapping of a property's value; an empty value gives an empty mapping.
    ///
    /// # Errors
    /// `Corruption` for malformed bytes.
    pub fn decode(bytes: &[u8]) -> Result<SeqnoToTimeMapping> {
        let mut mapping = SeqnoToTimeMapping::default();
        if bytes.is_empty() {
            return Ok(mapping);
        }
        let mut reader = Reader::new(bytes);
        let count = reader.varint64("number of pairs of sequence number and time")?;
        let overflow = || Error::corruption("a sequence number or time that does not fit");
        let mut pair = (0u64, 0u64);
        for _ in 0..count {
            let seqno = reader.varint64("sequence number")?;
            let time = reader.varint64("time")?;
            pair = (
                pair.0.checked_add(seqno).ok_or_else(overflow)?,
                pair.1.checked_add(time).ok_or_else(overflow)?,
            );
            mapping.pairs.push(pair);
        }
        Ok(mapping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(pairs: &[(SeqNo, u64)]) -> SeqnoToTimeMapping {
        let mut mapping = SeqnoToTimeMapping::default();
        for &(seqno, time) in pairs {
            mapping.append(seqno, time);
        }
        mapping
    }

    #[test]
    fn rows_are_as_old_as_the_pairs_around_them_say() {
        let mapping = mapping(&[(0, 50), (10, 100), (10, 120), (12, 120), (50, 300), (40, 400)]);
        assert_eq!(mapping.pairs(), [(10, 120), (50, 300)]);
        let time = |seqno| mapping.oldest_approximate_time(seqno);
        assert_eq!(
            [time(10), time(11), time(50), time(51)],
            [None, Some(120), Some(120), Some(300)]
        );
        let seqno = |time| mapping.oldest_sequence_number(time);
        assert_eq!([seqno(119), seqno(120), seqno(299), seqno(1000)], [0, 10, 10, 50]);
    }

    #[test]
    fn old_pairs_go_but_the_last() {
        let mut mapping = mapping(&[(1, 10), (2, 20), (3, 30)]);
        mapping.truncate_before(25);
        assert_eq!(mapping.pairs(), [(2, 20), (3, 30)]);
        mapping.truncate_before(1000);
        assert_eq!(mapping.pairs(), [(3, 30)]);
        for i in 0..5000 {
            mapping.append(100 + i, 100 + i);
        }
        assert_eq!(mapping.pairs().len(), MAX_PAIRS);
    }

    #[test]
    fn what_tables_keep_comes_together_again() {
        let all = mapping(&(1..=500).map(|i| (i * 10, i * 7)).collect::<Vec<_>>());
        let parts = [(1, 900), (800, 4000), (4001, 9000)].map(|(smallest, largest)| {
            let bytes = all.encode(smallest, largest);
            let part = SeqnoToTimeMapping::decode(&bytes).unwrap();
            assert!(part.pairs().len() <= MAX_PAIRS_PER_TABLE);
            assert!(part.pairs().iter().all(|pair| all.pairs().contains(pair)));
            for seqno in (smallest.max(11)..largest).step_by(77) {
                let (known, exact) = (
                    part.oldest_approximate_time(seqno),
                    all.oldest_approximate_time(seqno),
                );
                assert!(known.is_some() && known <= exact, "{seqno}: {known:?} {exact:?}");
                // The error is at most a hundredth of the span, plus the distance of two pairs.
                assert!(exact.unwrap() - known.unwrap() <= 3500 / 100 + 14);
            }
            part
        });
        let mut merged = SeqnoToTimeMapping::default();
        // The order of the parts does not matter.
        for part in [&parts[2], &parts[0], &parts[1]] {
            merged.merge(part);
        }
        assert!(merged.pairs().is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
        assert_eq!(merged.pairs().first(), Some(&(10, 7)));
        assert!(all.encode(0, 5).is_empty(), "a time before all pairs");
        assert_eq!(
            SeqnoToTimeMapping::decode(&[]).unwrap(),
            SeqnoToTimeMapping::default()
        );
    }

    #[test]
    fn bytes_that_are_none_are_corruption() {
        let good = mapping(&[(10, 100), (20, 200)]).encode(1, 100);
        assert_eq!(good, [2, 10, 100, 10, 100]);
        for len in 1..good.len() {
            assert!(
                SeqnoToTimeMapping::decode(&good[..len])
                    .unwrap_err()
                    .is_corruption()
            );
        }
        let mut huge = Vec::new();
        coding::put_varint64(&mut huge, u64::MAX);
        assert!(SeqnoToTimeMapping::decode(&huge).unwrap_err().is_corruption());
        let mut overflow = vec![2];
        for number in [u64::MAX, 1, 1, 1] {
            coding::put_varint64(&mut overflow, number);
        }
        assert!(SeqnoToTimeMapping::decode(&overflow).unwrap_err().is_corruption());
    }
}
