//! The tables, as data: the figures of a document, and the commands that measure them again.
//!
//! Commands are the documents' own, except for sizes, which are scaled, and `--duration`, which bounds the
//! time of a run. If a document has no command, it is derived from the settings in the text, and the table's
//! note says so.

use super::table::{Metric, PICTURE, RunMethod, Sizes, Table, bench, row, setup};
use super::{levels, mixgraph, mmap, versions};
use bench_worker::workload::Workload;

/// Returns every table of the documents, for databases of the given sizes.
pub fn all(sizes: &Sizes) -> Vec<Table> {
    vec![
        mixed_access(sizes),
        in_memory(sizes),
        tombstone_reads(sizes),
        tombstone_kinds(sizes),
        mmap::cached(sizes),
        mmap::io_bound(sizes),
        levels::costs(sizes),
        levels::jobs(sizes),
        checksums(sizes),
        trivial_move(sizes),
        streams(sizes),
        mixgraph::settings(sizes),
        mixgraph::hit_rate(sizes),
        mixgraph::kinds(sizes),
        pinned_l0(sizes),
        versions::collection(),
        versions::operations(),
        versions::collection_by_compactions(),
        versions::ycsb(sizes),
    ]
}

/// Each of the three lengths of scans has its steps after a seek, the number of sought keys, and the
/// document's unit.
const SCANS: [(u64, u64, Metric); 3] = [
    (100, 2_000_000, Metric::OpsPerSecond),
    (20_000, 50_000, Metric::OpsPerSecond),
    (400_000, 2_000, Metric::MillisPerOp),
];

/// Short scans are not shortened at smaller scales.
fn steps_here(sizes: &Sizes, steps: u64) -> u64 {
    if steps > 100 {
        sizes.keys(steps, 0.1)
    } else {
        steps
    }
}

/// The figures of mixed access. Each row has three settings (direct IO, async IO, auto refresh) and the
/// document's three figures.
const MIXED_ACCESS: [(bool, bool, bool, [[&str; 2]; 3]); 8] = [
    (
        true,
        true,
        false,
        [
            ["29821.5 ± 186", "309.05 ± 2.25"],
            ["96.5 ± 0.5", "1004.25 ± 0.55"],
            ["204.8 ± 2.3", "1013.05 ± 11.55"],
        ],
    ),
    (
        true,
        true,
        true,
        [
            ["29794.5 ± 262.5", "309.65 ± 2.65"],
            ["95.5 ± 0.5", "997.5 ± 4.1"],
            ["206 ± 1.8", "1006.8 ± 8.4"],
        ],
    ),
    (
        true,
        false,
        false,
        [
            ["23954.5 ± 56.5", "621.55 ± 1.25"],
            ["100.5 ± 0.5", "1046.6 ± 5.9"],
            ["202.4 ± 3.1", "1025.3 ± 15.6"],
        ],
    ),
    (
        true,
        false,
        true,
        [
            ["24025 ± 148", "623.1 ± 3.9"],
            ["99.5 ± 0.5", "1037.55 ± 8.45"],
            ["203.4 ± 3.8", "1020.6 ± 18.8"],
        ],
    ),
    (
        false,
        true,
        false,
        [
            ["18618 ± 316", "483.1 ± 8.2"],
            ["71.5 ± 0.5", "748.2 ± 2.6"],
            ["275.4 ± 2.7", "753.6 ± 7.5"],
        ],
    ),
    (
        false,
        true,
        true,
        [
            ["17910 ± 192", "465.05 ± 4.55"],
            ["73.5 ± 0.5", "766.9 ± 2.3"],
            ["274.9 ± 2.3", "755 ± 6.3"],
        ],
    ),
    (
        false,
        false,
        false,
        [
            ["23207 ± 248", "602.05 ± 6.35"],
            ["13644.5 ± 224.5", "756.5 ± 8.4"],
            ["272.5 ± 0.9", "761.45 ± 2.35"],
        ],
    ),
    (
        false,
        false,
        true,
        [
            ["22960 ± 302", "595.75 ± 8.05"],
            ["13721.5 ± 103", "756.2 ± 5.7"],
            ["272.9 ± 0.7", "760.45 ± 2.05"],
        ],
    ),
];

