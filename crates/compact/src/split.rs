//! When an output file is closed and the next one begins, by RocksDB's rules.
//!
//! A file ends when it is large enough. It ends earlier where this saves later compactions work: at the
//! boundaries of the *grandparents*, the files of the next level that the file's own next compaction will
//! have to rewrite. A file should not overlap too many bytes of them, nor span a grandparent in which it has
//! no key, and it preferably ends where a grandparent ends. All versions of a user key stay in one file.

use std::cmp::Ordering;
use std::sync::Arc;

use base::UserComparator;
use manifest::FileMetadata;

use crate::order;
use crate::partitioner::SstPartitioner;

/// The limits of an [`OutputSplitter`], as [`Plan::split_limits`](crate::Plan::split_limits) returns them.
#[derive(Clone, Debug)]
pub struct SplitLimits {
    /// The output level; files of L0 are never cut.
    pub output_level: usize,
    /// The files that overlap the output in the next level with data, in order.
    pub grandparents: Vec<Arc<FileMetadata>>,
    /// The size of a file in bytes.
    pub target_file_size: u64,
    /// The size in bytes at which a file ends in any case.
    pub max_output_file_size: u64,
    /// The maximum bytes of a file together with the grandparents it overlaps.
    pub max_compaction_bytes: u64,
    /// The places where streams will continue, in order: files end there.
    pub borders: Arc<[Border]>,
}

/// A place among user keys where a stream will continue: the stream's next file fits between two files that
/// end there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Border {
    /// The user key at which the stream continues.
    pub key: Box<[u8]>,
    /// True if the stream's next keys will come after `key`; false if before it.
    pub behind: bool,
}

/// The target size divided by this number is the minimum size of a file that ends at a border.
const MIN_PART_AT_BORDER: u64 = 256;

/// Decides where the output of one compaction is cut. It is shown every key before it is written, in order.
#[derive(Debug)]
pub struct OutputSplitter {
    cmp: UserComparator,
    limits: SplitLimits,
    /// The grandparent that contains the last key; if the key is in a gap, the grandparent after the gap.
    at: usize,
    in_gap: bool,
    /// True if a key was already shown to the splitter.
    started: bool,
    /// The bytes of the grandparents that the current file overlaps.
    overlapped_bytes: u64,
    /// The number of grandparent boundaries within the current file.
    boundaries: u64,
    /// The first border that no key has passed yet.
    next_border: usize,
    /// The minimum size in bytes of a file that ends at a border.
    min_at_border: u64,
    /// The user's partitioner.
    pub(crate) partitioner: Option<Box<dyn SstPartitioner>>,
}

impl OutputSplitter {
    /// Creates a splitter with these limits.
    pub fn new(cmp: UserComparator, limits: SplitLimits) -> OutputSplitter {
        OutputSplitter {
            cmp,
            min_at_border: limits.target_file_size / MIN_PART_AT_BORDER,
            limits,
            at: 0,
            in_gap: true,
            started: false,
            overlapped_bytes: 0,
            boundaries: 0,
            next_border: 0,
            partitioner: None,
        }
    }

    /// Files also end where `partitioner` decides.
    pub fn with_partitioner(mut self, partitioner: Option<Box<dyn SstPartitioner>>) -> OutputSplitter {
        self.partitioner = partitioner;
        self
    }

    /// Raises the minimum size of files that end at borders to `bytes`.
    pub fn with_min_at_border(mut self, bytes: u64) -> OutputSplitter {
        self.min_at_border = self.min_at_border.max(bytes);
        self
    }

    /// A splitter that never cuts: for flushes and outputs to L0.
    pub fn never(cmp: UserComparator) -> OutputSplitter {
        let limits = SplitLimits {
            output_level: 0,
            grandparents: Vec::new(),
            target_file_size: u64::MAX,
            max_output_file_size: u64::MAX,
            max_compaction_bytes: u64::MAX,
            borders: Arc::default(),
        };
        OutputSplitter::new(cmp, limits)
    }

