//! A compaction filter that removes entries which no reader can see: those of keys that do not exist. It also
//! gives some rows outside the expected state a value that is too large, which the database must not take.
//!
//! It follows the expected state. A key that is absent, with no change pending, is absent for every current
//! reader: a deletion covers each of its entries. A reader of a snapshot may see such an entry, and a crash
//! that takes the deletion shows it again; so the filter is used without snapshots, and without a WAL that
//! loses writes ([`Flags::check`](crate::flags::Flags::check)).

use std::collections::BTreeMap;
use std::sync::Arc;

use base::RowLimit;
use esker::{CompactionFilter, CompactionFilterFactory, Decision, FilterContext, ValueType};
use parking_lot::RwLock;

use crate::expected_state::ExpectedState;
use crate::keys;
use crate::outside;

/// The index in the expected state of each column family, by its id. No family is known before the expected
/// state is right.
#[derive(Default)]
pub struct Families(RwLock<BTreeMap<u32, usize>>);

impl Families {
    /// Records that the family `id` has the index `family`.
    pub fn know(&self, id: u32, family: usize) {
        self.0.write().insert(id, family);
    }

    /// Removes the family `id`.
    pub fn forget(&self, id: u32) {
        self.0.write().remove(&id);
    }
}

/// Makes filters for the families that are known.
pub struct RemovesAbsent {
    /// The expected values.
    pub expected: Arc<ExpectedState>,
    /// The families.
    pub families: Arc<Families>,
    /// Percentage of the keys that only single deletions delete.
    pub nooverwritepercent: i32,
    /// The limit of the database's rows.
    pub row_limit: RowLimit,
}

impl CompactionFilterFactory for RemovesAbsent {
    fn name(&self) -> &str {
        "RemovesAbsent"
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        let family = *self.families.0.read().get(&context.column_family_id)?;
        Some(Box::new(OfFamily {
            expected: self.expected.clone(),
            family,
            nooverwritepercent: self.nooverwritepercent,
            row_limit: self.row_limit,
        }))
    }
}

struct OfFamily {
    expected: Arc<ExpectedState>,
    family: usize,
    nooverwritepercent: i32,
    row_limit: RowLimit,
}

impl OfFamily {
    fn decide(&self, key: &[u8]) -> Decision {
        let Some(number) = keys::number(key).filter(|&number| number < self.expected.keys()) else {
            return Decision::Keep;
        };
        let expected = self.expected.get(self.family, number);
        match expected.exists() || expected.is_pending() {
            true => Decision::Keep,
            false if keys::is_single(number, self.nooverwritepercent) => Decision::Purge,
            false => Decision::Remove,
        }
    }
}

impl CompactionFilter for OfFamily {
    fn filter(&mut self, _level: usize, key: &[u8], value_type: ValueType, value: &[u8]) -> Decision {
        if value_type == ValueType::Value && outside::grows(key, value, self.row_limit) {
            return Decision::ChangeValue(vec![0; self.row_limit.bytes() + 1]);
        }
        self.decide(key)
    }

    fn filter_entity(&mut self, _level: usize, key: &[u8], _columns: &[(&[u8], &[u8])]) -> Decision {
        self.decide(key)
    }

    fn filter_blob_by_key(&mut self, _level: usize, key: &[u8]) -> Option<Decision> {
        Some(self.decide(key))
    }
}

#[cfg(test)]
mod tests {
    use esker::{BottommostLevelCompaction, CompactRangeOptions, Db, Options};

    use super::*;
    use crate::expected_value::ExpectedValue;
    use crate::flags::Flags;
    use crate::stress::Stress;
    use crate::trace::{Change, Together};

    #[test]
    fn what_a_crash_took_is_nothing_to_go_by() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let open_expected = |traced| ExpectedState::open(dir.path(), 1, 1, traced).unwrap();
        let flags = Flags {
            max_key: 1,
            column_families: 1,
            enable_compaction_filter: true,
            ..Flags::default()
        };
        let written = ExpectedValue::NEVER.begin_write().settle();
        let deleted = written.begin_delete().settle();
        // A row is in a file, and its deletion was lost with a process that wrote without WAL.
        let expected = open_expected(true);
        expected.set(0, 0, written).unwrap();
        expected.restart_trace(Together::EachFamily).unwrap();
        let change = Change::Set {
            family: 0,
            key: 0,
            value: deleted,
        };
        let trace = expected.trace().unwrap();
        trace.end(trace.begin(1, &[change]).unwrap(), 2).unwrap();
        expected.set(0, 0, deleted).unwrap();
        drop(expected);
        let options = Options {
            create_if_missing: true,
            ..flags.options().unwrap()
        };
        let value = keys::value(0, written.write(), flags.value_size_mult as usize);
        let db = Db::open(&options, &path).unwrap();
        db.put(keys::key(0), &value).unwrap();
        db.close().unwrap();

        let stress = Stress::new(flags, options, path, Arc::new(open_expected(false)));
        let open = stress.open(false).unwrap();
        let family = open.db.default_column_family();
        let compact = || {
            let options = CompactRangeOptions {
                bottommost_level_compaction: BottommostLevelCompaction::Force,
                ..CompactRangeOptions::default()
            };
            open.db
                .compact_range_cf_opt(&family, None, None, &options)
                .unwrap();
        };
        compact();
        assert_eq!(stress.recover(&open).unwrap().lost, 1);
        assert_eq!(stress.expected.get(0, 0), written);
        stress.verify(&open).unwrap();
        // From now on the expected state is used: entries of absent keys are removed.
        stress.expected.set(0, 0, deleted).unwrap();
        compact();
        stress.verify(&open).unwrap();
        stress.expected.set(0, 0, written).unwrap();
        assert!(stress.verify(&open).is_err());
    }
}
