//! Adds the operations of RocksDB's mixgraph, over the keys of a workload, to that workload.

use base::distribution::{Pareto, Power};
use base::env::Rng;
use twox_hash::XxHash3_64;

use crate::workload::{Action, Operation, WorkloadBuilder, size};

/// The shares of Gets and of Puts; the others are seeks.
const GETS: f64 = 0.83;
const PUTS: f64 = 0.14;
/// The distribution of key ranks, as in the setting `all_dist` of the paper that introduced mixgraph.
const RANKS: Power = Power {
    a: 0.002_312,
    b: 0.3467,
};
const VALUES: Pareto = Pareto {
    theta: 0.0,
    k: 0.2615,
    sigma: 25.45,
};
/// Bytes of a value, at least and at most.
const VALUE_SIZES: std::ops::Range<i64> = 10..1 << 20;

impl WorkloadBuilder {
    /// Adds `operations` operations of RocksDB's mixgraph, `per_second` of them in a second: 83% Gets, 14%
    /// Puts and 3% seeks, with hot keys scattered over the keys that the workload has. The same seed gives
    /// the same operations. A sample of the keys gets a sample of the operations.
    ///
    /// A workload without keys stays as it is.
    pub fn mixgraph(&mut self, operations: u64, per_second: u64, seed: u64) {
        let keys = self.keys.len() as u64;
        if keys == 0 {
            return;
        }
        let mut rng = Rng::with_seed(seed);
        let weight = self.weight();
        for number in 0..operations / weight {
            // Ranks are over all keys, of which the sample has one in `weight`.
            let rank = RANKS.rank(rng.f64()) / weight;
            let key = XxHash3_64::oneshot(&rank.to_le_bytes()) % keys;
            let value = VALUES.exceeded(1.0 - rng.f64()) % VALUE_SIZES.end;
            let action = match rng.f64() {
                share if share < GETS => Action::Get,
                share if share < GETS + PUTS => Action::Put(size(value.max(VALUE_SIZES.start) as usize)),
                _ => Action::Seek,
            };
            let at = u128::from(number * weight) * 1_000_000 / u128::from(per_second.max(1));
            self.operations.push(Operation {
                at: at as u64,
                key: key as u32,
                action,
            });
        }
    }
}
