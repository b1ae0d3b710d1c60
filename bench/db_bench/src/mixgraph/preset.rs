//! The published settings of mixgraph: four of the paper that introduced it (Cao and others, FAST 2020,
//! appendix), and `hwperf`, with which RocksDB's developers compare machines.

/// The flags of every setting: operations, value sizes, and the keys and values of the database that they
/// were published for.
const ALL: [(&str, &str); 7] = [
    ("key_size", "48"),
    ("value_size", "43"),
    ("mix_get_ratio", "0.83"),
    ("mix_put_ratio", "0.14"),
    ("mix_seek_ratio", "0.03"),
    ("value_k", "0.2615"),
    ("value_sigma", "25.45"),
];
/// Scan lengths, and the variation over a day that `--sine_mix_rate` turns on, of the paper's four settings.
const PAPER: [(&str, &str); 6] = [
    ("iter_k", "2.517"),
    ("iter_sigma", "14.236"),
    ("sine_mix_rate_interval_milliseconds", "5000"),
    ("sine_a", "1000"),
    ("sine_b", "0.000073"),
    ("sine_d", "4500"),
];
/// The distribution of hot keys.
const DIST: [(&str, &str); 2] = [("key_dist_a", "0.002312"), ("key_dist_b", "0.3467")];
/// The distribution of hot ranges of keys.
const PREFIX: [(&str, &str); 5] = [
    ("keyrange_dist_a", "14.18"),
    ("keyrange_dist_b", "-2.917"),
    ("keyrange_dist_c", "0.0164"),
    ("keyrange_dist_d", "-0.08082"),
    ("keyrange_num", "30"),
];

/// The names of the settings.
pub const NAMES: [&str; 5] = ["all_dist", "prefix_dist", "all_random", "prefix_random", "hwperf"];

/// The flags of the setting `name`.
pub fn preset(name: &str) -> Result<Vec<(&'static str, &'static str)>, String> {
    let parts: &[&[(&str, &str)]] = match name {
        "all_dist" => &[&ALL, &PAPER, &DIST],
        "prefix_dist" => &[&ALL, &PAPER, &DIST, &PREFIX],
        "all_random" => &[&ALL, &PAPER],
        "prefix_random" => &[&ALL, &PAPER, &PREFIX],
        "hwperf" => &[&ALL, &DIST],
        "" => &[],
        _ => {
            return Err(format!(
                "--mixgraph_preset={name}: not one of {}",
                NAMES.join(", ")
            ));
        }
    };
    Ok(parts.concat())
}
