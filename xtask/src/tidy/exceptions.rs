//! Exceptions from the rules, each with its reason.

use super::finding::Finding;

/// A rule that does not apply to a file, or to everything under a folder (a path that ends in `/`).
pub struct Exception {
    pub rule: &'static str,
    pub path: &'static str,
    /// The reason for the exception. Read it before you add a similar one.
    pub reason: &'static str,
}

/// All exceptions.
pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        rule: "unsafe",
        path: "bindings/python/src/arrow.rs",
        reason: "the Arrow C data interface is pointers: two blocks take a stream and an array out of their capsules; the crate denies it elsewhere",
    },
    Exception {
        rule: "unsafe",
        path: "bench/compare/src/bin/bench-lmdb.rs",
        reason: "heed opens a memory map, which another program must not change: two calls",
    },
    Exception {
        rule: "unsafe",
        path: "crates/capi/src/",
        reason: "functions over a C caller's pointers: their contract is at the head of ffi.rs; clippy asks each block for its reason",
    },
    Exception {
        rule: "twin",
        path: "crates/capi/src/",
        reason: "names of RocksDB's interface",
    },
    Exception {
        rule: "length",
        path: "crates/capi/src/generated/",
        reason: "written by cargo xtask gen, one entry a field",
    },
    Exception {
        rule: "length",
        path: "crates/capi/src/generated_functions.rs",
        reason: "written by cargo xtask gen, one entry a function",
    },
    Exception {
        rule: "print",
        path: "crates/capi/build.rs",
        reason: "a build script speaks to cargo so",
    },
    Exception {
        rule: "manifest",
        path: "crates/capi/Cargo.toml",
        reason: "the workspace's lints but for those that C's names and pointers break, which its comment lists",
    },
    Exception {
        rule: "manifest",
        path: "crates/jni/Cargo.toml",
        reason: "the workspace's lints but for the one that Java's long signatures break",
    },
    Exception {
        rule: "length",
        path: "crates/jni/src/generated/",
        reason: "written by cargo xtask gen, one entry a method",
    },
    Exception {
        rule: "clock",
        path: "crates/base/src/env.rs",
        reason: "the machine's clock behind the trait everybody else uses",
    },
    Exception {
        rule: "chance",
        path: "crates/base/src/env.rs",
        reason: "the one source of fresh seeds",
    },
    Exception {
        rule: "print",
        path: "testing/testkit/src/",
        reason: "reports to the user who runs the tests: seeds to replay, tools not installed",
    },
    Exception {
        rule: "print",
        path: "crates/engine/build.rs",
        reason: "a build script speaks to Cargo on its standard output",
    },
    Exception {
        rule: "disk",
        path: "crates/engine/build.rs",
        reason: "it runs before there is a vfs, and reads files that Cargo wrote into the crate",
    },
    Exception {
        rule: "exit",
        path: "testing/testkit/src/bench.rs",
        reason: "a benchmark whose thread panicked would hang; only benchmarks call it",
    },
    Exception {
        rule: "exit",
        path: "crates/cache/src/frame.rs",
        reason: "a pin count that ran over cannot be trusted by anybody any more, as in std's Arc",
    },
    Exception {
        rule: "endian",
        path: "crates/sst/src/block/entry_index.rs",
        reason: "an index in memory, built and read by the same process",
    },
    Exception {
        rule: "locks",
        path: "crates/base/src/sync.rs",
        reason: "the one source of locks and threads",
    },
    Exception {
        rule: "locks",
        path: "crates/base/src/simulation/",
        reason: "the replacement of them",
    },
    Exception {
        rule: "locks",
        path: "crates/cache/src/sync.rs",
        reason: "loom's locks in their place; nothing waits with them held",
    },
    Exception {
        rule: "locks",
        path: "crates/memtable/src/sync.rs",
        reason: "loom's locks in their place; nothing waits with them held",
    },
    Exception {
        rule: "locks",
        path: "crates/vfs/src/mem.rs",
        reason: "the disk of the simulation: nothing waits with its locks held",
    },
    Exception {
        rule: "locks",
        path: "crates/vfs/src/mem/",
        reason: "the disk of the simulation: nothing waits with its locks held",
    },
    Exception {
        rule: "locks",
        path: "crates/vfs/src/fault.rs",
        reason: "the disk of the simulation: nothing waits with its locks held",
    },
    Exception {
        rule: "locks",
        path: "crates/vfs/src/op_log.rs",
        reason: "the disk of the simulation: nothing waits with its locks held",
    },
    Exception {
        rule: "locks",
        path: "crates/vfs/src/posix/",
        reason: "the machine's disk, on which nothing is simulated",
    },
    Exception {
        rule: "sleep",
        path: "testing/testkit/src/watchdog.rs",
        reason: "the watchdog of tests, which must not depend on the code that it watches",
    },
    Exception {
        rule: "exit",
        path: "testing/testkit/src/watchdog.rs",
        reason: "a test that hangs ends with its process",
    },
    Exception {
        rule: "thread",
        path: "testing/testkit/src/watchdog.rs",
        reason: "libtest names the threads of tests; that of a watchdog has none",
    },
    Exception {
        rule: "test-sleep",
        path: "crates/base/src/perf.rs",
        reason: "a thread that sleeps takes no CPU time, which the test measures",
    },
    Exception {
        rule: "test-timeout",
        path: "testing/dbtest/src/gate.rs",
        reason: "the watchdog of a gate: a thread that waits two minutes panics",
    },
    Exception {
        rule: "test-clock",
        path: "bench/db_bench/src/schedule.rs",
        reason: "moments to count from, which can be had from the clock alone; nothing waits",
    },
    Exception {
        rule: "test-clock",
        path: "bench/compare/src/burden.rs",
        reason: "a share of the time that goes by, of which the test knows a lower bound",
    },
    Exception {
        rule: "test-clock",
        path: "bench/db_bench/src/runner.rs",
        reason: "a stall that db_bench must measure: its length is a lower bound of the measurement",
    },
];

impl Exception {
    fn covers(&self, finding: &Finding) -> bool {
        self.rule == finding.rule
            && (self.path == finding.path || self.path.ends_with('/') && finding.path.starts_with(self.path))
    }
}

/// Removes the excepted findings, and adds a finding for each exception that covers none.
pub fn apply(exceptions: &[Exception], found: Vec<Finding>) -> Vec<Finding> {
    let mut used = vec![false; exceptions.len()];
    let mut left = Vec::new();
    for finding in found {
        match exceptions.iter().position(|exception| exception.covers(&finding)) {
            Some(at) => used[at] = true,
            None => left.push(finding),
        }
    }
    for (exception, used) in exceptions.iter().zip(used) {
        if !used {
            let message = format!(
                "nothing here breaks {} any more ({}): remove it",
                exception.rule, exception.reason
            );
            left.push(Finding::new("stale-exception", exception.path, 0, message));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_covers_its_place_and_must_be_needed() {
        let exceptions = [
            Exception {
                rule: "print",
                path: "crates/a/",
                reason: "r",
            },
            Exception {
                rule: "clock",
                path: "crates/b/src/lib.rs",
                reason: "r",
            },
        ];
        let found = vec![
            Finding::new("print", "crates/a/src/lib.rs", 1, ""),
            Finding::new("print", "crates/ab/src/lib.rs", 1, ""),
        ];
        let left: Vec<String> = apply(&exceptions, found)
            .iter()
            .map(|f| format!("{} {}", f.rule, f.path))
            .collect();
        assert_eq!(
            left,
            [
                "print crates/ab/src/lib.rs",
                "stale-exception crates/b/src/lib.rs"
            ]
        );
    }
}