fn mixed_access(sizes: &Sizes) -> Table {
    let keys = sizes.keys(1_000_000, 0.1);
    let load = setup(
        "mixed",
        format!(
            "--benchmarks=fillseq --key_size=32 --value_size=512 --num={keys} --write_buffer_size=655360 \
             --disable_auto_compactions=true --target_file_size_base=16777216 --compression_type=none"
        ),
    );
    let rows = MIXED_ACCESS.iter().flat_map(|(direct, asynchronous, refresh, figures)| {
        let load = &load;
        SCANS.iter().zip(figures).flat_map(move |((steps, among, metric), figures)| {
            let (label, steps, among) = (*steps, steps_here(sizes, *steps), sizes.keys(*among, 0.1));
            let flags = format!(
                "--benchmarks=seekrandom --statistics=false --cache_size=0 --cache_index_and_filter_blocks=false \
                 --preserve_internal_time_seconds=1 --explicit_snapshot=1 --key_size=32 --value_size=512 \
                 --use_direct_reads={direct} --async_io={asynchronous} --num={among} --seek_nexts={steps} \
                 --auto_refresh_iterator_with_snapshot={refresh} --duration={}",
                sizes.seconds(1)
            );
            let label = format!(
                "{}, async {}, {}, {label} steps",
                if *direct { "direct" } else { "buffered" },
                if *asynchronous { "on" } else { "off" },
                if *refresh { "auto refresh" } else { "baseline" },
            );
            let run = bench(Some(load), flags, "seekrandom");
            let metrics = [*metric, Metric::MbPerSecond].into_iter().zip(figures);
            metrics
                .map(|(metric, figure)| row(label.clone(), *figure, metric, run.clone()))
                .collect::<Vec<_>>()
        })
    });
    Table {
        source: "S1",
        title: "Iterators with auto refresh, mixed access (RocksDB pull request 13354)",
        note: "Keys, and steps of the longer scans, are a tenth of the document's at scale 1, so that they still cross the whole \
               database: rows are named by the document's steps, and its rates divided by steps compare. Its two figures of 13,000 for 20,000 steps \
               cannot be right (its own MB/s say 72) and are quoted as they stand. Key and value sizes are given to the \
               reading command too, where the document leaves them out.",
        means: true,
        rows: rows.collect(),
    }
}

fn in_memory(sizes: &Sizes) -> Table {
    let keys = sizes.keys(1_000_000, 0.1);
    let memtable = 600 * keys;
    let load = setup(
        "in-memory",
        format!(
            "--benchmarks=fillseq --key_size=32 --value_size=512 --num={keys} --write_buffer_size={memtable} \
             --max_write_buffer_number=2 --compression_type=none"
        ),
    );
    let rows = [false, true].iter().flat_map(|refresh| {
        let load = &load;
        SCANS.iter().flat_map(move |(steps, among, metric)| {
            let (label, steps, among) = (*steps, steps_here(sizes, *steps), sizes.keys(*among, 0.1));
            let flags = format!(
                "--benchmarks=seekrandom --statistics=false --cache_size={} --cache_index_and_filter_blocks=true \
                 --preserve_internal_time_seconds=1 --write_buffer_size={memtable} --max_write_buffer_number=2 \
                 --explicit_snapshot=1 --key_size=32 --value_size=512 --num={among} --seek_nexts={steps} \
                 --auto_refresh_iterator_with_snapshot={refresh} --duration={}",
                1_000 * keys,
                sizes.seconds(1)
            );
            let label = format!("{}, {label} steps", if *refresh { "auto refresh" } else { "baseline" });
            let run = bench(Some(load), flags, "seekrandom");
            [*metric, Metric::MbPerSecond].map(|metric| row(label.clone(), PICTURE, metric, run.clone()))
        })
    });
    Table {
        source: "S1",
        title: "Iterators with auto refresh, database in memory (RocksDB pull request 13354)",
        note: "Everything stays in one memtable and its WAL until the first reading command opens the database and turns \
               it into one table. The document shows its figures as a picture.",
        means: true,
        rows: rows.collect(),
    }
}

