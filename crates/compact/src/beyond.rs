//! The keys that may exist below the output of a compaction. A deletion of a key that does not exist there
//! can be dropped.

use std::cmp::Ordering;

use base::UserComparator;

use crate::order;

/// The key ranges of files below the output level, queried in ascending order of keys. A clone starts from
/// the first key.
#[derive(Debug)]
pub struct BeyondOutput {
    cmp: UserComparator,
    /// `None`: any key may exist below. Otherwise, one element for each sorted run.
    runs: Option<Vec<SortedFiles>>,
}

/// The user keys that a file may hold, without timestamps; the bounds are inclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// First user key.
    pub smallest: Box<[u8]>,
    /// Last user key.
    pub largest: Box<[u8]>,
}

#[derive(Debug)]
struct SortedFiles {
    /// The files, ordered by key, without overlaps.
    files: Vec<KeyRange>,
    /// The first file that does not end before the key of the last query.
    at: usize,
}

impl BeyondOutput {
    /// Every key may exist below. For flushes and outputs to L0.
    pub fn anything(cmp: UserComparator) -> BeyondOutput {
        BeyondOutput { cmp, runs: None }
    }

    /// No key exists below: the output is the bottom of its key range.
    pub fn nothing(cmp: UserComparator) -> BeyondOutput {
        BeyondOutput::new(cmp, Vec::new())
    }

    /// The files of the given ranges are below: sorted runs, each in order and without overlaps.
    pub fn new(cmp: UserComparator, runs: Vec<Vec<KeyRange>>) -> BeyondOutput {
        let runs = runs
            .into_iter()
            .map(|files| SortedFiles { files, at: 0 })
            .collect();
        BeyondOutput {
            cmp,
            runs: Some(runs),
        }
    }

    /// True if `user_key` (with its timestamp) is in the range of a file below. Keys must not descend from
    /// call to call.
    pub fn may_contain(&mut self, user_key: &[u8]) -> bool {
        let cmp = &self.cmp;
        let key = cmp.strip_timestamp(user_key);
        let Some(runs) = &mut self.runs else { return true };
        runs.iter_mut().any(|run| {
            run.advance(cmp, key)
                .is_some_and(|file| order::bare(cmp, &file.smallest, key) != Ordering::Greater)
        })
    }

    /// True if the range of a file below overlaps the keys from `start` up to `end`, exclusive, both without
    /// timestamps. Starts must not descend from call to call.
    pub fn may_overlap(&mut self, start: &[u8], end: &[u8]) -> bool {
        let cmp = &self.cmp;
        let Some(runs) = &mut self.runs else { return true };
        runs.iter_mut().any(|run| {
            run.advance(cmp, start)
                .is_some_and(|file| order::bare(cmp, &file.smallest, end) == Ordering::Less)
        })
    }
}

impl SortedFiles {
    fn advance(&mut self, cmp: &UserComparator, key: &[u8]) -> Option<&KeyRange> {
        while let Some(file) = self.files.get(self.at) {
            if order::bare(cmp, &file.largest, key) != Ordering::Less {
                break;
            }
            self.at += 1;
        }
        self.files.get(self.at)
    }
}

impl Clone for BeyondOutput {
    fn clone(&self) -> BeyondOutput {
        let runs = self.runs.as_ref().map(|runs| {
            let fresh = |run: &SortedFiles| SortedFiles {
                files: run.files.clone(),
                at: 0,
            };
            runs.iter().map(fresh).collect()
        });
        BeyondOutput {
            cmp: self.cmp.clone(),
            runs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(runs: &[&[(&str, &str)]]) -> BeyondOutput {
        let boxed = |text: &str| text.as_bytes().to_vec().into_boxed_slice();
        let range = |(smallest, largest): &(&str, &str)| KeyRange {
            smallest: boxed(smallest),
            largest: boxed(largest),
        };
        let runs = runs.iter().map(|run| run.iter().map(range).collect());
        BeyondOutput::new(UserComparator::Bytewise, runs.collect())
    }

    #[test]
    fn keys_in_gaps_do_not_exist_below() {
        let mut beyond = below(&[&[("b", "d"), ("g", "g")], &[("k", "z")]]);
        let found: Vec<bool> = ["a", "b", "c", "d", "e", "g", "h", "k", "zz"]
            .iter()
            .map(|key| beyond.may_contain(key.as_bytes()))
            .collect();
        assert_eq!(found, [false, true, true, true, false, true, false, true, false]);
    }

    #[test]
    fn ranges_end_before_their_end() {
        let mut beyond = below(&[&[("b", "d"), ("g", "i")]]);
        let overlaps: Vec<bool> = [
            ("a", "b"),
            ("a", "c"),
            ("d", "e"),
            ("e", "g"),
            ("f", "h"),
            ("i", "j"),
            ("j", "k"),
        ]
        .iter()
        .map(|(start, end)| beyond.may_overlap(start.as_bytes(), end.as_bytes()))
        .collect();
        assert_eq!(overlaps, [false, true, true, false, true, true, false]);
    }

    #[test]
    fn the_extremes() {
        assert!(BeyondOutput::anything(UserComparator::Bytewise).may_contain(b"a"));
        assert!(!BeyondOutput::nothing(UserComparator::Bytewise).may_contain(b"a"));
    }
}
