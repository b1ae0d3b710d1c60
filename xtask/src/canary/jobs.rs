//! Bugs of background work: which families are flushed together, where files go, who works on them, when they are deleted.

use super::Canary;
use super::Catcher::Tests;

const ATOMIC_FLUSH: &[&str] = &["-p", "esker-dbtest", "--test", "it", "atomic_flush::"];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "with atomic_flush each family is flushed by a job of its own",
        file: "crates/engine/src/db/state.rs",
        right: "return due.then(|| unflushed.map(|(&id, _)| id).collect());",
        wrong: "return due.then(|| unflushed.map(|(&id, _)| id).take(1).collect());",
        caught_by: Tests(ATOMIC_FLUSH),
    },
    Canary {
        name: "with atomic_flush a full memtable is switched alone",
        file: "crates/engine/src/write/pipeline.rs",
        right: "            let full = state.switched_with(full);\n",
        wrong: "",
        caught_by: Tests(ATOMIC_FLUSH),
    },
    Canary {
        name: "a family that is to be flushed with others is flushed alone",
        file: "crates/engine/src/db/state.rs",
        right: "            .filter(|own| !is_grouped(own.family.id))\n",
        wrong: "            .filter(|own| !is_grouped(own.family.id) || own.family.id > 0)\n",
        caught_by: Tests(ATOMIC_FLUSH),
    },
    Canary {
        name: "a flush of several families that fails leaves the tables of the first",
        file: "crates/engine/src/jobs/flush.rs",
        right: "                        self.discard_flushed(&own.family, flushed);\n                    }\n",
        wrong: "                        let _ = (own, flushed);\n                    }\n",
        caught_by: Tests(ATOMIC_FLUSH),
    },
];
