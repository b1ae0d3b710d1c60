//! Bugs of options and properties without their documented effect.

use super::Canary;
use super::Catcher::Tests;

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "the range of an integer option is compared as a float",
        file: "crates/engine/src/options/number.rs",
        right: "        self.nearest(number) == number\n",
        wrong: "        let float = |number: OptionNumber| number.to_string().parse::<f64>();\n        float(self.nearest(number)) == float(number)\n",
        caught_by: Tests(&["-p", "esker", "--lib", "options::number::"]),
    },
    Canary {
        name: "a flush does not wait for its listeners",
        file: "crates/engine/src/jobs/manual_jobs.rs",
        right: "if options.listener_wait {",
        wrong: "if options.listener_wait && families.is_empty() {",
        caught_by: Tests(&[
            "-p",
            "esker-dbtest",
            "--test",
            "it",
            "a_flush_waits_for_listeners",
        ]),
    },
    Canary {
        name: "strict options let an option pass that Esker does not have",
        file: "crates/engine/src/lifecycle/stored_options.rs",
        right: "        if strict && lost.loss.is_refused() {",
        wrong: "        if strict && lost.loss.is_refused() && lost.column_family.is_none() {",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "options_file::"]),
    },
    Canary {
        name: "a lost option is told whatever its value",
        file: "crates/engine/src/options/lost.rs",
        right: "            Some(row) if row.is_default(value) => return None,\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::control"]),
    },
    Canary {
        name: "tables that an iterator holds are not in the total size",
        file: "crates/engine/src/report/properties.rs",
        right: "own.version.total_bytes() + of.family.tables.zombie_bytes()",
        wrong: "own.version.total_bytes()",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::reports"]),
    },
    Canary {
        name: "a block cache counts once for each family that shares it",
        file: "crates/engine/src/report/property.rs",
        right: "if property.aggregation == Aggregation::BlockCaches {",
        wrong: "if false && property.aggregation == Aggregation::BlockCaches {",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::reports"]),
    },
    Canary {
        name: "live data counts tables that overlap each other",
        file: "crates/manifest/src/live_data.rs",
        right: "        is_free.then_some(at)",
        wrong: "        (is_free || at == 0).then_some(at)",
        caught_by: Tests(&["-p", "esker-manifest", "--test", "it", "builder::"]),
    },
    Canary {
        name: "a rate limiter leaves all of a file to its sync",
        file: "crates/engine/src/options/db.rs",
        right: "        if self.rate_limiter.is_some() && self.bytes_per_sync == 0 {",
        wrong: "        if self.rate_limiter.is_none() && self.bytes_per_sync == u64::MAX {",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::styles"]),
    },
];
