//! Planted bugs of the counts of contention.

use super::Canary;
use super::Catcher::Tests;

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a line that one thread alone touches counts as shared",
        file: "bench/scale/src/trace.rs",
        right: "            .filter(|write| others.contains(&(write.data / LINE)))\n",
        wrong: "",
        caught_by: Tests(&["-p", "scale", "--lib", "trace::"]),
    },
    Canary {
        name: "a simulated lock that waited counts as one that was free",
        file: "crates/base/src/simulation/lock.rs",
        right: "        waited = true;\n",
        wrong: "        waited |= false;\n",
        caught_by: Tests(&["-p", "esker-base", "--lib", "simulation::"]),
    },
];
