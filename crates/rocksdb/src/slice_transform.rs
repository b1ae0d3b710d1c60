//! Prefix extractors.

use std::sync::Arc;

use base::prefix;
use esker::PrefixExtractor;

use crate::CStrLike;
use crate::name::text;

/// Returns the prefix of a key.
pub type TransformFn = for<'a> fn(&'a [u8]) -> &'a [u8];

/// Returns true if a key has a prefix.
pub type InDomainFn = fn(&[u8]) -> bool;

/// The prefix of keys that filters index.
#[derive(Clone)]
pub struct SliceTransform {
    pub(crate) inner: Arc<dyn PrefixExtractor>,
}

impl SliceTransform {
    /// A prefix extractor from two functions. Without `in_domain_fn` every key has a prefix.
    pub fn create(
        name: impl CStrLike,
        transform_fn: TransformFn,
        in_domain_fn: Option<InDomainFn>,
    ) -> SliceTransform {
        SliceTransform {
            inner: Arc::new(Functions {
                name: text(name),
                transform: transform_fn,
                in_domain: in_domain_fn,
            }),
        }
    }

    /// The first `len` bytes; shorter keys have no prefix.
    pub fn create_fixed_prefix(len: usize) -> SliceTransform {
        SliceTransform {
            inner: Arc::new(prefix::Fixed::new(len)),
        }
    }

    /// The whole key.
    pub fn create_noop() -> SliceTransform {
        SliceTransform {
            inner: Arc::new(prefix::Noop),
        }
    }
}

struct Functions {
    name: String,
    transform: TransformFn,
    in_domain: Option<InDomainFn>,
}

impl PrefixExtractor for Functions {
    fn name(&self) -> &str {
        &self.name
    }

    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        self.in_domain
            .is_none_or(|in_domain| in_domain(key))
            .then(|| (self.transform)(key))
    }
}
