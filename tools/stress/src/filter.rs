//! A compaction filter that takes away what nobody can see: entries of keys that are not there.
//!
//! It goes by the expected state. A key that is absent, with no change under way, is absent to everybody who reads now: whatever an entry of it
//! is, a deletion lies above. Who reads as of before may see that entry, and a crash that takes the deletion shows it again; so there are
//! no snapshots beside the filter, and no WAL that loses what it was given ([`Flags::check`](crate::flags::Flags::check)).

use std::collections::BTreeMap;
use std::sync::Arc;

use esker::{CompactionFilter, CompactionFilterFactory, Decision, FilterContext, ValueType};
use parking_lot::RwLock;

use crate::expected_state::ExpectedState;
use crate::keys;

/// Which column family, by its id, is which of the expected state.
#[derive(Default)]
pub struct Families(RwLock<BTreeMap<u32, usize>>);

impl Families {
    /// The family of that id is the one of that index.
    pub fn know(&self, id: u32, family: usize) {
        self.0.write().insert(id, family);
    }

    /// The family of that id is none any more.
    pub fn forget(&self, id: u32) {
        self.0.write().remove(&id);
    }
}

/// Makes filters for the families that are known.
pub struct RemovesAbsent {
    /// What every key should be.
    pub expected: Arc<ExpectedState>,
    /// The families.
    pub families: Arc<Families>,
    /// Percentage of keys that are single deletions' alone.
    pub nooverwritepercent: i32,
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
        }))
    }
}

struct OfFamily {
    expected: Arc<ExpectedState>,
    family: usize,
    nooverwritepercent: i32,
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
    fn filter(&mut self, _level: usize, key: &[u8], _value_type: ValueType, _value: &[u8]) -> Decision {
        self.decide(key)
    }

    fn filter_blob_by_key(&mut self, _level: usize, key: &[u8]) -> Option<Decision> {
        Some(self.decide(key))
    }
}
