//! The compaction filter and merge operator for values with a suffix, around the user's for values without.

use std::sync::Arc;

use base::merge::MergeOperator;
use compact::{
    CompactionFilter, CompactionFilterFactory, Decision, FilterContext, TableFileCreationReason, ValueType,
};

use super::rules::{FamilyTtl, Rules};

/// RocksDB's names of the compaction filter and merge operator that handle times to live.
pub(super) const ROCKSDB_FACTORY: &str = "TtlCompactionFilterFactory";
pub(super) const MERGE_OPERATOR: &str = "TtlMergeOperator";
/// The factory name that marks families with a time to live per key.
pub(super) const PER_KEY_FACTORY: &str = "esker.PerKeyTtlCompactionFilterFactory";

pub(super) fn filter_factory(
    user: Option<Arc<dyn CompactionFilterFactory>>,
    rules: &Arc<Rules>,
) -> Arc<dyn CompactionFilterFactory> {
    Arc::new(TtlFilterFactory {
        user,
        rules: rules.clone(),
    })
}

pub(super) fn merge_operator(user: Arc<dyn MergeOperator>, rules: &Arc<Rules>) -> Arc<dyn MergeOperator> {
    Arc::new(TtlMergeOperator {
        user,
        rules: rules.clone(),
    })
}

struct TtlFilterFactory {
    user: Option<Arc<dyn CompactionFilterFactory>>,
    rules: Arc<Rules>,
}

impl CompactionFilterFactory for TtlFilterFactory {
    fn name(&self) -> &str {
        match self.rules.is_by_key() {
            true => PER_KEY_FACTORY,
            false => ROCKSDB_FACTORY,
        }
    }

    fn text(&self) -> Option<String> {
        let user = match &self.user {
            Some(user) => user.text().unwrap_or_else(|| user.name().to_owned()),
            None => "nullptr".to_owned(),
        };
        Some(match self.rules.ttl() {
            FamilyTtl::RocksDb(ttl) => {
                format!("{{id={ROCKSDB_FACTORY};ttl={ttl};user_filter_factory={user};}}")
            }
            FamilyTtl::PerKey(_) => format!("{{id={PER_KEY_FACTORY};user_filter_factory={user};}}"),
        })
    }

    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        let user = self.user.as_ref();
        let wanted = user.is_some_and(|user| user.should_filter_table_file_creation(reason));
        wanted || reason == TableFileCreationReason::Compaction
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        let user = self.user.as_ref();
        let user = user.filter(|user| user.should_filter_table_file_creation(context.reason));
        Some(Box::new(TtlFilter {
            user: user.and_then(|user| user.create(context)),
            rules: self.rules.clone(),
            now: self.rules.now(),
        }))
    }
}

struct TtlFilter {
    user: Option<Box<dyn CompactionFilter>>,
    rules: Arc<Rules>,
    /// The time at which the compaction began.
    now: u64,
}

impl CompactionFilter for TtlFilter {
    fn filter(&mut self, level: usize, key: &[u8], value_type: ValueType, value: &[u8]) -> Decision {
        // A value without a suffix was not written by this layer; readers report it.
        let Ok((bare, stamp)) = self.rules.split(value) else {
            return Decision::Keep;
        };
        if value_type == ValueType::Value && self.rules.is_expired(stamp, self.now) {
            return Decision::Remove;
        }
        let Some(user) = &mut self.user else {
            return Decision::Keep;
        };
        match user.filter(level, key, value_type, bare) {
            Decision::ChangeValue(mut changed) => {
                changed.extend_from_slice(&value[bare.len()..]);
                Decision::ChangeValue(changed)
            }
            decision => decision,
        }
    }

    /// Entities have no time of their own.
    fn filter_entity(&mut self, level: usize, key: &[u8], columns: &[(&[u8], &[u8])]) -> Decision {
        let user = self.user.as_mut();
        user.map_or(Decision::Keep, |user| user.filter_entity(level, key, columns))
    }
}

struct TtlMergeOperator {
    user: Arc<dyn MergeOperator>,
    rules: Arc<Rules>,
}

impl TtlMergeOperator {
    /// The value without the suffix, whatever its time.
    fn bare<'a>(&self, value: &'a [u8]) -> Option<&'a [u8]> {
        let len = value.len().checked_sub(self.rules.suffix_len())?;
        Some(&value[..len])
    }
}

impl MergeOperator for TtlMergeOperator {
    fn name(&self) -> &str {
        MERGE_OPERATOR
    }

    fn text(&self) -> String {
        format!("{{id={MERGE_OPERATOR};user_operator={};}}", self.user.text())
    }

    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let existing = match existing {
            Some(existing) => Some(self.bare(existing)?),
            None => None,
        };
        let operands: Vec<&[u8]> = operands
            .iter()
            .map(|operand| self.bare(operand))
            .collect::<Option<_>>()?;
        let merged = self.user.full_merge(key, existing, &operands)?;
        self.rules.stamped(&merged, None).ok()
    }

    fn partial_merge(&self, key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        let merged = self
            .user
            .partial_merge(key, self.bare(older)?, self.bare(newer)?)?;
        self.rules.stamped(&merged, None).ok()
    }
}