/// The load of the pull requests 4449 and 4493: small files, for many levels.
const SMALL_FILES: &str = "--write_buffer_size=1048576 --compression_type=lz4 --target_file_size_base=1048576 \
                           --max_bytes_for_level_base=4194304 --value_size=112 --key_size=16 --block_size=4096 \
                           --level_compaction_dynamic_level_bytes=true --bloom_bits=8";

fn tombstone_reads(sizes: &Sizes) -> Table {
    let keys = sizes.keys(5_000_000, 0.1);
    let load = setup(
        "5k-rts",
        format!(
            "--benchmarks=filluniquerandom --num={keys} {SMALL_FILES} --max_background_jobs=12 \
             --benchmark_write_rate_limit=20971520 --range_tombstone_width=100 --writes_per_range_tombstone=100 \
             --max_num_range_tombstones={}",
            keys / 100
        ),
    );
    let flags = format!(
        "--benchmarks=readrandom --disable_auto_compactions=true --num={keys} --reads={} --threads=32 --value_size=112",
        sizes.keys(100_000, 0.1)
    );
    let published = [
        ("before the change", ["4.544", "220090", "16.9"]),
        ("with it, first figure", ["11.147", "89707", "6.9"]),
        ("with it, allocations removed", ["4.917", "203382", "15.7"]),
        ("with cached fragments (4493)", ["0.983", "1017076", "78.3"]),
    ];
    let metrics = [Metric::MicrosPerOp, Metric::OpsPerSecond, Metric::MbPerSecond];
    Table {
        source: "S2",
        title: "Readrandom over range tombstones (RocksDB pull requests 4449 and 4493)",
        note: "One database and one command; the document's four rows are four states of RocksDB's code. A tenth of \
               the keys, tombstones and reads at scale 1. The load keeps to 20 MB/s, as the document's does.",
        means: false,
        rows: published
            .iter()
            .flat_map(|(label, figures)| {
                let run = bench(Some(&load), flags.clone(), "readrandom");
                let cells = metrics.into_iter().zip(figures);
                cells
                    .map(|(metric, figure)| row(*label, *figure, metric, run.clone()))
                    .collect::<Vec<_>>()
            })
            .collect(),
    }
}

