//! The same operations over Esker and RocksDB, interleaved in one process: A B, B A, A B ...
//!
//! Each round runs every workload over both engines, back to back, in turns who goes first. What is reported is the ratio of
//! the two times of a round, its median over all rounds and its least and greatest: above 1 Esker is the faster one. Found
//! rows must be equal, or the run fails.

mod engine;
mod workload;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Parser;
use engine::{Engine, Esker, RocksDb, Settings};
use workload::{Data, Done};

/// Compares Esker with RocksDB.
#[derive(Parser)]
struct Args {
    /// Keys.
    #[arg(long, default_value_t = 1_000_000)]
    num: u64,
    /// Point reads a round.
    #[arg(long, default_value_t = 500_000)]
    reads: u64,
    /// Bytes of a value.
    #[arg(long, default_value_t = 100)]
    value_size: usize,
    /// Rounds.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Bytes of block cache.
    #[arg(long, default_value_t = 1 << 30)]
    cache_size: usize,
    /// Bytes of a memtable.
    #[arg(long, default_value_t = 64 << 20)]
    write_buffer_size: usize,
    /// Do not compress.
    #[arg(long)]
    no_compression: bool,
    /// Where the databases go. Default: a temporary directory.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Workloads, separated by commas.
    #[arg(
        long,
        default_value = "fillseq,fillrandom,overwrite,overwriteandwait,readrandom,readseq,readreverse,seekrandom10,seekrandom100"
    )]
    benchmarks: String,
    /// Run one engine alone, `esker` or `rocksdb`: for profilers.
    #[arg(long)]
    only: Option<String>,
}

struct Bench<'a> {
    args: &'a Args,
    settings: Settings,
    data: Data,
    dir: PathBuf,
}

/// Nanoseconds an operation, and rows found.
type Sample = (f64, u64);

impl Bench<'_> {
    fn fresh(&self, name: &str) -> PathBuf {
        let dir = self.dir.join(name);
        if dir.exists() {
            std::fs::remove_dir_all(&dir).expect("remove an old database");
        }
        std::fs::create_dir_all(&dir).expect("create a directory");
        dir
    }

    fn time(run: impl FnOnce() -> Done) -> Sample {
        let start = Instant::now();
        let done = run();
        (
            start.elapsed().as_nanos() as f64 / done.operations as f64,
            done.found,
        )
    }

    fn run<E: Engine>(&self, benchmark: &str, loaded: Option<&E>, round: usize) -> Sample {
        let seed = 1000 + round as u64;
        let data = &self.data;
        let reads = self.args.reads;
        match (benchmark, loaded) {
            ("fillseq", _) => {
                let db = E::open(&self.fresh(&format!("{}-fill", E::NAME)), &self.settings);
                Self::time(|| workload::fill_sequential(&db, data))
            }
            ("fillrandom", _) => {
                let db = E::open(&self.fresh(&format!("{}-fill", E::NAME)), &self.settings);
                Self::time(|| workload::fill_random(&db, data, seed))
            }
            ("overwrite" | "overwriteandwait", _) => {
                let wait = benchmark == "overwriteandwait";
                let dir = self.fresh(&format!("{}-fill", E::NAME));
                let db = E::open(&dir, &self.settings);
                workload::fill_unique_random(&db, data);
                db.settle();
                Self::time(|| {
                    let mut done = Done {
                        operations: 0,
                        found: 0,
                    };
                    for pass in 0..2 {
                        done.operations += workload::fill_random(&db, data, seed + pass).operations;
                    }
                    if wait {
                        db.settle();
                    }
                    done
                })
            }
            ("readrandom", Some(db)) => Self::time(|| workload::read_random(db, data, reads, seed)),
            ("readseq", Some(db)) => Self::time(|| workload::read_sequential(db, false)),
            ("readreverse", Some(db)) => Self::time(|| workload::read_sequential(db, true)),
            ("seekrandom10", Some(db)) => Self::time(|| workload::seek_random(db, data, reads / 5, 10, seed)),
            ("seekrandom100", Some(db)) => {
                Self::time(|| workload::seek_random(db, data, reads / 20, 100, seed))
            }
            _ => panic!("unknown benchmark {benchmark}"),
        }
    }

    fn load<E: Engine>(&self) -> E {
        let db = E::open(&self.fresh(&format!("{}-read", E::NAME)), &self.settings);
        workload::fill_unique_random(&db, &self.data);
        db.flush();
        db.compact();
        db.settle();
        // Everything into the cache.
        workload::read_sequential(&db, false);
        db
    }
}

