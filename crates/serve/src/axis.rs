//! The horizontal positions of files in a picture of the levels.

use std::sync::Arc;

use base::UserComparator;
use manifest::{FileMetadata, Version};

/// The positions of the files of a version in the order of keys.
///
/// The axis represents data, not keys: the width of a file is its size, so that a level with twice the data
/// looks twice as full, for any keys and any order.
#[derive(Debug)]
pub struct Axis {
    order: UserComparator,
    /// All smallest and largest user keys, ascending, without duplicates.
    bounds: Vec<Box<[u8]>>,
    /// The part of the data before each bound, 0 to 1.
    places: Vec<f64>,
}

impl Axis {
    /// The axis of a version.
    pub fn new(version: &Version) -> Axis {
        let order = version.cmp().user().clone();
        let files: Vec<&Arc<FileMetadata>> = version.all_files().map(|(_, file)| file).collect();
        let mut bounds: Vec<Box<[u8]>> = files
            .iter()
            .flat_map(|file| [file.smallest_user_key().into(), file.largest_user_key().into()])
            .collect();
        bounds.sort_by(|a, b| order.compare(a, b));
        bounds.dedup();
        let mut axis = Axis {
            places: vec![0.0; bounds.len()],
            order,
            bounds,
        };
        // A file's data is spread over the gaps between its bounds in proportion to their widths.
        let mut gaps = vec![0.0; axis.bounds.len()];
        for file in files {
            let (from, to) = axis.bounds_of(file);
            let widths = axis.widths(from, to);
            let whole: f64 = widths.iter().sum();
            for (gap, width) in gaps[from..to].iter_mut().zip(widths) {
                *gap += file.size as f64 * width / whole;
            }
        }
        let mut before = 0.0;
        for (place, gap) in axis.places.iter_mut().skip(1).zip(gaps) {
            before += gap;
            *place = before;
        }
        let total = axis.places.last().copied().unwrap_or(0.0);
        if total > 0.0 {
            axis.places.iter_mut().for_each(|place| *place /= total);
        }
        axis
    }

    /// Returns the part of the data before a file of the version, and the part before the file's end, 0 to 1.
    pub fn span(&self, file: &FileMetadata) -> (f64, f64) {
        let (from, to) = self.bounds_of(file);
        let place = |at: usize| self.places.get(at).copied().unwrap_or(0.0);
        (place(from), place(to))
    }

    /// The smallest user key of the version.
    pub fn first(&self) -> Option<&[u8]> {
        self.bounds.first().map(|bound| &**bound)
    }

    /// The largest user key of the version.
    pub fn last(&self) -> Option<&[u8]> {
        self.bounds.last().map(|bound| &**bound)
    }

    fn bounds_of(&self, file: &FileMetadata) -> (usize, usize) {
        let find = |key: &[u8]| {
            self.bounds
                .partition_point(|bound| self.order.compare(bound, key).is_lt())
        };
        let from = find(file.smallest_user_key());
        (from, find(file.largest_user_key()).max(from))
    }

    /// Returns the distances between neighbours of the bounds `from..=to`: each key is a number of eight
    /// digits after the common prefix, in the base of the bytes in use there. The distances are equal if that
    /// is meaningless, as in orders other than bytewise.
    fn widths(&self, from: usize, to: usize) -> Vec<f64> {
        let bounds = &self.bounds[from..=to];
        let (first, last) = (&bounds[0], &bounds[bounds.len() - 1]);
        let common = base::shared_len(first, last);
        let digits = |bound: &[u8]| -> Vec<u8> {
            let rest = bound.get(common..).unwrap_or_default();
            rest.iter().take(8).copied().collect()
        };
        let used = || bounds.iter().flat_map(|bound| digits(bound));
        let (low, high) = (used().min().unwrap_or(0), used().max().unwrap_or(0));
        let base = f64::from(high - low) + 2.0;
        let place = |bound: &[u8]| {
            let digits = digits(bound);
            // A missing byte sorts before every byte.
            let digit = |i| digits.get(i).map_or(0.0, |byte| f64::from(byte - low) + 1.0);
            (0..8).fold(0.0, |place, i| place * base + digit(i))
        };
        let widths: Vec<f64> = bounds
            .windows(2)
            .map(|pair| (place(&pair[1]) - place(&pair[0])).abs())
            .collect();
        match widths.iter().any(|&width| width > 0.0) {
            true => widths,
            false => vec![1.0; widths.len()],
        }
    }
}
