//! mixgraph: its settings, its hit rate by the size of the cache, and each of its kinds of operations alone.

use super::table::{Metric, PICTURE, Row, Setup, Sizes, Table, bench, row, setup};

const DIST: &str = "--key_dist_a=0.002312 --key_dist_b=0.3467";
const PREFIX: &str = "--keyrange_dist_a=14.18 --keyrange_dist_b=-2.917 --keyrange_dist_c=0.0164 \
                      --keyrange_dist_d=-0.08082 --keyrange_num=30";
const SCAN: &str = "--iter_k=2.517 --iter_sigma=14.236";

/// The published settings.
const SETTINGS: [(&str, &[&str]); 5] = [
    ("all_dist", &[DIST, SCAN]),
    ("prefix_dist", &[DIST, PREFIX, SCAN]),
    ("all_random", &[SCAN]),
    ("prefix_random", &[PREFIX, SCAN]),
    ("hwperf", &[DIST]),
];

/// The Gets, Puts and Seeks of the paper.
const PUBLISHED_SHARES: &str = "--mix_get_ratio=0.83 --mix_put_ratio=0.14 --mix_seek_ratio=0.03";

const KEY_AND_VALUE: u64 = 48 + 43;

fn keys(sizes: &Sizes) -> u64 {
    sizes.keys(50_000_000, 0.01)
}

fn load(sizes: &Sizes) -> Setup {
    setup(
        "mixgraph",
        format!(
            "--benchmarks=fillrandom --num={} --key_size=48 --value_size=43",
            keys(sizes)
        ),
    )
}

fn flags(sizes: &Sizes, shares: &str, cache: &str, parts: &[&str]) -> String {
    format!(
        "--benchmarks=mixgraph --num={} --key_size=48 --value_size=43 {shares} --value_k=0.2615 --value_sigma=25.45 {cache} \
         --reads={} {}",
        keys(sizes),
        sizes.keys(200_000, 0.1),
        parts.join(" ")
    )
}

/// The operations per second of the five settings.
pub fn settings(sizes: &Sizes) -> Table {
    let load = load(sizes);
    let rows = SETTINGS.iter().map(|(name, parts)| {
        let flags = flags(sizes, PUBLISHED_SHARES, "--cache_size=268435456", parts);
        row(
            *name,
            "10000 to 20000",
            Metric::OpsPerSecond,
            bench(Some(&load), flags, "mixgraph"),
        )
    });
    Table {
        source: "S3",
        title: "mixgraph in its five settings (The db_bench mixgraph benchmark)",
        note: "The document's database was larger than memory (574 GB) and on SSD; this one is in memory. Settings as in \
               the paper that introduced it. Ours draws keys as RocksDB's program does (`--mixgraph_like_rocksdb`), which is not \
               quite what its options say: see docs/benchmark.md.",
        means: false,
        rows: rows.collect(),
    }
}

/// A block cache of `share` / 574 of the database: the document's cache sizes are for 574 GB.
fn cache(sizes: &Sizes, share: u64) -> String {
    let bytes = (keys(sizes) * KEY_AND_VALUE * share / 574).max(4_096);
    format!("--cache_type=lru_cache --cache_numshardbits=1 --cache_size={bytes} --statistics=true")
}

/// The share of lookups that find their block, by the size of the cache.
pub fn hit_rate(sizes: &Sizes) -> Table {
    let load = load(sizes);
    let rows: Vec<Row> = SETTINGS
        .iter()
        .flat_map(|(name, parts)| {
            let load = &load;
            [1, 2, 4, 8, 16, 32, 64, 128].map(move |share| {
                let flags = flags(sizes, PUBLISHED_SHARES, &cache(sizes, share), parts);
                row(
                    format!("{name}, {share}/574"),
                    PICTURE,
                    Metric::CacheHitPercent,
                    bench(Some(load), flags, "mixgraph"),
                )
            })
        })
        .collect();
    Table {
        source: "S3",
        title: "mixgraph: block cache hit rate by cache size (The db_bench mixgraph benchmark)",
        note: "The document's caches have 1 to 128 GB, its database 574 GB; here they have the same shares of one that is in memory. \
               Its table is elsewhere: the text says that all_random and prefix_random find less than all_dist and prefix_dist. An \
               LRU of two shards on both sides.",
        means: false,
        rows,
    }
}

/// Gets alone, and Seeks with their steps alone.
pub fn kinds(sizes: &Sizes) -> Table {
    let load = load(sizes);
    let kinds = [
        (
            "Get-only",
            "--mix_get_ratio=1.0 --mix_put_ratio=0.0 --mix_seek_ratio=0.0",
        ),
        (
            "Seek-only",
            "--mix_get_ratio=0.0 --mix_put_ratio=0.0 --mix_seek_ratio=1.0",
        ),
    ];
    let rows: Vec<Row> = SETTINGS
        .iter()
        .flat_map(|(name, parts)| {
            let load = &load;
            kinds.into_iter().flat_map(move |(kind, shares)| {
                let flags = flags(sizes, shares, &cache(sizes, 16), parts);
                let run = bench(Some(load), flags, "mixgraph");
                [Metric::OpsPerSecond, Metric::CacheHitPercent]
                    .map(|metric| row(format!("{name}, {kind}"), PICTURE, metric, run.clone()))
            })
        })
        .collect();
    Table {
        source: "S3",
        title: "mixgraph: Get-only and Seek-only (The db_bench mixgraph benchmark)",
        note: "The document's figures are elsewhere; its text says that Get-only does more operations a second and finds less in the \
               block cache than Seek-only, which takes some 560 steps a seek, but for hwperf, which takes none. The cache has 16/574 of \
               the database.",
        means: false,
        rows,
    }
}
