//! The workloads, by RocksDB's names.

mod backup;
mod codec;
mod ingest;
pub mod meta;
mod missing;
mod mixed;
pub mod mixgraph;
mod raw;
mod read;
mod replay;
mod scan;
pub mod streams;
pub mod timeseries;
pub mod transaction;
pub mod write;

use base::Result;

use crate::bench::Bench;
use crate::params::Params;
use crate::runner::Thread;
use flags::suggest;

/// The work of a workload on each of its threads.
pub type ThreadBody = fn(&Params<'_>, &mut Thread<'_>) -> Result<()>;

/// The way in which a workload runs.
#[derive(Clone, Copy)]
pub enum RunMode {
    /// The workload runs on threads, is timed, and prints a line of its own.
    Threads(ThreadBody),
    /// The workload runs once and prints no line.
    Alone(fn(&mut Bench) -> Result<()>),
}

/// The number of threads.
#[derive(Clone, Copy)]
pub enum Threads {
    /// The workload runs with `--threads` threads.
    AsAsked,
    /// One thread runs the workload, whatever `--threads` is.
    One,
    /// The workload runs with `--threads` threads, and one more, started before them, that runs this body.
    Beside(ThreadBody),
}

/// A workload.
pub struct Workload {
    /// The name, which is RocksDB's.
    pub name: &'static str,
    /// The help text.
    pub help: &'static str,
    /// True if the workload begins with an empty database.
    pub fresh: bool,
    /// The number of threads.
    pub threads: Threads,
    /// Changes the parameters.
    pub adjust: fn(&mut Params<'_>),
    /// Prepares the workload before its threads start, and refuses parameters.
    pub prepare: fn(&mut Params<'_>) -> Result<()>,
    /// The number of operations of a thread, for the progress bar.
    pub expected: fn(&Params<'_>) -> i64,
    /// The way in which the workload runs.
    pub run: RunMode,
    /// The part of a result line that covers all threads.
    pub message: Option<fn(&Params<'_>) -> String>,
    /// The action after the workload.
    pub after: Option<fn(&mut Bench) -> Result<()>>,
    /// True if the workload writes keys in their order, or in streams.
    pub sequential: bool,
}

impl Workload {
    const fn new(name: &'static str, help: &'static str, run: RunMode) -> Workload {
        Workload {
            name,
            help,
            fresh: false,
            threads: Threads::AsAsked,
            adjust: |_| {},
            prepare: |_| Ok(()),
            expected: |_| 0,
            run,
            message: None,
            after: None,
            sequential: false,
        }
    }

    const fn writing(name: &'static str, help: &'static str, body: ThreadBody) -> Workload {
        Workload {
            expected: |params| params.writes,
            ..Workload::new(name, help, RunMode::Threads(body))
        }
    }

    const fn reading(name: &'static str, help: &'static str, body: ThreadBody) -> Workload {
        Workload {
            expected: |params| params.reads,
            ..Workload::new(name, help, RunMode::Threads(body))
        }
    }

    const fn reading_and_writing(name: &'static str, help: &'static str, body: ThreadBody) -> Workload {
        Workload {
            expected: |params| params.readwrites(),
            ..Workload::new(name, help, RunMode::Threads(body))
        }
    }

    const fn deleting(name: &'static str, help: &'static str, body: ThreadBody) -> Workload {
        Workload {
            expected: |params| params.deletes,
            ..Workload::new(name, help, RunMode::Threads(body))
        }
    }

    const fn alone(name: &'static str, help: &'static str, run: fn(&mut Bench) -> Result<()>) -> Workload {
        Workload {
            threads: Threads::One,
            ..Workload::new(name, help, RunMode::Alone(run))
        }
    }

    const fn fresh(mut self) -> Workload {
        self.fresh = true;
        self
    }

    const fn on(mut self, threads: Threads) -> Workload {
        self.threads = threads;
        self
    }

    const fn in_order(mut self) -> Workload {
        self.sequential = true;
        self
    }

    const fn then(mut self, after: fn(&mut Bench) -> Result<()>) -> Workload {
        self.after = Some(after);
        self
    }

    const fn saying(mut self, message: fn(&Params<'_>) -> String) -> Workload {
        self.message = Some(message);
        self
    }

    const fn prepared(mut self, prepare: fn(&mut Params<'_>) -> Result<()>) -> Workload {
        self.prepare = prepare;
        self
    }

    const fn adjusted(mut self, adjust: fn(&mut Params<'_>)) -> Workload {
        self.adjust = adjust;
        self
    }
}

/// Sets the number of steps after a seek that RocksDB's benchmark.sh uses for its range scans.
fn forward_range(params: &mut Params<'_>) {
    if params.seek_nexts <= 0 {
        params.seek_nexts = 10;
    }
    params.reverse = false;
}

fn backward_range(params: &mut Params<'_>) {
    forward_range(params);
    params.reverse = true;
}

/// Every workload, in the order of the help.
pub const WORKLOADS: &[Workload] = &[
    Workload::writing(
        "fillseq",
        "writes `writes` values in the order of their keys",
        write::sequential,
    )
    .fresh()
    .in_order(),
    Workload::writing("fillbatch", "fillseq in batches of 1,000", write::sequential)
        .fresh()
        .in_order()
        .adjusted(|params| params.batch = 1_000),
    Workload::writing("fillrandom", "writes to random keys of `num`", write::random).fresh(),
    Workload::writing(
        "filluniquerandom",
        "writes every key once, in random order",
        write::unique_random,
    )
    .fresh()
    .on(Threads::One),
    Workload::writing(
        "fillsync",
        "fillrandom to a thousandth of the keys, every write synced",
        write::random,
    )
    .fresh()
    .adjusted(|params| {
        params.num = (params.num / 1_000).max(1);
        params.write.sync = true;
    }),
    Workload::writing(
        "fill100K",
        "fillrandom to a thousandth of the keys with values of 100,000 bytes",
        write::random,
    )
    .fresh()
    .adjusted(|params| {
        params.num = (params.num / 1_000).max(1);
        params.values = params.values.resized(100_000);
    }),
    Workload::writing(
        "overwrite",
        "fillrandom over the database that is there",
        write::random,
    ),
    Workload::writing(
        "overwritesome",
        "overwrite under another name, so that both stand in one output",
        write::random,
    ),
    Workload::writing(
        "overwriteandwait",
        "overwrite, then waitforcompaction",
        write::random,
    )
    .then(meta::wait_for_compaction),
    Workload::reading_and_writing(
        "updaterandom",
        "reads a random key and writes it again",
        write::update,
    ),
    Workload::reading_and_writing(
        "appendrandom",
        "reads a random key and writes it again with more behind it",
        write::append,
    ),
    Workload::reading_and_writing(
        "xorupdaterandom",
        "reads a random key and writes it again with a new value XORed into it",
        write::xor_update,
    ),
    Workload::reading_and_writing(
        "mergerandom",
        "merges into random keys; needs --merge_operator",
        write::merge,
    ),
    Workload::writing(
        "randomreplacekeys",
        "deletes random keys of `numdistinct` and writes their successors",
        mixed::replace_keys,
    )
    .fresh(),
    Workload::new(
        "ingestexternalfile",
        "writes `ingest_external_file_batch_size` files of `num` keys and moves them into the database, `ingest_external_file_num_batches` \
         times",
        RunMode::Threads(ingest::files),
    )
    .on(Threads::One),
    Workload::deleting(
        "deleteseq",
        "deletes keys in their order",
        write::delete_sequential,
    ),
    Workload::deleting("deleterandom", "deletes random keys", write::delete_random),
    Workload::reading("readrandom", "reads random keys", read::random),
    Workload::reading("readrandomsmall", "readrandom of a thousandth", read::random)
        .adjusted(|params| params.reads /= 1_000),
    Workload::reading(
        "readmissing",
        "reads random keys that are not there",
        read::random,
    )
    .adjusted(|params| params.keys.key_size += 1),
    Workload::reading(
        "multireadrandom",
        "reads random keys, `batch_size` at a time",
        read::multi_random,
    ),
    Workload::reading(
        "readrandomentity",
        "reads random keys with their columns",
        read::entities,
    ),
    Workload::reading(
        "multireadentity",
        "readrandomentity, `batch_size` at a time",
        read::multi_entities,
    ),
    Workload::reading(
        "readrandomoperands",
        "reads the merge operands of random keys",
        read::operands,
    ),
    Workload::new(
        "getmergeoperands",
        "merges lists into one key, and looks for a number by Get and by GetMergeOperands; needs --merge_operator=sortlist",
        RunMode::Threads(read::merge_operands),
    )
    .on(Threads::One),
    Workload::reading(
        "readwhilewriting",
        "readrandom beside a thread that overwrites",
        read::random,
    )
    .on(Threads::Beside(write::background)),
    Workload::reading(
        "multireadwhilewriting",
        "multireadrandom beside a thread that overwrites",
        read::multi_random,
    )
    .on(Threads::Beside(write::background)),
    Workload::reading_and_writing(
        "readrandomwriterandom",
        "reads, and a write now and then (`readwritepercent`)",
        read::and_write,
    ),
    Workload::reading(
        "readrandomfast",
        "readrandom with less around each read, keys never written included",
        read::fast,
    ),
    Workload::reading(
        "readwhilemerging",
        "readrandom beside a thread that merges",
        read::random,
    )
    .on(Threads::Beside(write::background_merges)),
    Workload::reading(
        "readwhilescanning",
        "readrandom beside a thread that scans",
        read::random,
    )
    .on(Threads::Beside(scan::background)),
    Workload::reading_and_writing(
        "readrandommergerandom",
        "merges, and a read now and then (`mergereadpercent`)",
        mixed::read_or_merge,
    ),
    Workload::reading_and_writing(
        "randomwithverify",
        "reads, writes and deletions (`readwritepercent`, `deletepercent`) of `numdistinct` keys, verified",
        mixed::with_verify,
    ),
    Workload::writing(
        "timeseries",
        "one thread writes entries of ids at later and later times, the others read all of an id",
        timeseries::run,
    )
    .fresh(),
    Workload::reading(
        "approximatesizerandom",
        "asks for the sizes of `batch_size` random ranges at a time",
        read::approximate_sizes,
    ),
    Workload::reading(
        "approximatememtablestats",
        "asks for the number of entries in memory of random ranges of `batch_size` keys",
        read::approximate_memtable_stats,
    ),
    Workload::reading("readseq", "reads entries in their order", scan::forward),
    Workload::reading("readtocache", "readseq of all keys on one thread", scan::forward)
        .on(Threads::One)
        .adjusted(|params| params.reads = params.num),
    Workload::reading(
        "readtorowcache",
        "reads every key of the database once, in order; needs --use_existing_keys and --row_cache_size",
        read::to_row_cache,
    )
    .prepared(read::require_row_cache)
    .adjusted(|params| params.reads = params.num),
    Workload::reading("readreverse", "reads entries against their order", scan::backward),
    Workload::reading("newiterator", "makes iterators", scan::new_iterator),
    Workload::reading(
        "seekrandom",
        "seeks random keys and steps `seek_nexts` times",
        scan::seek_random,
    ),
    Workload::reading(
        "multiscan",
        "scans `multiscan_size` ranges of `seek_nexts` keys, `multiscan_stride` apart, from a random key on: by MultiScan, or without \
         `use_multiscan` by an iterator",
        scan::multi_scan,
    ),
    Workload::reading(
        "multiscanrandom",
        "scans 1 to 64 ranges of up to 1 MiB at random places, as multiscan does",
        scan::multi_scan_random,
    ),
    Workload::reading(
        "rawread",
        "reads `block_size` bytes at random places of the tables past the page cache, with no engine: what the device can do",
        raw::random,
    ),
    Workload::reading(
        "fwdrange",
        "seekrandom with 10 steps, unless `seek_nexts` says otherwise",
        scan::seek_random,
    )
    .adjusted(forward_range),
    Workload::reading("revrange", "fwdrange backwards", scan::seek_random).adjusted(backward_range),
    Workload::reading(
        "fwdrangewhilewriting",
        "fwdrange beside a thread that overwrites",
        scan::seek_random,
    )
    .adjusted(forward_range)
    .on(Threads::Beside(write::background)),
    Workload::reading(
        "revrangewhilewriting",
        "revrange beside a thread that overwrites",
        scan::seek_random,
    )
    .adjusted(backward_range)
    .on(Threads::Beside(write::background)),
    Workload::reading(
        "fwdrangewhilemerging",
        "fwdrange beside a thread that merges",
        scan::seek_random,
    )
    .adjusted(forward_range)
    .on(Threads::Beside(write::background_merges)),
    Workload::reading(
        "revrangewhilemerging",
        "revrange beside a thread that merges",
        scan::seek_random,
    )
    .adjusted(backward_range)
    .on(Threads::Beside(write::background_merges)),
    Workload::reading(
        "seekrandomwhilemerging",
        "seekrandom beside a thread that merges",
        scan::seek_random,
    )
    .on(Threads::Beside(write::background_merges)),
    Workload::reading(
        "newiteratorwhilewriting",
        "newiterator beside a thread that overwrites",
        scan::new_iterator,
    )
    .on(Threads::Beside(write::background)),
    Workload::writing(
        "fillseekseq",
        "fillseq, then seeks to every key in their order; only the seeks are timed",
        scan::fill_and_seek,
    )
    .adjusted(|params| params.writes = params.num),
    Workload::reading(
        "seekrandomwhilewriting",
        "seekrandom beside a thread that overwrites",
        scan::seek_random,
    )
    .on(Threads::Beside(write::background)),
    Workload::reading(
        "mixgraph",
        "gets, puts and seeks as a social graph has them (`mixgraph_preset`)",
        mixgraph::run,
    )
    .prepared(mixgraph::prepare)
    .saying(mixgraph::message),
    Workload::new(
        "crc32c",
        "CRC-32C of `block_size` bytes, 5,000 MB of them",
        RunMode::Threads(codec::crc32c),
    ),
    Workload::new("xxhash", "xxHash of the same bytes", RunMode::Threads(codec::xxhash)),
    Workload::new("xxhash64", "xxHash64 of the same bytes", RunMode::Threads(codec::xxhash64)),
    Workload::new("xxh3", "XXH3 of the same bytes", RunMode::Threads(codec::xxh3)),
    Workload::new(
        "acquireload",
        "loads an atomic pointer",
        RunMode::Threads(codec::acquire_load),
    ),
    Workload::new(
        "compress",
        "compresses `block_size` bytes, 3 GB of them",
        RunMode::Threads(codec::compress),
    ),
    Workload::new(
        "uncompress",
        "restores 20 GB of them",
        RunMode::Threads(codec::uncompress),
    ),
    Workload::new(
        "compact",
        "compacts the whole database",
        RunMode::Threads(meta::compact),
    )
    .on(Threads::One),
    Workload::new(
        "verifychecksum",
        "reads all of the database and verifies the checksum of each block",
        RunMode::Threads(meta::verify_checksum),
    ),
    Workload::new(
        "verifyfilechecksums",
        "reads all of the database and compares each file with its checksum in the MANIFEST; needs --file_checksum",
        RunMode::Threads(meta::verify_file_checksums),
    ),
    Workload::new(
        "backup",
        "makes a backup in `backup_dir`, which replaces those there",
        RunMode::Threads(backup::create),
    )
    .on(Threads::One)
    .prepared(backup::prepare_backup),
    Workload::new(
        "restore",
        "makes a database in `restore_dir` of the newest backup in `backup_dir`",
        RunMode::Threads(backup::restore),
    )
    .on(Threads::One)
    .prepared(backup::prepare_restore),
    Workload::reading_and_writing(
        "randomtransaction",
        "transactions that add to a key of each of `transaction_sets` sets, whose sums are compared at the end",
        transaction::run,
    )
    .then(transaction::verify),
    Workload::new(
        "replay",
        "runs the queries of the trace in `trace_file`",
        RunMode::Threads(replay::run),
    )
    .prepared(replay::prepare),
    Workload::alone(
        "compactall",
        "compacts all column families, the bottom level only where it must be",
        meta::compact_all,
    ),
    Workload::alone(
        "compact0",
        "compacts L0 into the next level that holds files",
        meta::compact_l0,
    ),
    Workload::alone(
        "compact1",
        "compacts the first level below L0 that holds files into the next",
        meta::compact_l1,
    ),
    Workload::alone("flush", "writes the memtables to tables", meta::flush),
    Workload::alone(
        "waitforcompaction",
        "waits until nothing is left to compact",
        meta::wait_for_compaction,
    ),
    Workload::alone(
        "levelstats",
        "prints files and bytes of each level",
        meta::level_stats,
    ),
    Workload::alone("stats", "prints the engine's statistics", meta::stats),
    Workload::alone(
        "writecost",
        "prints what flushes and compactions have cost: write amplification, stalls, CPU, seconds a job by level",
        meta::write_cost,
    ),
    Workload::alone(
        "resetstats",
        "sets the engine's statistics to 0",
        meta::reset_stats,
    ),
    Workload::alone(
        "stats_history",
        "prints how much the tickers rose in each period of `stats_persist_period_sec`; needs --statistics",
        meta::stats_history,
    ),
    Workload::alone("memstats", "prints sizes of memtables", meta::mem_stats),
    Workload::alone(
        "block_cache_entry_stats",
        "prints the contents of the block cache by role",
        meta::block_cache_entry_stats,
    ),
    Workload::alone("sstables", "prints every table", meta::tables),
];

/// The repetitions of a workload: `[X5-W1]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeat {
    /// The number of runs that count.
    pub times: u32,
    /// The number of warm-up runs before the measured runs.
    pub warm_up: u32,
}

/// Parses `name` or `name[X5-W1]`.
pub fn parse(item: &str) -> Result<(&'static Workload, Repeat), String> {
    let mut repeat = Repeat { times: 1, warm_up: 0 };
    let name = match item.split_once('[') {
        None => item,
        Some((name, rest)) => {
            let arguments = rest
                .strip_suffix(']')
                .ok_or_else(|| format!("{item}: no ] at the end"))?;
            for argument in arguments.split('-').filter(|argument| !argument.is_empty()) {
                let bad = || format!("{item}: {argument} is neither X nor W and a number");
                let (target, number) = match argument.split_at_checked(1).ok_or_else(bad)? {
                    ("X", number) => (&mut repeat.times, number),
                    ("W", number) => (&mut repeat.warm_up, number),
                    _ => return Err(bad()),
                };
                *target = number.parse().map_err(|_| bad())?;
            }
            name
        }
    };
    if let Some(feature) = missing::feature(name) {
        return Err(format!(
            "benchmark '{name}' needs {feature}, which db_bench of Esker does not have"
        ));
    }
    let found = WORKLOADS.iter().find(|workload| workload.name == name);
    found.map(|workload| (workload, repeat)).ok_or_else(|| {
        match suggest::nearest(name, WORKLOADS.iter().map(|workload| workload.name)) {
            Some(nearest) => format!("unknown benchmark '{name}'; did you mean {nearest}?"),
            None => format!("unknown benchmark '{name}'; --help lists them"),
        }
    })
}

/// True if the workload `name` is one of `list`, which has the form of `--benchmarks`.
pub fn in_list(list: &str, name: &str) -> bool {
    let mut workloads = list.split(',').filter_map(|item| parse(item).ok());
    workloads.any(|(workload, _)| workload.name == name)
}

/// The help about workloads.
pub fn help() -> String {
    WORKLOADS
        .iter()
        .map(|workload| format!("  {:<22} {}\n", workload.name, workload.help))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_repetitions() {
        let (workload, repeat) = parse("readrandom[X5-W2]").unwrap();
        assert_eq!(
            (workload.name, repeat),
            ("readrandom", Repeat { times: 5, warm_up: 2 })
        );
        assert_eq!(parse("fillseq").unwrap().1, Repeat { times: 1, warm_up: 0 });
        assert_eq!(
            parse("raedrandom").err().unwrap(),
            "unknown benchmark 'raedrandom'; did you mean readrandom?"
        );
        assert_eq!(
            parse("paint").err().unwrap(),
            "unknown benchmark 'paint'; --help lists them"
        );
        for bad in [
            "readrandom[X",
            "readrandom[Y3]",
            "readrandom[Xx]",
            "readrandom[é]",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_are_told_apart() {
        let here = WORKLOADS.iter().map(|workload| workload.name);
        let mut names: Vec<&str> = here.chain(missing::names()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
