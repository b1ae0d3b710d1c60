//! User-defined borders between output files: the files on both sides of a border stay apart, and are
//! compacted separately.

use std::fmt;
use std::sync::Arc;

/// The circumstances of a compaction, from which its partitioner is created.
///
/// See the example of [`SstPartitionerFactory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionerContext<'a> {
    /// True if every file of the family takes part in the compaction.
    pub is_full_compaction: bool,
    /// True if a user asked for the compaction.
    pub is_manual_compaction: bool,
    /// The level of the output; L0 is never partitioned.
    pub output_level: usize,
    /// The smallest user key of the inputs.
    pub smallest_user_key: &'a [u8],
    /// The largest user key of the inputs.
    pub largest_user_key: &'a [u8],
}

/// Decides where the output files of one compaction end. One thread uses it. The names of its methods are
/// RocksDB's.
///
/// See the example of [`SstPartitionerFactory`].
pub trait SstPartitioner: Send {
    /// True if the file that ends with `prev_user_key`, of `current_output_file_size` bytes so far, is to end
    /// there, and the next one to begin with `current_user_key`. Called for every key that is about to be
    /// written, timestamps included.
    fn should_partition(
        &mut self,
        prev_user_key: &[u8],
        current_user_key: &[u8],
        current_output_file_size: u64,
    ) -> bool;

    /// True if a file with these bounds may be moved to another level unchanged.
    fn can_do_trivial_move(&mut self, smallest_user_key: &[u8], largest_user_key: &[u8]) -> bool;
}

/// Creates a partitioner for each compaction.
///
/// ```
/// # use esker_compact as esker;
///
/// use esker::{PartitionerContext, SstPartitioner, SstPartitionerFactory};
///
/// /// Ends a file behind each key that ends with a slash.
/// struct BySlash;
///
/// impl SstPartitioner for BySlash {
///     fn should_partition(&mut self, previous: &[u8], _current: &[u8], _file_size: u64) -> bool {
///         previous.ends_with(b"/")
///     }
///
///     fn can_do_trivial_move(&mut self, smallest: &[u8], largest: &[u8]) -> bool {
///         smallest == largest
///     }
/// }
///
/// impl SstPartitionerFactory for BySlash {
///     fn text(&self) -> String {
///         "example.BySlash".into()
///     }
///
///     fn create_partitioner(&self, _context: &PartitionerContext<'_>) -> Option<Box<dyn SstPartitioner>> {
///         Some(Box::new(BySlash))
///     }
/// }
///
/// assert!(BySlash.should_partition(b"a/", b"b", 0));
/// ```
pub trait SstPartitionerFactory: Send + Sync + 'static {
    /// The value in the OPTIONS file: a name, or `{id=NAME;...}`.
    fn text(&self) -> String;

    /// The partitioner of one compaction, or of one of its subcompactions. `None`: the engine alone decides
    /// where files end.
    fn create_partitioner(&self, context: &PartitionerContext<'_>) -> Option<Box<dyn SstPartitioner>>;
}

impl fmt::Debug for dyn SstPartitioner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SstPartitioner")
    }
}

impl fmt::Debug for dyn SstPartitionerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Ends files where the first `length` bytes of the keys change: RocksDB's
/// `SstPartitionerFixedPrefixFactory`.
///
/// ```
/// # use esker_compact as esker;
///
/// use esker::{SstPartitionerFactory, SstPartitionerFixedPrefixFactory};
///
/// // Set as `ColumnFamilyOptions::sst_partitioner_factory`.
/// let factory = SstPartitionerFixedPrefixFactory::new(4);
/// assert!(factory.text().starts_with("{length=4;"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SstPartitionerFixedPrefixFactory {
    length: usize,
}

impl SstPartitionerFixedPrefixFactory {
    /// A factory for prefixes of `length` bytes; a shorter key is a prefix of its own.
    pub fn new(length: usize) -> SstPartitionerFixedPrefixFactory {
        SstPartitionerFixedPrefixFactory { length }
    }
}

impl SstPartitionerFactory for SstPartitionerFixedPrefixFactory {
    fn text(&self) -> String {
        format!("{{length={};id={FIXED_PREFIX};}}", self.length)
    }

    fn create_partitioner(&self, _context: &PartitionerContext<'_>) -> Option<Box<dyn SstPartitioner>> {
        Some(Box::new(FixedPrefix(self.length)))
    }
}

struct FixedPrefix(usize);

impl SstPartitioner for FixedPrefix {
    fn should_partition(&mut self, prev: &[u8], current: &[u8], _size: u64) -> bool {
        let prefix = |key: &[u8]| key.len().min(self.0);
        prev[..prefix(prev)] != current[..prefix(current)]
    }

    fn can_do_trivial_move(&mut self, smallest: &[u8], largest: &[u8]) -> bool {
        !self.should_partition(smallest, largest, 0)
    }
}

const FIXED_PREFIX: &str = "SstPartitionerFixedPrefixFactory";

/// The built-in partitioner of an OPTIONS value: `SstPartitionerFixedPrefixFactory`, alone or as
/// `{id=SstPartitionerFixedPrefixFactory;length=3;}`.
pub fn builtin(text: &str) -> Option<Arc<dyn SstPartitionerFactory>> {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let (mut id, mut length) = (inner.map_or(text, |_| ""), 0);
    let fields = inner
        .unwrap_or_default()
        .split(';')
        .filter(|field| !field.trim().is_empty());
    for field in fields {
        match field.split_once('=')? {
            (name, value) if name.trim() == "id" => id = value.trim(),
            (name, value) if name.trim() == "length" => length = value.trim().parse().ok()?,
            _ => return None,
        }
    }
    (id == FIXED_PREFIX)
        .then(|| Arc::new(SstPartitionerFixedPrefixFactory::new(length)) as Arc<dyn SstPartitionerFactory>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_kept_apart() {
        let mut partitioner = FixedPrefix(2);
        assert!(!partitioner.should_partition(b"abc", b"abd", 0));
        assert!(partitioner.should_partition(b"abc", b"acc", 0));
        assert!(partitioner.should_partition(b"a", b"ab", 0));
        assert!(partitioner.can_do_trivial_move(b"ab", b"abz"));
        assert!(!partitioner.can_do_trivial_move(b"ab", b"b"));
    }

    #[test]
    fn it_is_written_as_it_is_read() {
        let factory = SstPartitionerFixedPrefixFactory::new(3);
        assert_eq!(builtin(&factory.text()).unwrap().text(), factory.text());
        assert_eq!(
            builtin("{id=SstPartitionerFixedPrefixFactory;length=3;}")
                .unwrap()
                .text(),
            factory.text()
        );
        assert!(builtin("SstPartitionerFixedPrefixFactory").is_some());
        for text in [
            "nullptr",
            "{id=Other;}",
            "{id=SstPartitionerFixedPrefixFactory;what=1;}",
            "",
        ] {
            assert!(builtin(text).is_none(), "{text}");
        }
    }
}
