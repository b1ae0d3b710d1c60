//! When to close an output file and begin the next, by RocksDB's rules.
//!
//! A file ends when it is large enough, and before that where this spares later compactions: at the boundaries of the
//! *grandparents*, the files of the next level that its own next compaction will have to rewrite. A file should not
//! overlap too many bytes of them, nor span one it has no key in, and prefers to end where one of them does. All versions
//! of a user key stay in one file.

use std::cmp::Ordering;
use std::sync::Arc;

use base::UserComparator;
use manifest::FileMetadata;

use crate::order;
use crate::partitioner::SstPartitioner;

/// What an [`OutputSplitter`] keeps to; [`Plan::split_limits`](crate::Plan::split_limits) has them.
#[derive(Clone, Debug)]
pub struct SplitLimits {
    /// Files of L0 are never cut.
    pub output_level: usize,
    /// Files of the next level with data that overlap the output, in order.
    pub grandparents: Vec<Arc<FileMetadata>>,
    /// Bytes a file should have.
    pub target_file_size: u64,
    /// Bytes from which on a file ends in any case.
    pub max_output_file_size: u64,
    /// Bytes a file and the grandparents it overlaps should not exceed together.
    pub max_compaction_bytes: u64,
    /// Where streams will go on, in order: files end there.
    pub borders: Arc<[Border]>,
}

/// A place among user keys where a stream will go on: the next file of that stream fits in between two that end there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Border {
    /// The user key that stands there now.
    pub key: Box<[u8]>,
    /// What comes next will come behind it, and else before it.
    pub behind: bool,
}

/// Parts of the target size that a file must have to end at a border.
const MIN_PART_AT_BORDER: u64 = 256;

/// Decides where the output of one compaction is cut. Shown every key before it is written, in order.
#[derive(Debug)]
pub struct OutputSplitter {
    cmp: UserComparator,
    limits: SplitLimits,
    /// The grandparent the last key lies in, or the one behind the gap it lies in.
    at: usize,
    in_gap: bool,
    /// Some key was shown.
    started: bool,
    /// Bytes of the grandparents the current file reaches into.
    overlapped_bytes: u64,
    /// Grandparent boundaries within the current file.
    boundaries: u64,
    /// The first border no key was behind yet.
    next_border: usize,
    /// What a user says about it besides.
    pub(crate) partitioner: Option<Box<dyn SstPartitioner>>,
}

impl OutputSplitter {
    /// Within `limits`.
    pub fn new(cmp: UserComparator, limits: SplitLimits) -> OutputSplitter {
        OutputSplitter {
            cmp,
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

    /// Files end where `partitioner` says, too.
    pub fn with_partitioner(mut self, partitioner: Option<Box<dyn SstPartitioner>>) -> OutputSplitter {
        self.partitioner = partitioner;
        self
    }

    /// One file takes everything: for flushes and outputs to L0.
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

    /// Takes note of the next key, and says whether the current file, of `file_size` bytes so far, is to end before it;
    /// then it does. `file_size` is `None` where no file is open. `starts_user_key`: see
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
            || (at_border && file_size >= self.limits.target_file_size / MIN_PART_AT_BORDER)
            || (crossed > 0 && self.is_good_end(crossed, self.overlapped_bytes - before, file_size));
        if stop {
            self.boundaries = 0;
            self.overlapped_bytes = self.bytes_under(key);
        }
        stop
    }

    /// True if no key up to the user key `bound`, from the one on that was shown last, can end a file for where it lies.
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

    /// User keys in bytewise order with a [prefix](base::internal_key::prefix) below this end no file for where they lie, those from the one on that was
    /// shown last.
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

    /// Bytes from which on a file ends in any case.
    pub fn max_file_size(&self) -> u64 {
        match self.limits.output_level {
            0 => u64::MAX,
            _ => self.limits.max_output_file_size,
        }
    }

    /// Takes note of `key`. True if the keys shown before it lay before some border, and it lies behind.
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

    /// Whether to end a file where `crossed` boundaries of grandparents, of `new_bytes` bytes, lie before the next key.
    fn is_good_end(&self, crossed: u64, new_bytes: u64, file_size: u64) -> bool {
        // Its next compaction would be too large.
        if self.overlapped_bytes.saturating_add(file_size) > self.limits.max_compaction_bytes {
            return true;
        }
        // A grandparent of some size has no key of this file's: without the cut it would be rewritten for nothing.
        let whole_file_in_between = if self.in_gap { 2 } else { 3 };
        if crossed >= whole_file_in_between && new_bytes > self.limits.target_file_size / 8 {
            return true;
        }
        // Large enough to end at a boundary. The more of them it has passed, the likelier another comes before the
        // target is reached: from half of the target to nine tenths.
        let percent = 50 + (self.boundaries * 5).min(40);
        file_size >= self.limits.target_file_size.div_ceil(100) * percent
    }

    /// Moves to the grandparent that `key` lies in, or the gap; returns the boundaries crossed on the way.
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
                    // Of several files with this key, the last.
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

    /// Bytes of the grandparents that have `key` in their range.
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
