//! RocksDB's workloads that need features which Esker does not have yet.

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
        "asynchronous reads",
    ),
    (
        &["readrandomentity", "multireadentity", "fillembeddedentity"],
        "reads of wide columns (GetEntity)",
    ),
    (&["fillembeddedblob"], "blobs embedded in tables"),
    (&["multiscanrandom"], "MultiScan of drawn lengths"),
    (&["approximatememtablestats"], "GetApproximateMemTableStats"),
    (
        &["block_cache_entry_stats", "cache_report_problems"],
        "block cache reports",
    ),
    (&["verify"], "a comparison with a second database (truth_db)"),
    (&["getmergeoperands", "readrandomoperands"], "GetMergeOperands"),
    (&["openandcompact"], "remote compaction"),
    (&["compressreject"], "compression into a bounded buffer"),
    (&["heapprofile"], "heap profiles"),
];

/// The feature that RocksDB's workload `name` needs and Esker does not have yet; `None` for all others.
pub fn feature(name: &str) -> Option<&'static str> {
    let row = MISSING.iter().find(|(names, _)| names.contains(&name));
    row.map(|(_, feature)| *feature)
}

/// The names of all these workloads.
#[cfg(test)]
pub fn names() -> impl Iterator<Item = &'static str> {
    MISSING.iter().flat_map(|(names, _)| names.iter().copied())
}
