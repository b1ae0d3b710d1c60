//! A record of the work that an open-ended test has done, in a line that `cargo xtask soak` adds up.

/// Prints the work of `part`: counts with their names. Names mean the same in every part; `docs/lab/soak.md`
/// lists them.
pub fn record(part: &str, counts: &[(&str, u64)]) {
    let counts: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{name}={count}"))
        .collect();
    eprintln!("record: part={part} {}", counts.join(" "));
}
