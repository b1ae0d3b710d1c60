//! Bugs of rows with a time to live.

use super::Canary;
use super::Catcher::Tests;

const TESTS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "ttl::"];
const METAMORPHIC: &[&str] = &["-p", "esker-dbtest", "--test", "it", "metamorphic::"];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a row is read at the moment when it expires",
        file: "crates/engine/src/ttl/rules.rs",
        right: "return stamp != 0 && stamp <= now;",
        wrong: "return stamp != 0 && stamp < now;",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "a row of RocksDB's goes a second early",
        file: "crates/engine/src/ttl/rules.rs",
        right: "stamp.saturating_add(u64::from(ttl.cast_unsigned())) < now",
        wrong: "stamp.saturating_add(u64::from(ttl.cast_unsigned())) <= now",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "an iterator shows expired rows",
        file: "crates/engine/src/ttl/iterator.rs",
        right: "Ok((bare, stamp)) if !self.rules.is_hidden(stamp, self.rules.now()) => {",
        wrong: "Ok((bare, stamp)) => {",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "a value that a filter has changed loses its suffix",
        file: "crates/engine/src/ttl/hooks.rs",
        right: "                changed.extend_from_slice(&value[bare.len()..]);\n",
        wrong: "                changed.shrink_to_fit();\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "a pinned value keeps its suffix",
        file: "crates/engine/src/ttl/rules.rs",
        right: "then(|| value.first(len))",
        wrong: "then(|| value.first(len + 1))",
        caught_by: Tests(&["-p", "esker-rocksdb", "--test", "it", "time_to_live::"]),
    },
    Canary {
        name: "a database with a time to live does not say so in its OPTIONS file",
        file: "crates/engine/src/jobs/options_file.rs",
        right: "let components: Vec<(&str, String)> = components.into_iter().chain(filter).collect();",
        wrong: "let components: Vec<(&str, String)> = components.into_iter().chain(filter.filter(|_| false)).collect();",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "an iterator takes the suffix of a value that is not read yet",
        file: "crates/engine/src/ttl/mod.rs",
        right: "            allow_unprepared_value: false,\n",
        wrong: "            allow_unprepared_value: options.allow_unprepared_value,\n",
        caught_by: Tests(METAMORPHIC),
    },
    Canary {
        name: "a row that is written by a clock without its time can never be read",
        file: "crates/engine/src/ttl/rules.rs",
        right: "(self.now() as u32).max(MIN_TIMESTAMP)",
        wrong: "(self.now() as u32).max(1)",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "clock_set_back::"]),
    },
    Canary {
        name: "a row that is younger than its database's clock is expired",
        file: "crates/engine/src/ttl/rules.rs",
        right: "stamp.saturating_add(u64::from(ttl.cast_unsigned())) < now",
        wrong: "now.wrapping_sub(stamp) > u64::from(ttl.cast_unsigned())",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "clock_set_back::"]),
    },
];
