//! The types of memtables, by name.

use super::table::OptionValue;

/// The type of memtables.
///
/// ```
/// use esker::{ColumnFamilyOptions, MemtableFactory, Options};
///
/// // For a bulk load of unsorted rows: they are sorted at the flush.
/// let options = Options {
///     allow_concurrent_memtable_write: false,
///     column_family: ColumnFamilyOptions {
///         memtable_factory: MemtableFactory::Vector { count: 100_000 },
///         ..Default::default()
///     },
///     ..Default::default()
/// };
/// # assert!(!options.column_family.memtable_factory.is_insert_concurrently_supported());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemtableFactory {
    /// A memtable that is sorted on insertion and has any number of concurrent readers: RocksDB's
    /// `SkipListFactory`, and Esker's tree.
    SkipList {
        /// The lookahead of RocksDB's skip list. It is kept for OPTIONS files, and has no effect.
        lookahead: usize,
    },
    /// A memtable to which rows are appended, and which is sorted when it is first read: RocksDB's
    /// `VectorRepFactory`.
    Vector {
        /// The initial capacity in rows.
        count: usize,
    },
}

impl MemtableFactory {
    /// True if several threads may insert into such a memtable at once (`allow_concurrent_memtable_write`).
    pub fn is_insert_concurrently_supported(&self) -> bool {
        matches!(self, MemtableFactory::SkipList { .. })
    }
}

impl OptionValue for MemtableFactory {
    const TYPE: &'static str = "skip_list or vector; prefix_hash, hash_linkedlist and cuckoo are not built";

    /// Parses `NAME`, `NAME:NUMBER`, or `{id=NAME;PARAMETER=NUMBER;}`.
    fn parse(text: &str) -> Option<MemtableFactory> {
        let (mut id, mut parameter) = (text, None);
        if let Some(fields) = text.strip_prefix('{') {
            id = "";
            let fields = fields.strip_suffix('}')?.split(';').map(str::trim);
            for field in fields.filter(|field| !field.is_empty()) {
                match field.split_once('=')? {
                    ("id", name) => id = name,
                    (name, value) => parameter = Some((name, value)),
                }
            }
        }
        let (name, mut number) = match id.split_once(':') {
            Some((name, number)) => (name, number.parse().ok()?),
            None => (id, 0),
        };
        let (made, of): (fn(usize) -> MemtableFactory, &str) = match name {
            "skip_list" | "SkipListFactory" => {
                (|lookahead| MemtableFactory::SkipList { lookahead }, "lookahead")
            }
            "vector" | "VectorRepFactory" => (|count| MemtableFactory::Vector { count }, "count"),
            _ => return None,
        };
        if let Some((name, value)) = parameter {
            number = (name == of).then(|| value.parse().ok())??;
        }
        Some(made(number))
    }

    /// The text in RocksDB's form.
    fn text(&self) -> String {
        match self {
            MemtableFactory::SkipList { lookahead: 0 } => "SkipListFactory".to_owned(),
            MemtableFactory::SkipList { lookahead } => format!("SkipListFactory:{lookahead}"),
            MemtableFactory::Vector { count } => format!("{{id=VectorRepFactory;count={count};}}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for (texts, expected, written) in [
            (
                &[
                    "skip_list",
                    "SkipListFactory",
                    "SkipListFactory:0",
                    "{id=SkipListFactory;}",
                ][..],
                MemtableFactory::SkipList { lookahead: 0 },
                "SkipListFactory",
            ),
            (
                &[
                    "skip_list:16",
                    "SkipListFactory:16",
                    "{id=SkipListFactory;lookahead=16;}",
                ],
                MemtableFactory::SkipList { lookahead: 16 },
                "SkipListFactory:16",
            ),
            (
                &["vector", "VectorRepFactory", "{id=VectorRepFactory;count=0;}"],
                MemtableFactory::Vector { count: 0 },
                "{id=VectorRepFactory;count=0;}",
            ),
            (
                &[
                    "vector:70",
                    "VectorRepFactory:70",
                    "{ id=VectorRepFactory; count=70 }",
                ],
                MemtableFactory::Vector { count: 70 },
                "{id=VectorRepFactory;count=70;}",
            ),
        ] {
            for text in texts {
                assert_eq!(MemtableFactory::parse(text), Some(expected), "{text}");
            }
            assert_eq!(expected.text(), written);
            assert_eq!(MemtableFactory::parse(written), Some(expected));
        }
        for text in [
            "",
            "prefix_hash",
            "hash_linkedlist:1000",
            "cuckoo",
            "HashSkipListRepFactory",
            "skip_list:x",
            "skip_list:-1",
            "{id=VectorRepFactory;lookahead=1;}",
            "{id=VectorRepFactory",
            "{}",
            "nullptr",
        ] {
            assert_eq!(MemtableFactory::parse(text), None, "{text}");
        }
    }
}