    /// Takes the next key, and returns whether the current file, of `file_size` bytes so far, must end before
    /// it; the splitter then assumes that it does. `file_size` is `None` where no file is open.
    /// `starts_user_key`: see
    /// [`CompactionCursor::starts_user_key`](crate::CompactionCursor::starts_user_key).
    #[inline]
    pub fn should_stop_before(&mut self, key: &[u8], file_size: Option<u64>, starts_user_key: bool) -> bool {
        if self.limits.output_level == 0 || !starts_user_key {
            return false;
        }
        let before = self.overlapped_bytes;
        let crossed = if self.limits.grandparents.is_empty() {
            0
        } else {
            self.advance(key)
        };
        let at_border = self.next_border < self.limits.borders.len() && self.passes_border(key);
        let Some(file_size) = file_size else { return false };
        let stop = file_size >= self.limits.max_output_file_size
            || (at_border && file_size >= self.min_at_border)
            || (crossed > 0 && self.is_good_end(crossed, self.overlapped_bytes - before, file_size));
        if stop {
            self.boundaries = 0;
            self.overlapped_bytes = self.bytes_under(key);
        }
        stop
    }

    /// True if no key from the last one shown up to the user key `bound` can end a file by its place.
    pub fn is_uncut_up_to(&self, bound: &[u8]) -> bool {
        if self.limits.output_level == 0 {
            return true;
        }
        let before = |user_key: &[u8]| self.cmp.compare_without_timestamp(bound, user_key) == Ordering::Less;
        let border = self.limits.borders.get(self.next_border);
        let grandparent = self.limits.grandparents.get(self.at);
        let boundary = grandparent.map(|file| match self.in_gap {
            true => file.smallest_user_key(),
            false => file.largest_user_key(),
        });
        border.is_none_or(|border| before(&border.key)) && boundary.is_none_or(before)
    }

    /// The [prefix](base::internal_key::prefix) below which no user key is a place to cut the output file.
    /// Only for keys in bytewise order, from the last key shown on.
    pub fn uncut_below(&self) -> u64 {
        if self.limits.output_level == 0 {
            return u64::MAX;
        }
        let border = self.limits.borders.get(self.next_border);
        let grandparent = self.limits.grandparents.get(self.at);
        let boundary = grandparent.map(|file| match self.in_gap {
            true => file.smallest_user_key(),
            false => file.largest_user_key(),
        });
        let prefix = |key: Option<&[u8]>| key.map_or(u64::MAX, base::internal_key::prefix);
        prefix(border.map(|border| &*border.key)).min(prefix(boundary))
    }

    /// The size in bytes at which a file ends in any case.
    pub fn max_file_size(&self) -> u64 {
        match self.limits.output_level {
            0 => u64::MAX,
            _ => self.limits.max_output_file_size,
        }
    }

    /// Takes `key`. True if the keys shown before it were before a border, and it is after that border.
    fn passes_border(&mut self, key: &[u8]) -> bool {
        let cmp = &self.cmp;
        let user_key = base::internal_key::user_key(key);
        let behind = |border: &Border| match cmp.compare_without_timestamp(user_key, &border.key) {
            Ordering::Less => false,
            Ordering::Equal => !border.behind,
            Ordering::Greater => true,
        };
        let borders = &self.limits.borders[self.next_border..];
        let passed = borders.iter().take_while(|border| behind(border)).count();
        self.next_border += passed;
        passed > 0
    }

    /// True if a file should end here: the next key is past `crossed` boundaries of grandparents, of
    /// `new_bytes` bytes.
    fn is_good_end(&self, crossed: u64, new_bytes: u64, file_size: u64) -> bool {
        // The file's next compaction would be too large.
        if self.overlapped_bytes.saturating_add(file_size) > self.limits.max_compaction_bytes {
            return true;
        }
        // A large grandparent file has no key of this output file: without the cut, the next compaction of
        // this file would rewrite the grandparent for nothing.
        let whole_file_in_between = if self.in_gap { 2 } else { 3 };
        if crossed >= whole_file_in_between && new_bytes > self.limits.target_file_size / 8 {
            return true;
        }
        // The file is large enough to end at a boundary: from half of the target to nine tenths of it. The
        // more boundaries it has passed, the likelier another one comes before the target is reached, so the
        // more it needs.
        let percent = 50 + (self.boundaries * 5).min(40);
        file_size >= self.limits.target_file_size.div_ceil(100) * percent
    }