/// Microseconds per operation and operations per second, means and standard deviations.
type MeansAndDeviations = [&'static str; 2];

/// The figures without range tombstones.
const NO_TOMBSTONES: MeansAndDeviations = ["0.6186 ± 0.04637", "1625252.90 ± 124679.41"];

/// For each number of tombstones, the figures of an expanded DELETERANGE and of one that stays a range
/// tombstone.
const TOMBSTONE_KINDS: [(&str, u64, [MeansAndDeviations; 2]); 6] = [
    (
        "500",
        500,
        [
            ["0.6019 ± 0.03628", "1666670.40 ± 101142.65"],
            ["0.6435 ± 0.03994", "1559979.40 ± 104090.52"],
        ],
    ),
    (
        "1k",
        1_000,
        [
            ["0.6034 ± 0.04349", "1665128.10 ± 125144.57"],
            ["0.6261 ± 0.03093", "1600457.50 ± 79024.94"],
        ],
    ),
    (
        "5k",
        5_000,
        [
            ["0.6163 ± 0.05926", "1636668.80 ± 154888.85"],
            ["0.6402 ± 0.04002", "1567804.70 ± 100965.55"],
        ],
    ),
    (
        "10k",
        10_000,
        [
            ["0.6036 ± 0.05105", "1667237.70 ± 142830.36"],
            ["0.6128 ± 0.02598", "1634633.40 ± 72161.82"],
        ],
    ),
    (
        "25k",
        25_000,
        [
            ["0.6198 ± 0.04542", "1620980.50 ± 116662.93"],
            ["0.5478 ± 0.0362", "1833059.10 ± 121233.81"],
        ],
    ),
    (
        "50k",
        50_000,
        [
            ["0.5104 ± 0.04347", "1973107.90 ± 184073.49"],
            ["0.4528 ± 0.03387", "2219034.50 ± 170984.32"],
        ],
    ),
];

fn tombstone_kinds(sizes: &Sizes) -> Table {
    let both = |label: &str, figures: MeansAndDeviations, run: &RunMethod| {
        let metrics = [Metric::MicrosPerOp, Metric::OpsPerSecond]
            .into_iter()
            .zip(figures);
        metrics
            .map(|(metric, figure)| row(label, figure, metric, run.clone()))
            .collect::<Vec<_>>()
    };
    let keys = sizes.keys(5_000_000, 0.04);
    let before = keys / 10 * 9;
    let flags = format!(
        "--benchmarks=readwhilewriting --num={keys} --threads=32 --duration={} --value_size=112 \
         --benchmark_write_rate_limit=1048576",
        sizes.seconds(1)
    );
    let run = |name: String, more: String| {
        let load = setup(
            &name,
            format!("--benchmarks=fillrandom --num={keys} {SMALL_FILES}{more}"),
        );
        bench(Some(&load), flags.clone(), "readwhilewriting")
    };
    let mut rows = both("none", NO_TOMBSTONES, &run("rts-none".to_owned(), String::new()));
    for (name, count, figures) in TOMBSTONE_KINDS {
        for (expanded, figure) in [true, false].into_iter().zip(figures) {
            // The number of tombstones per key is the document's.
            let count = sizes.keys(count, 0.04);
            let more = format!(
                " --writes_before_delete_range={before} --writes_per_range_tombstone={} --max_num_range_tombstones={count} \
                 --range_tombstone_width=100 --expand_range_tombstones={expanded}",
                ((keys - before) / count).max(1)
            );
            let kind = if expanded { "expanded" } else { "unexpanded" };
            let run = run(format!("rts-{name}-{kind}"), more);
            rows.extend(both(&format!("{name} {kind}"), figure, &run));
        }
    }
    Table {
        source: "S2",
        title: "Readwhilewriting over no, expanded and unexpanded range tombstones (RocksDB pull request 4493)",
        note: "The document gives no commands: 5 million puts, deletions at regular intervals after 4.5 million. At scale \
               1 it is a twenty-fifth of keys and tombstones, so that each tombstone has as many keys as there; 32 \
               readers beside a writer of 1 MB/s.",
        means: true,
        rows,
    }
}

fn checksums(_: &Sizes) -> Table {
    const PUBLISHED: [(&str, &str); 6] = [
        ("crc32c", "19327"),
        ("xxhash", "5036"),
        ("xxhash64", "9796"),
        ("xxh3", "26805"),
        ("compress", "661"),
        ("uncompress", "5201"),
    ];
    Table {
        source: "S3",
        title: "Checksums and compression, MB/s (clang vs crc32c in RocksDB)",
        note: "The document's row of gcc. Compression is db_bench's default, Snappy.",
        means: false,
        rows: PUBLISHED
            .iter()
            .map(|(workload, figure)| {
                let flags = format!("--benchmarks={workload} --num=1000");
                row(
                    *workload,
                    *figure,
                    Metric::MbPerSecond,
                    bench(None, flags, workload),
                )
            })
            .collect(),
    }
}

/// These options give small memtables and levels, so that a few hundred thousand keys reach the third level.
const SMALL_LEVELS: &str =
    "--write_buffer_size=1048576 --target_file_size_base=1048576 --max_bytes_for_level_base=4194304";

fn pinned_l0(sizes: &Sizes) -> Table {
    let keys = sizes.keys(5_000_000, 0.1);
    let load = setup(
        "pinned-l0",
        format!("--benchmarks=fillrandom --num={keys} {SMALL_FILES}"),
    );
    let rows = [(false, "1"), (true, "5% more")].into_iter().map(|(pinned, figure)| {
        let flags = format!(
            "--benchmarks=readrandom --num={keys} --threads=32 --duration={} {SMALL_FILES} --disable_auto_compactions=true \
             --cache_type=lru_cache --cache_numshardbits=6 --cache_size={} --cache_index_and_filter_blocks=true \
             --pin_l0_filter_and_index_blocks_in_cache={pinned}",
            sizes.seconds(1),
            keys * 200
        );
        row(
            format!("pin_l0_filter_and_index_blocks_in_cache={pinned}"),
            figure,
            Metric::OpsPerSecond,
            bench(Some(&load), flags, "readrandom"),
        )
    });
    Table {
        source: "S3",
        title: "Readrandom with filters and indexes of L0 pinned in the cache (LRU)",
        note: "The document's one figure is that 32 threads with uniform keys read 5% more when they are pinned. The cache holds all \
               of the database, as what differs is how often its shards are locked.",
        means: false,
        rows: rows.collect(),
    }
}

fn trivial_move(sizes: &Sizes) -> Table {
    let keys = sizes.keys(10_000_000, 0.05);
    let rows = [(true, false), (false, false), (true, true), (false, true)]
        .iter()
        .map(|(dynamic, compressed)| {
            let compression = if *compressed {
                "--min_level_to_compress=2 --compression_type=lz4"
            } else {
                "--compression_type=none"
            };
            let flags = format!(
                "--benchmarks=fillseq,waitforcompaction,stats --num={keys} {SMALL_LEVELS} {compression} \
                 --level_compaction_dynamic_level_bytes={dynamic}"
            );
            row(
                format!(
                    "dynamic level {}, compression {}",
                    if *dynamic { "enabled" } else { "disabled" },
                    if *compressed { "enabled" } else { "disabled" }
                ),
                if *compressed { "above 1" } else { "1" },
                Metric::WriteAmplification,
                bench(None, flags, "fillseq"),
            )
        })
        .collect();
    Table {
        source: "S3",
        title: "Where trivial moves work: write amplification (Examples of the RocksDB trivial move optimization)",
        note: "The document tells which levels are written and which moved into; without compression none but L0 is \
               written, which is a write amplification of 1.",
        means: false,
        rows,
    }
}

fn streams(sizes: &Sizes) -> Table {
    const PUBLISHED: [(u64, [&str; 2]); 7] = [
        (1, ["1", "INF"]),
        (2, ["4.0", "0.779"]),
        (4, ["5.3", "0.276"]),
        (8, ["5.8", "0.097"]),
        (16, ["6.6", "0.066"]),
        (32, ["6.7", "0.023"]),
        (64, ["6.7", "0.016"]),
    ];
    let keys = sizes.keys(100_000_000, 0.005);
    let engines = |benchmark| RunMethod::Engines {
        benchmark,
        num: keys,
        write_buffer_size: 1 << 20,
    };
    let metric = Metric::WriteAmplification;
    let mut rows = vec![
        row("1 ascending", "1", metric, engines(Workload::FillSeq)),
        row("1 descending", "1", metric, engines(Workload::FillSeqDesc)),
    ];
    for (count, figures) in PUBLISHED {
        let flags = format!(
            "--benchmarks=fillseq,waitforcompaction,stats --num={keys} {SMALL_LEVELS} --compression_type=none \
             --prefix_size=8 --keys_per_prefix={}",
            keys / count
        );
        let run = bench(None, flags, "fillseq");
        for (metric, figure) in [metric, Metric::MoveRatio].into_iter().zip(figures) {
            rows.push(row(
                format!("{count} ascending, concurrent"),
                figure,
                metric,
                run.clone(),
            ));
        }
    }
    rows.push(row(
        "2 ascending, one after the other",
        "1",
        metric,
        engines(Workload::FillStreamsInTurn(2)),
    ));
    rows.push(row(
        "3 ascending, one after the other",
        "1",
        metric,
        engines(Workload::FillStreamsInTurn(3)),
    ));
    Table {
        source: "S3",
        title: "Trivial move with N insert streams (RocksDB internals: trivial move and benchmarks)",
        note: "Concurrent streams are made by --keys_per_prefix and --prefix_size, as there. The others needed a patched \
               db_bench and are run through the library, beside RocksDB as bench-compare tunes it. A two-hundredth of the keys at \
               scale 1, and levels as much smaller. move-ratio is bytes moved for a byte that compactions wrote, off the events in LOG: \
               a flush that puts its file where it belongs (`streams_bypass_level0`) needs no move, and without a move or a write there \
               is no ratio.",
        means: false,
        rows,
    }
}
