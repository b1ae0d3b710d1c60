//! Tables that are read through a memory map, compared with pread.

use super::table::{Metric, PICTURE, Setup, Sizes, Table, bench, row, setup};

/// The rows are cached by the engine.
pub fn cached(sizes: &Sizes) -> Table {
    let keys = sizes.keys(40_000_000, 0.005);
    let common = format!(
        "--num={keys} --key_size=20 --value_size=400 --block_size=8192 --compression_type=none --bloom_bits=10"
    );
    let load = setup("mmap", format!("--benchmarks=fillseq {common}"));
    let mut rows = Vec::new();
    for checked in [true, false] {
        for cached in [true, false] {
            for mapped in [false, true] {
                let name = format!(
                    "{}-ver{}-cm{}",
                    if mapped { "mmap" } else { "pread" },
                    u8::from(checked),
                    u8::from(cached)
                );
                let flags = format!(
                    "--benchmarks=readrandom,seekrandom --seek_nexts=10 --threads=2 --duration={} {common} \
                     --cache_size={} --mmap_read={mapped} --verify_checksum={checked} \
                     --cache_index_and_filter_blocks={cached}",
                    sizes.seconds(1),
                    keys * 1_000
                );
                for workload in ["readrandom", "seekrandom"] {
                    rows.push(row(
                        format!("{name}, {workload}"),
                        PICTURE,
                        Metric::OpsPerSecond,
                        bench(Some(&load), flags.clone(), workload),
                    ));
                }
            }
        }
    }
    Table {
        source: "S3",
        title: "mmap against pread, cached by the engine (Using mmap with RocksDB)",
        note: "The document shows a graph; it names the configurations, and finds mmap ahead only where index and filter \
               blocks are outside the cache (cm0). Two threads instead of 32.",
        means: false,
        rows,
    }
}

/// The rows are read from the disk.
pub fn io_bound(sizes: &Sizes) -> Table {
    let keys = sizes.keys(4_000_000_000, 0.001);
    let common = format!(
        "--num={keys} --key_size=20 --value_size=400 --block_size=8192 --compression_type=none --bloom_bits=10"
    );
    let load = Setup {
        cold: true,
        ..setup("mmap-io", format!("--benchmarks=fillseq {common}"))
    };
    let workloads = [
        ("readrandom", "readrandom", ""),
        ("multireadrandom", "multireadrandom", " --batch_size=10"),
        ("fwdrange", "seekrandom", " --seek_nexts=10"),
        (
            "revrange",
            "seekrandom",
            " --seek_nexts=10 --reverse_iterator=true",
        ),
    ];
    let mut rows = Vec::new();
    for (name, workload, more) in workloads {
        for mapped in [false, true] {
            let flags = format!(
                "--benchmarks={workload} --threads=4 --duration={} {common} --cache_size={} --mmap_read={mapped} \
                 --verify_checksum=true --cache_index_and_filter_blocks=true{more}",
                sizes.seconds(1),
                keys * 8
            );
            let kind = if mapped { "mmap" } else { "pread" };
            let run = bench(Some(&load), flags, workload);
            for metric in [Metric::OpsPerSecond, Metric::KilobytesReadPerOp] {
                rows.push(row(
                    format!("{kind}-ver1-cm1, {name}"),
                    PICTURE,
                    metric,
                    run.clone(),
                ));
            }
        }
    }
    Table {
        source: "S3",
        title: "mmap against pread, IO-bound (Using mmap with RocksDB)",
        note: "The document's database was larger than memory, and its graph shows mmap far behind, having fetched some hundred times \
               as much for a query (RocksDB's issue 9931). Here each run begins with nothing of the database in the page cache and ends \
               before much of it is there; KB are those read from the disk. Keys are a thousandth of the document's at scale 1, four \
               threads instead of 32, no writer beside them.",
        means: false,
        rows,
    }
}