fn is_read(benchmark: &str) -> bool {
    benchmark.starts_with("read") || benchmark.starts_with("seek")
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    if samples.len() % 2 == 1 {
        samples[middle]
    } else {
        (samples[middle - 1] + samples[middle]) / 2.0
    }
}

fn only<E: Engine>(bench: &Bench<'_>, benchmarks: &[&str]) {
    let loaded = benchmarks
        .iter()
        .any(|benchmark| is_read(benchmark))
        .then(|| bench.load::<E>());
    for benchmark in benchmarks {
        let mut samples: Vec<f64> = (0..bench.args.rounds)
            .map(|round| bench.run::<E>(benchmark, loaded.as_ref(), round).0)
            .collect();
        println!("{benchmark:18} {:10.1} ns/op", median(&mut samples));
    }
}

fn main() {
    let args = Args::parse();
    let temporary = tempfile::TempDir::new().expect("a temporary directory");
    let dir: &Path = args.dir.as_deref().unwrap_or(temporary.path());
    let settings = Settings {
        cache_size: args.cache_size,
        write_buffer_size: args.write_buffer_size,
        lz4: !args.no_compression,
        bloom_bits: 10.0,
    };
    let bench = Bench {
        args: &args,
        settings,
        data: Data::new(args.num, args.value_size),
        dir: dir.to_path_buf(),
    };
    let benchmarks: Vec<&str> = args.benchmarks.split(',').collect();
    match args.only.as_deref() {
        Some("esker") => return only::<Esker>(&bench, &benchmarks),
        Some("rocksdb") => return only::<RocksDb>(&bench, &benchmarks),
        Some(other) => panic!("--only={other}: esker or rocksdb"),
        None => {}
    }
    let reads = benchmarks.iter().any(|benchmark| is_read(benchmark));
    let loaded = reads.then(|| (bench.load::<Esker>(), bench.load::<RocksDb>()));
    if let Some((esker, rocksdb)) = &loaded {
        println!("esker\n{}rocksdb\n{}", esker.levels(), rocksdb.levels());
    }
    println!(
        "{} keys of 16 bytes, values of {}, {} compression, {} rounds; ratio above 1: esker is faster",
        args.num,
        args.value_size,
        if args.no_compression { "no" } else { "LZ4" },
        args.rounds
    );
    println!(
        "{:18} {:>12} {:>12} {:>8}   least .. greatest",
        "", "esker ns/op", "rocksdb", "ratio"
    );
    for benchmark in benchmarks {
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..args.rounds {
            let esker = || bench.run::<Esker>(benchmark, loaded.as_ref().map(|(esker, _)| esker), round);
            let rocksdb =
                || bench.run::<RocksDb>(benchmark, loaded.as_ref().map(|(_, rocksdb)| rocksdb), round);
            let (a, b) = if round % 2 == 0 {
                let a = esker();
                (a, rocksdb())
            } else {
                let b = rocksdb();
                (esker(), b)
            };
            assert_eq!(a.1, b.1, "{benchmark}: the engines found different rows");
            ours.push(a.0);
            theirs.push(b.0);
            ratios.push(b.0 / a.0);
        }
        let ratio = median(&mut ratios);
        println!(
            "{benchmark:18} {:12.1} {:12.1} {ratio:8.2}   {:.2} .. {:.2}",
            median(&mut ours),
            median(&mut theirs),
            ratios[0],
            ratios[ratios.len() - 1]
        );
    }
}
