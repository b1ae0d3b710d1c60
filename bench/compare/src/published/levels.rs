//! L0 to L2 with compression or without.

use super::table::{Metric, RunMethod, Sizes, Table, bench, row, setup};

/// The compression by level of the document's table: none for L0 to L2, LZ4 from L3 on.
fn run(sizes: &Sizes, workload: &'static str, compressed: bool) -> RunMethod {
    let keys = sizes.keys(4_000_000, 0.1);
    let shape = "--compression_type=lz4 --compression_ratio=0.5 --value_size=400 --key_size=20 --write_buffer_size=1048576 \
                 --target_file_size_base=1048576 --max_bytes_for_level_base=2097152 --max_bytes_for_level_multiplier=4 \
                 --num_levels=8";
    let level = if compressed { 0 } else { 3 };
    let rate = if workload == "readwhilewriting" {
        format!(
            " --benchmark_write_rate_limit=10485760 --duration={}",
            sizes.seconds(3)
        )
    } else {
        format!(" --duration={}", sizes.seconds(3))
    };
    let load = setup(
        &format!("levels-{workload}-{level}"),
        format!("--benchmarks=fillseq --num={keys} {shape} --min_level_to_compress={level}"),
    );
    let flags = format!(
        "--benchmarks={workload},waitforcompaction,stats --num={keys} {shape} --min_level_to_compress={level}{rate}"
    );
    bench(Some(&load), flags, workload)
}

/// The cost of writes and compactions.
pub fn costs(sizes: &Sizes) -> Table {
    // Each row has the workload, whether L0 to L2 are compressed, and the columns of the document's two
    // tables, with gigabytes as MB.
    const PUBLISHED: [(&str, bool, [&str; 9]); 4] = [
        (
            "readwhilewriting",
            false,
            [
                "220555", "18483", "18237", "320512", "18.3", "2867", "2798", "NA", "0",
            ],
        ),
        (
            "readwhilewriting",
            true,
            [
                "224320", "18483", "10076", "250880", "14.1", "2737", "2693", "NA", "0",
            ],
        ),
        (
            "overwrite",
            false,
            [
                "117383", "171264", "173486", "2690048", "16.7", "17084", "16464", "0.140", "49.7",
            ],
        ),
        (
            "overwrite",
            true,
            [
                "89177", "130120", "72827", "1521664", "12.3", "14554", "14209", "0.159", "62.9",
            ],
        ),
    ];
    let metrics = |workload: &str| {
        let writes = match workload {
            "overwrite" => Metric::OpsPerSecond,
            _ => Metric::WritesPerSecond,
        };
        [
            writes,
            Metric::MegabytesIngested,
            Metric::MegabytesFlushed,
            Metric::MegabytesCompacted,
            Metric::WriteAmplification,
            Metric::CompactionSeconds,
            Metric::CompactionCpuSeconds,
            Metric::CompactionCpuPerWrite,
            Metric::StallPercent,
        ]
    };
    let mut rows = Vec::new();
    for (workload, compressed, figures) in PUBLISHED {
        for (metric, figure) in metrics(workload).into_iter().zip(figures) {
            rows.push(row(
                format!("{workload}, L0-L2 {}", if compressed { "lz4" } else { "none" }),
                figure,
                metric,
                run(sizes, workload, compressed),
            ));
        }
    }
    Table {
        source: "S3",
        title: "L0 to L2 compressed or not (To compress or not compress)",
        note: "The document's commands are not in its text: levels from L3 on use LZ4, the data shrinks to half, the \
               writer of readwhilewriting keeps to 10 MB/s and the overwrite to nothing. Memtables and levels are small, so that \
               there are enough levels at this size. Bytes and times are those of a run of seconds, the document's of half an hour and more: \
               what compares is what they cost a write. Stalled is a share of the time that was written. The overwrite \
               waits for the disk: a flush of a MiB takes 4 to 5 ms, nearly all of them the sync of its file, its directory and \
               the MANIFEST, of both engines, and with two memtables the next MiB waits for it. In memory (`/dev/shm`) Esker \
               overwrites at 2.2 times RocksDB's speed.",
        means: false,
        rows,
    }
}

/// The time of a job, by level.
pub fn jobs(sizes: &Sizes) -> Table {
    /// A level of a published table: its number, its figure without compression and its figure with
    /// compression.
    type Level = (u8, &'static str, &'static str);
    const PUBLISHED: [(&str, [Level; 7]); 2] = [
        (
            "readwhilewriting",
            [
                (0, "0.05", "0.08"),
                (2, "0.53", "1.03"),
                (3, "0.17", "0.47"),
                (4, "0.86", "0.92"),
                (5, "0.86", "0.88"),
                (6, "0.87", "0.88"),
                (7, "0.58", "0.55"),
            ],
        ),
        (
            "overwrite",
            [
                (0, "0.11", "0.18"),
                (2, "13.38", "28.86"),
                (3, "0.14", "0.42"),
                (4, "0.31", "0.44"),
                (5, "0.37", "0.40"),
                (6, "0.59", "0.58"),
                (7, "0.77", "0.79"),
            ],
        ),
    ];
    let mut rows = Vec::new();
    for (workload, levels) in PUBLISHED {
        for (level, none, lz4) in levels {
            for (compressed, figure) in [(false, none), (true, lz4)] {
                rows.push(row(
                    format!(
                        "{workload}, L{level}, {}",
                        if compressed { "lz4" } else { "none" }
                    ),
                    figure,
                    Metric::SecondsPerJob(level),
                    run(sizes, workload, compressed),
                ));
            }
        }
    }
    Table {
        source: "S3",
        title: "Seconds for a flush or compaction job, by level (To compress or not compress)",
        note: "The runs of the table before. RocksDB's figure is the column Avg(sec) of its compaction statistics. A level \
               no job wrote to has no figure.",
        means: false,
        rows,
    }
}
