//! Bugs of options and properties that do not what they say.

use super::Canary;
use super::Catcher::Tests;

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "strict options let an option pass that Esker does not have",
        file: "crates/engine/src/db/stored_options.rs",
        right: "        if strict && lost.loss.is_refused() {",
        wrong: "        if strict && lost.loss.is_refused() && lost.column_family.is_none() {",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "options_file::"]),
    },
    Canary {
        name: "a lost option is told whatever its value",
        file: "crates/engine/src/options/lost.rs",
        right: "            Some(row) if row.is_default(value) => return None,\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "options_file::"]),
    },
];
