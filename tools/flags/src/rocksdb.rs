//! RocksDB's flags that have no function here. Each tool lists them in sections of text.
//!
//! `[text]` begins a section: the feature that its flags `name=default` need and the tool, whether or not the
//! engine has it, does not offer, or the reason why its flags
//! `name~default` have no effect here.

use esker::Options;

use crate::engine;
use crate::flag_set::{FlagSet, same};

/// A flag of RocksDB's that has no function here.
#[derive(Clone, Copy, Debug)]
pub struct RocksdbFlag {
    /// The name without dashes.
    pub name: &'static str,
    /// The value if the flag is not given. It is the only value accepted, unless the flag is moot.
    pub default: &'static str,
    /// True if the flag has no effect here; false if it needs a feature that the tool does not offer.
    pub moot: bool,
    /// The reason, or the feature.
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

/// Lines of the tool's list that are neither a title nor one flag with its default: joined, cut or empty
/// lines, and titles without flags.
pub fn damaged_lines<F: FlagSet>() -> Vec<&'static str> {
    let lines: Vec<&str> = F::ROCKSDB_ONLY.lines().collect();
    let is_title = |line: &str| line.starts_with('[') && line.find(']') == Some(line.len() - 1);
    let is_flag = |line: &str| {
        let name = line.find(['=', '~']).map_or("", |at| &line[..at]);
        let words = line.split_whitespace().count();
        words == 1 && !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let next_is_flag = |at: usize| lines.get(at + 1).is_some_and(|next| is_flag(next));
    let whole = |at: usize, line: &str| is_flag(line) || is_title(line) && next_is_flag(at);
    let damaged = lines.iter().enumerate().filter(|(at, line)| !whole(*at, line));
    damaged.map(|(_, line)| *line).collect()
}

pub(crate) fn row<F: FlagSet>(name: &str) -> Option<RocksdbFlag> {
    rows::<F>().find(|row| row.name == name)
}

/// A flag whose default differs from that of RocksDB's tool of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherDefault {
    /// The name without dashes.
    pub name: &'static str,
    /// The default in Esker's tool; `None` if the tool has no such flag.
    pub here: Option<String>,
    /// The default in RocksDB's tool.
    pub rocksdb: &'static str,
}

/// The lines `name=value` of a list of RocksDB's defaults; other lines are remarks.
pub fn defaults(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    list.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
}

/// Compares the defaults of a tool's own flags, and of the options that are flags by their own names, with
/// RocksDB's. `options` are those of an empty command line.
pub fn other_defaults<F: FlagSet>(list: &'static str, options: &Options) -> Vec<OtherDefault> {
    let other = |(name, rocksdb): (&'static str, &'static str)| {
        let flag = F::FLAGS.iter().find(|flag| flag.name == name);
        let is_same = match flag {
            Some(flag) => same(&(flag.default)(), rocksdb),
            // A flag that sets RocksDB's default leaves the option unchanged.
            None => {
                let mut given = options.clone();
                engine::set(&mut given, name, rocksdb).is_ok()
                    && engine::get(&given, name) == engine::get(options, name)
            }
        };
        let here = flag.map_or_else(|| engine::get(options, name), |flag| Some((flag.default)()));
        (!is_same).then_some(OtherDefault { name, here, rocksdb })
    };
    defaults(list).filter_map(other).collect()
}
