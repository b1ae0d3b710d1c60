//! Prefix extractors (RocksDB's `SliceTransform`): the part of a key that filters may index.

use std::sync::Arc;

use crate::{UserComparator, user_code};

/// Cuts a prefix off user keys. SSTs store the name: a prefix filter is used only under the same name.
///
/// Keys with the same prefix must be adjacent in the family's order, and prefixes must sort as their keys do,
/// which RocksDB demands of a `SliceTransform`, too. Otherwise reads that depend on prefixes
/// (`prefix_same_as_start`,
/// `auto_prefix_mode`) miss keys; other reads are still right.
///
/// ```
/// # use esker_base::prefix as esker;
/// use esker::PrefixExtractor;
///
/// /// The part of a key before its first colon.
/// struct UpToColon;
///
/// impl PrefixExtractor for UpToColon {
///     fn name(&self) -> &str {
///         "example.UpToColon"
///     }
///
///     fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
///         let colon = key.iter().position(|&byte| byte == b':')?;
///         Some(&key[..colon])
///     }
/// }
///
/// assert_eq!(UpToColon.prefix(b"user:7"), Some(&b"user"[..]));
/// ```
pub trait PrefixExtractor: Send + Sync + 'static {
    /// The name that RocksDB writes, e.g. `rocksdb.FixedPrefix.3`.
    fn name(&self) -> &str;

    /// The prefix of `key` (without timestamp), or `None` if the key is outside the extractor's domain.
    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]>;

    /// Appends to `out` a key that sorts after every key with `key`'s prefix, and not after any other key
    /// that follows them, in the order of `comparator`. False if there is no such key or none is known: a
    /// reader that looks for the next prefix then reaches it by steps. Called only with keys that have a
    /// prefix. Default: false.
    fn successor(&self, _key: &[u8], _comparator: &UserComparator, _out: &mut Vec<u8>) -> bool {
        false
    }
}

impl dyn PrefixExtractor {
    /// Calls [`prefix`](PrefixExtractor::prefix). If it panics, the error names the extractor.
    #[inline]
    pub fn prefix_of<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        user_code::call("prefix extractor", || self.name(), || self.prefix(key))
    }
}

/// Appends the first key, in bytewise order, after all keys that begin with `prefix`. False if there is none,
/// or if the order is not bytewise.
fn behind_prefix(prefix: &[u8], comparator: &UserComparator, out: &mut Vec<u8>) -> bool {
    let Some(last) = prefix.iter().rposition(|&byte| byte != 0xff) else {
        return false;
    };
    let is_bytewise = matches!(
        comparator,
        UserComparator::Bytewise | UserComparator::BytewiseU64Ts
    );
    if is_bytewise {
        out.extend_from_slice(&prefix[..last]);
        out.push(prefix[last] + 1);
    }
    is_bytewise
}

/// Appends the first key after `key` in bytewise order. False if the order is not bytewise.
fn behind_key(key: &[u8], comparator: &UserComparator, out: &mut Vec<u8>) -> bool {
    let is_bytewise = matches!(
        comparator,
        UserComparator::Bytewise | UserComparator::BytewiseU64Ts
    );
    if is_bytewise {
        out.extend_from_slice(key);
        out.push(0);
    }
    is_bytewise
}

/// The built-in extractor of a name in OPTIONS files and SST properties: `rocksdb.FixedPrefix.N`,
/// `rocksdb.CappedPrefix.N`, `rocksdb.Noop`, and the short forms `fixed:N`, `capped:N`, `noop`.
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

/// The prefix is the first `len` bytes; shorter keys have no prefix.
///
/// ```
/// # mod esker {
/// #     pub use esker_base::prefix as prefix_extractors;
/// #     pub use esker_base::prefix::PrefixExtractor;
/// # }
/// use esker::PrefixExtractor;
/// use esker::prefix_extractors::Fixed;
///
/// assert_eq!(Fixed::new(3).prefix(b"ab"), None);
/// ```
#[derive(Debug)]
pub struct Fixed {
    name: String,
    len: usize,
}

impl Fixed {
    /// An extractor of prefixes of `len` bytes.
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
    fn successor(&self, key: &[u8], comparator: &UserComparator, out: &mut Vec<u8>) -> bool {
        let prefix = key.get(..self.len);
        prefix.is_some_and(|prefix| behind_prefix(prefix, comparator, out))
    }
}

/// The prefix is the first `cap` bytes, or the whole key if it is shorter.
///
/// ```
/// # mod esker {
/// #     pub use esker_base::prefix as prefix_extractors;
/// #     pub use esker_base::prefix::PrefixExtractor;
/// # }
/// use esker::PrefixExtractor;
/// use esker::prefix_extractors::Capped;
///
/// assert_eq!(Capped::new(3).prefix(b"ab"), Some(&b"ab"[..]));
/// ```
#[derive(Debug)]
pub struct Capped {
    name: String,
    cap: usize,
}

impl Capped {
    /// An extractor of prefixes of at most `cap` bytes.
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
    fn successor(&self, key: &[u8], comparator: &UserComparator, out: &mut Vec<u8>) -> bool {
        match key.get(..self.cap) {
            Some(prefix) => behind_prefix(prefix, comparator, out),
            // No other key has that prefix.
            None => behind_key(key, comparator, out),
        }
    }
}

/// The prefix is the whole key.
///
/// ```
/// # mod esker {
/// #     pub use esker_base::prefix as prefix_extractors;
/// #     pub use esker_base::prefix::PrefixExtractor;
/// # }
/// use esker::PrefixExtractor;
/// use esker::prefix_extractors::Noop;
///
/// assert_eq!(Noop.prefix(b"abcd"), Some(&b"abcd"[..]));
/// ```
#[derive(Debug)]
pub struct Noop;

impl PrefixExtractor for Noop {
    fn name(&self) -> &str {
        "rocksdb.Noop"
    }
    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        Some(key)
    }
    fn successor(&self, key: &[u8], comparator: &UserComparator, out: &mut Vec<u8>) -> bool {
        behind_key(key, comparator, out)
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

    #[test]
    fn successors_stand_behind_their_prefix_and_before_all_else() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut keys: Vec<Vec<u8>> = (0..300)
            .map(|_| {
                (0..rng.usize(..5))
                    .map(|_| *rng.choice(&[0, b'a', 0xff]).unwrap())
                    .collect()
            })
            .collect();
        keys.sort();
        keys.dedup();
        for name in ["fixed:2", "capped:2", "capped:0", "noop"] {
            let extractor = builtin(name).unwrap();
            for key in &keys {
                let Some(prefix) = extractor.prefix(key) else {
                    continue;
                };
                let mut out = Vec::new();
                assert!(
                    !extractor.successor(key, &UserComparator::ReverseBytewise, &mut out) && out.is_empty()
                );
                let known = extractor.successor(key, &UserComparator::Bytewise, &mut out);
                for other in &keys {
                    if extractor.prefix(other) == Some(prefix) {
                        assert!(!known || *other < out, "{name} {key:?} {other:?}");
                    } else if other > key {
                        assert!(known && *other >= out, "{name} {key:?} {other:?}");
                    }
                }
            }
        }
    }
}
