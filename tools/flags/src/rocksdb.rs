//! RocksDB's flags with nothing behind them here, listed by each tool in sections of text.
//!
//! `[text]` begins a section: the feature that its flags `name=default` need, or the reason why its flags `name~default` have
//! nothing to do here.

use crate::FlagSet;

/// A flag of RocksDB's with nothing behind it here.
#[derive(Clone, Copy, Debug)]
pub struct RocksdbFlag {
    /// Without dashes.
    pub name: &'static str,
    /// Its value when it is not given; the one value accepted, unless the flag is moot.
    pub default: &'static str,
    /// True if it has nothing to do here; false if it needs a feature that is missing.
    pub moot: bool,
    /// Why, or which feature.
    pub section: &'static str,
}

/// Every flag of the tool's list.
pub fn rows<F: FlagSet>() -> impl Iterator<Item = RocksdbFlag> {
    let mut section = "";
    F::ROCKSDB_ONLY.lines().filter_map(move |line| {
        if let Some(title) = line.strip_prefix('[') {
            section = title.strip_suffix(']')?;
            return None;
        }
        let at = line.find(['=', '~'])?;
        Some(RocksdbFlag {
            name: &line[..at],
            default: &line[at + 1..],
            moot: line.as_bytes()[at] == b'~',
            section,
        })
    })
}

pub(crate) fn row<F: FlagSet>(name: &str) -> Option<RocksdbFlag> {
    rows::<F>().find(|row| row.name == name)
}
