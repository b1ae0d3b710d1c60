//! What a test that runs for as long as it is given has done, in a line that `cargo xtask soak` adds up.

/// Prints what `part` has done: counts under their names. Names mean the same in every part; `docs/soak.md` lists them.
pub fn record(part: &str, counts: &[(&str, u64)]) {
    let counts: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{name}={count}"))
        .collect();
    eprintln!("record: part={part} {}", counts.join(" "));
}
