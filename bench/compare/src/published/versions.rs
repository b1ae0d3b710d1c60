//! Versions of keys and their collection.

use std::time::Duration;

use super::table::{Metric, Row, RunMethod, Sizes, Table, row};
use crate::collect::Case;
use crate::versions::collection::Collection;
use crate::versions::ycsb;
use crate::versions::{self, Operation, ROWS};

/// Operations on versions of keys.
pub fn operations() -> Table {
    let operations = [
        (Operation::Get, "get"),
        (Operation::Scan, "scan of 100 keys"),
        (Operation::Put, "put, if none is later"),
        (Operation::PutBlind, "put"),
    ];
    let rows = operations.into_iter().flat_map(|(operation, label)| {
        [1, 10, 100].map(|versions| {
            let run = RunMethod::Versions(versions::Case { operation, versions });
            let label = format!("{label}, {versions} versions a key");
            row(label, "-", Metric::MicrosPerCall, run)
        })
    });
    Table {
        source: "S4",
        title: "Versions of keys, compared with RocksDB's user-defined timestamps",
        note: "Not in the document. Microseconds of an operation over 100,000 versions in memory, compacted into one level. RocksDB has no put that looks \
               for later versions: its rows of both are the same.",
        means: false,
        rows: rows.collect(),
    }
}

/// The number of versions, and the number of those that are removed.
const COLLECTED: [(usize, usize); 7] = [
    (2, 1),
    (1024, 1),
    (1024, 16),
    (1024, 32),
    (1024, 512),
    (1024, 1015),
    (1024, 1023),
];

/// Collections by compactions.
pub fn collection_by_compactions() -> Table {
    let of_document = [1, 1024].into_iter().flat_map(|keys| {
        COLLECTED.map(|(versions, delete)| Collection {
            keys,
            versions,
            delete,
            key_size: 128,
            value_size: 128,
        })
    });
    let small = [10, 100].map(|versions| Collection {
        keys: ROWS / versions,
        versions,
        delete: versions - 1,
        key_size: 15,
        value_size: 64,
    });
    let rows = of_document.chain(small).map(|case| {
        let label = format!(
            "{} keys, {} versions, {} go",
            case.keys, case.versions, case.delete
        );
        row(label, "-", Metric::MicrosPerCall, RunMethod::Collection(case))
    });
    Table {
        source: "S4",
        title: "Garbage collection by compactions, compared with RocksDB's user-defined timestamps",
        note: "The document's rows once more, and two with small keys, by what RocksDB has for it: `full_history_ts_low` is raised and everything \
               compacted. Ours raises its threshold, weighs what has become garbage so that statistics stay exact, and compacts everything, too (by \
               itself it would leave files alone that have less than a quarter of garbage). All versions lie in one level in memory; \
               microseconds until those that go are in no file. The document's own calls, which delete versions one by one, are in the table \
               above.",
        means: false,
        rows: rows.collect(),
    }
}

/// YCSB during a collection.
pub fn ycsb(sizes: &Sizes) -> Table {
    let workloads = [
        (ycsb::Workload::A, "A, half reads, half updates"),
        (ycsb::Workload::B, "B, 5% updates"),
        (ycsb::Workload::C, "C, reads"),
        (ycsb::Workload::D, "D, reads of the latest, 5% inserts"),
        (ycsb::Workload::E, "E, scans of up to 100 keys, 5% inserts"),
        (ycsb::Workload::F, "F, half reads, half read and written again"),
    ];
    let rows = workloads.into_iter().flat_map(|(workload, label)| {
        let case = ycsb::Case {
            workload,
            keys: sizes.keys(200_000, 1.0) as usize,
            time: Duration::from_secs(sizes.seconds(6)),
        };
        [Metric::OpsPerSecond, Metric::TableMegabytes]
            .map(|metric| row(label, "-", metric, RunMethod::Ycsb(case)))
    });
    Table {
        source: "S4",
        title: "YCSB while old versions are collected, compared with RocksDB's user-defined timestamps",
        note: "Not in the document. Two threads; every write is a new version, and what is older than half a second is collected all the while, with a quarter of a \
               second between two collections, by compactions on both sides as in the table above, here with Esker's default of a quarter. 200,000 keys and values \
               of 100 bytes at scale 1, in files, LZ4, a WAL that is not synced. RocksDB compacts everything for each collection: what lies at the \
               bottom would stay otherwise. MB of tables are the most that a collection began with.",
        means: false,
        rows: rows.collect(),
    }
}

/// The document's calls.
pub fn collection() -> Table {
    // The document's times of Pebble for one key and for 1024 keys, each before and after the change that it
    // describes.
    const PUBLISHED: [[[&str; 2]; 2]; 7] = [
        [["2.09", "2.42"], ["1930", "1700"]],
        [["140", "5"], ["390000", "7000"]],
        [["142", "9"], ["394000", "20000"]],
        [["144", "14"], ["391000", "38000"]],
        [["216", "156"], ["782000", "394000"]],
        [["290", "303"], ["1590000", "800000"]],
        [["294", "304"], ["1580000", "800000"]],
    ];
    let mut rows = Vec::new();
    for (at, keys) in [1, 1024].into_iter().enumerate() {
        for statistics in [false, true] {
            for ((versions, delete), published) in COLLECTED.into_iter().zip(PUBLISHED) {
                let label = if statistics { ", with statistics" } else { "" };
                let label = format!("{keys} keys, {versions} versions, {delete} go{label}");
                let run = || {
                    RunMethod::Collect(Case {
                        keys,
                        versions,
                        delete,
                        statistics,
                    })
                };
                let [before, after] = published[at];
                rows.push(Row {
                    before: (!statistics).then_some(before),
                    ..row(
                        label.clone(),
                        if statistics { "-" } else { after },
                        Metric::MicrosPerCall,
                        run(),
                    )
                });
                rows.push(row(label, "-", Metric::InstructionsPerCall, run()));
            }
        }
    }
    Table {
        source: "S4",
        title: "Garbage collection of versions (CockroachDB pull request 51462)",
        note: "Microseconds of a call that collects from the memtable into a batch and drops it, and instructions, the mean of ten calls; the \
               document's are Pebble's, after its change and before. \
               The document's RocksDB walked through the versions that stay (337 microseconds for 1 of 1024, 374,000 for 1024 such keys); ours \
               here seeks past them, and keeps no statistics.",
        means: false,
        rows,
    }
}