    /// Moves to the grandparent that contains `key`, or to the gap; returns the number of boundaries crossed.
    fn advance(&mut self, key: &[u8]) -> u64 {
        let cmp = &self.cmp;
        let mut crossed = 0;
        while let Some(file) = self.limits.grandparents.get(self.at) {
            if self.in_gap {
                if order::boundaries(cmp, key, &file.smallest) == Ordering::Less {
                    break;
                }
                if self.started {
                    crossed += 1;
                    self.overlapped_bytes = self.overlapped_bytes.saturating_add(file.size);
                    self.boundaries += 1;
                }
                self.in_gap = false;
            } else {
                let within = match order::boundaries(cmp, key, &file.largest) {
                    Ordering::Less => true,
                    Ordering::Greater => false,
                    // If several files contain the key, the last of these files is chosen.
                    Ordering::Equal => self
                        .limits
                        .grandparents
                        .get(self.at + 1)
                        .is_none_or(|next| order::boundaries(cmp, key, &next.smallest) == Ordering::Less),
                };
                if within {
                    break;
                }
                if self.started {
                    crossed += 1;
                    self.boundaries += 1;
                }
                self.in_gap = true;
                self.at += 1;
            }
        }
        if !self.started {
            self.started = true;
            self.overlapped_bytes = self.bytes_under(key);
        }
        crossed
    }

    /// The bytes of the grandparents whose range contains `key`.
    fn bytes_under(&self, key: &[u8]) -> u64 {
        if self.in_gap {
            return 0;
        }
        let holds =
            |file: &&Arc<FileMetadata>| order::boundaries(&self.cmp, key, &file.largest) == Ordering::Equal;
        let before = self.limits.grandparents[..self.at].iter().rev().take_while(holds);
        self.limits
            .grandparents
            .get(self.at)
            .into_iter()
            .chain(before)
            .fold(0, |sum: u64, file| sum.saturating_add(file.size))
    }
}

#[cfg(test)]
mod tests {
    use base::Kind;

    use super::*;

    /// A file of 100 bytes a key, of four streams of ten keys: the keys before which files end.
    fn ends(min_at_border: u64) -> Vec<String> {
        let key = |stream: u64, number: u64| format!("{stream}:{number:02}");
        let border = |stream| Border {
            key: key(stream, 9).into_bytes().into(),
            behind: true,
        };
        let limits = SplitLimits {
            output_level: 6,
            grandparents: Vec::new(),
            target_file_size: 100_000,
            max_output_file_size: 100_000,
            max_compaction_bytes: u64::MAX,
            borders: (0..4).map(border).collect(),
        };
        let mut splitter =
            OutputSplitter::new(UserComparator::Bytewise, limits).with_min_at_border(min_at_border);
        let (mut ends, mut size) = (Vec::new(), None);
        for (stream, number) in (0..4).flat_map(|stream| (0..10).map(move |number| (stream, number))) {
            let key = key(stream, number);
            let internal = base::internal_key::encode(key.as_bytes(), 1, Kind::Value);
            if splitter.should_stop_before(&internal, size, true) {
                ends.push(key);
                size = None;
            }
            size = Some(size.unwrap_or(0) + 100);
        }
        ends
    }

    #[test]
    fn files_end_at_borders_from_a_size_on() {
        // The limit is a 256th of the target file size.
        assert_eq!(ends(0), ["1:00", "2:00", "3:00"]);
        assert_eq!(ends(1000), ["1:00", "2:00", "3:00"]);
        assert_eq!(ends(1001), ["2:00"]);
        assert_eq!(ends(5000), [""; 0]);
    }
}
