//! What may lie below the output of a compaction: a deletion whose key is not there need not be kept.

use std::cmp::Ordering;

use base::UserComparator;

use crate::order;

/// The key ranges of files below the output level, asked about in ascending order of keys. Cloning starts from the front.
#[derive(Debug)]
pub struct BeyondOutput {
    cmp: UserComparator,
    /// `None`: anything may be below. Else a sorted run each.
    runs: Option<Vec<Run>>,
}

#[derive(Debug)]
struct Run {
    /// Smallest and largest user key of each file, without timestamps.
    files: Vec<(Box<[u8]>, Box<[u8]>)>,
    /// First file that does not end before the last key asked for.
    at: usize,
}

impl BeyondOutput {
    /// Nothing is known: every key may be below. For flushes and outputs to L0.
    pub fn anything(cmp: UserComparator) -> BeyondOutput {
        BeyondOutput { cmp, runs: None }
    }

    /// Nothing is below: the output is the bottom of its key range.
    pub fn nothing(cmp: UserComparator) -> BeyondOutput {
        BeyondOutput::new(cmp, Vec::new())
    }

    /// Files of the given smallest and largest user keys (without timestamps, both inclusive) are below: sorted runs,
    /// each in order and without overlaps.
    pub fn new(cmp: UserComparator, runs: Vec<Vec<(Box<[u8]>, Box<[u8]>)>>) -> BeyondOutput {
        let runs = runs.into_iter().map(|files| Run { files, at: 0 }).collect();
        BeyondOutput {
            cmp,
            runs: Some(runs),
        }
    }

    /// True if `user_key` (with its timestamp) lies within a file below. Keys must not descend from call to call.
    pub fn may_contain(&mut self, user_key: &[u8]) -> bool {
        let cmp = &self.cmp;
        let key = cmp.strip_timestamp(user_key);
        let Some(runs) = &mut self.runs else { return true };
        runs.iter_mut().any(|run| {
            run.advance(cmp, key)
                .is_some_and(|(smallest, _)| order::bare(cmp, smallest, key) != Ordering::Greater)
        })
    }

    /// True if a file below has keys from `start` up to `end`, exclusive, both without timestamps. Starts must not
    /// descend from call to call.
    pub fn may_overlap(&mut self, start: &[u8], end: &[u8]) -> bool {
        let cmp = &self.cmp;
        let Some(runs) = &mut self.runs else { return true };
        runs.iter_mut().any(|run| {
            run.advance(cmp, start)
                .is_some_and(|(smallest, _)| order::bare(cmp, smallest, end) == Ordering::Less)
        })
    }
}

impl Run {
    fn advance(&mut self, cmp: &UserComparator, key: &[u8]) -> Option<&(Box<[u8]>, Box<[u8]>)> {
        while let Some(file) = self.files.get(self.at) {
            if order::bare(cmp, &file.1, key) != Ordering::Less {
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
            let fresh = |run: &Run| Run {
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
        let runs = runs
            .iter()
            .map(|run| run.iter().map(|(a, b)| (boxed(a), boxed(b))).collect());
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
