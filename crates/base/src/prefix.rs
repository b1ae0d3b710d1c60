//! Prefix extractors (RocksDB's `SliceTransform`): the part of a key that filters may index.

use std::sync::Arc;

/// Cuts a prefix off user keys. The name lies in SSTs: a filter of prefixes is asked only under the same name.
pub trait PrefixExtractor: Send + Sync + 'static {
    /// Name as RocksDB writes it, e.g. `rocksdb.FixedPrefix.3`.
    fn name(&self) -> &str;

    /// The prefix of `key` (without timestamp), or `None` where the key is outside the extractor's domain.
    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]>;
}

/// The built-in extractor of a name as it stands in OPTIONS files and SST properties:
/// `rocksdb.FixedPrefix.N`, `rocksdb.CappedPrefix.N`, `rocksdb.Noop`, and the short forms `fixed:N`, `capped:N`, `noop`.
pub fn builtin(name: &str) -> Option<Arc<dyn PrefixExtractor>> {
    let number = |prefixes: [&str; 2]| -> Option<usize> {
        prefixes
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))?
            .parse()
            .ok()
    };
    if let Some(len) = number(["rocksdb.FixedPrefix.", "fixed:"]) {
        return Some(Arc::new(Fixed::new(len)));
    }
    if let Some(cap) = number(["rocksdb.CappedPrefix.", "capped:"]) {
        return Some(Arc::new(Capped::new(cap)));
    }
    matches!(name, "rocksdb.Noop" | "noop").then(|| Arc::new(Noop) as Arc<dyn PrefixExtractor>)
}

/// The first `len` bytes; shorter keys have no prefix.
#[derive(Debug)]
pub struct Fixed {
    name: String,
    len: usize,
}

impl Fixed {
    /// Of `len` bytes.
    pub fn new(len: usize) -> Fixed {
        Fixed {
            name: format!("rocksdb.FixedPrefix.{len}"),
            len,
        }
    }
}

impl PrefixExtractor for Fixed {
    fn name(&self) -> &str {
        &self.name
    }
    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        key.get(..self.len)
    }
}

/// The first `cap` bytes, or the whole key if it is shorter.
#[derive(Debug)]
pub struct Capped {
    name: String,
    cap: usize,
}

impl Capped {
    /// Of at most `cap` bytes.
    pub fn new(cap: usize) -> Capped {
        Capped {
            name: format!("rocksdb.CappedPrefix.{cap}"),
            cap,
        }
    }
}

impl PrefixExtractor for Capped {
    fn name(&self) -> &str {
        &self.name
    }
    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        Some(&key[..key.len().min(self.cap)])
    }
}

/// The whole key.
#[derive(Debug)]
pub struct Noop;

impl PrefixExtractor for Noop {
    fn name(&self) -> &str {
        "rocksdb.Noop"
    }
    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_extractors_and_back() {
        for name in ["rocksdb.FixedPrefix.3", "rocksdb.CappedPrefix.12", "rocksdb.Noop"] {
            assert_eq!(builtin(name).unwrap().name(), name);
        }
        assert!(builtin("rocksdb.FixedPrefix.x").is_none());
        assert_eq!(builtin("fixed:3").unwrap().prefix(b"ab"), None);
        assert_eq!(builtin("capped:3").unwrap().prefix(b"ab"), Some(&b"ab"[..]));
        assert_eq!(builtin("fixed:3").unwrap().prefix(b"abcd"), Some(&b"abc"[..]));
    }
}
