//! RocksDB's workloads that need features which Esker's db_bench does not have.

/// The names of the workloads, and the feature that they need.
const MISSING: &[(&[&str], &str)] = &[
    (
        &["fillseqdeterministic", "filluniquerandomdeterministic"],
        "fills that build a tree of a given shape",
    ),
    (
        &["fillanddeleteuniquerandom"],
        "the flags disposable_entries_* and persistent_entries_*",
    ),
    (
        &["readrandomcoroutine", "multireadrandomcoroutine"],
        "coroutines of the library folly",
    ),
    (
        &["fillembeddedblob", "fillembeddedentity"],
        "values embedded in tables as blobs",
    ),
    (
        &["cache_report_problems"],
        "a block cache of RocksDB that reports its own problems",
    ),
    (&["verify"], "a comparison with a second database (truth_db)"),
    (&["openandcompact"], "the flags openandcompact_*"),
    (&["compressreject"], "compression into a bounded buffer"),
    (&["heapprofile"], "heap profiles"),
];

/// The feature that RocksDB's workload `name` needs and Esker's db_bench does not have; `None` for all
/// others.
pub fn feature(name: &str) -> Option<&'static str> {
    let row = MISSING.iter().find(|(names, _)| names.contains(&name));
    row.map(|(_, feature)| *feature)
}

/// The names of all workloads that Esker's db_bench lacks.
#[cfg(test)]
pub fn names() -> impl Iterator<Item = &'static str> {
    MISSING.iter().flat_map(|(names, _)| names.iter().copied())
}
