//! The command line, as gflags reads it for RocksDB's db_bench: `--name=value`, `--name value`, `--name`, `--noname`.
//!
//! Each flag is one row of `flags!`: name, type, default, help. Names, defaults and meaning are RocksDB's; numbers also
//! take `k`, `m`, `g` and `t`. What is no flag of ours may be an option of the engine, under the engine's name; what is
//! a flag of RocksDB's with nothing behind it here is accepted at its default, and otherwise refused, or noted where it
//! only tunes how RocksDB does things.

use crate::suggest;

/// A type a flag can have.
pub trait FlagValue: Sized {
    /// True if the flag may stand without a value.
    const IS_BOOL: bool = false;
    /// What the help calls it.
    const TYPE: &'static str;
    /// From the text behind `=`.
    fn parse(text: &str) -> Option<Self>;
    /// To that text.
    fn text(&self) -> String;
}

impl FlagValue for bool {
    const IS_BOOL: bool = true;
    const TYPE: &'static str = "bool";
    fn parse(text: &str) -> Option<bool> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "0" => Some(false),
            _ => None,
        }
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for String {
    const TYPE: &'static str = "text";
    fn parse(text: &str) -> Option<String> {
        Some(text.to_owned())
    }
    fn text(&self) -> String {
        self.clone()
    }
}

impl FlagValue for f64 {
    const TYPE: &'static str = "number";
    fn parse(text: &str) -> Option<f64> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

macro_rules! integer_flags {
    ($($type:ty),+) => { $(
        impl FlagValue for $type {
            const TYPE: &'static str = "integer";
            fn parse(text: &str) -> Option<$type> {
                let (digits, shift) = match text.char_indices().next_back()? {
                    (at, 'k' | 'K') => (&text[..at], 10),
                    (at, 'm' | 'M') => (&text[..at], 20),
                    (at, 'g' | 'G') => (&text[..at], 30),
                    (at, 't' | 'T') => (&text[..at], 40),
                    _ => (text, 0),
                };
                let number: i128 = digits.parse().ok()?;
                <$type>::try_from(number.checked_mul(1 << shift)?).ok()
            }
            fn text(&self) -> String {
                self.to_string()
            }
        }
    )+ };
}
integer_flags!(i32, u32, i64, u64);

/// One flag: what the help prints and how it is set.
pub struct Flag {
    /// Without dashes.
    pub name: &'static str,
    /// What kind of value it takes.
    pub type_name: &'static str,
    /// True if it may stand without a value.
    pub is_bool: bool,
    /// Its value when it is not given.
    pub default: fn() -> String,
    /// What it does.
    pub help: &'static str,
    set: fn(&mut Flags, &str) -> Option<()>,
}

macro_rules! flags {
    ($( $(#[doc = $help:literal])+ $name:ident: $type:ty = $default:expr; )+) => {
        /// The values of all flags.
        #[derive(Clone, Debug)]
        pub struct Flags {
            $( $(#[doc = $help])+ pub $name: $type, )+
            /// Flags that are options of the engine, in the order given.
            pub engine: Vec<(String, String)>,
            /// Flags that only tune RocksDB, given with another value than its default.
            pub ignored: Vec<String>,
        }

        impl Default for Flags {
            fn default() -> Flags {
                Flags { $( $name: $default, )+ engine: Vec::new(), ignored: Vec::new() }
            }
        }

        /// Every flag, in the order of the help.
        pub const FLAGS: &[Flag] = &[ $( Flag {
            name: stringify!($name),
            type_name: <$type as FlagValue>::TYPE,
            is_bool: <$type as FlagValue>::IS_BOOL,
            default: || {
                let default: $type = $default;
                default.text()
            },
            help: concat!($($help),+),
            set: |flags, text| {
                flags.$name = FlagValue::parse(text)?;
                Some(())
            },
        }, )+ ];
    };
}

flags! {
    /// Workloads to run, in this order, separated by commas. `name[X3-W1]` runs one three times after one warm-up.
    benchmarks: String = String::new();
    /// Directory of the database. Empty: one of its own, removed at the end.
    db: String = String::new();
    /// Opens the database that is there instead of beginning with an empty one.
    use_existing_db: bool = false;
    /// Keys in the database.
    num: i64 = 1_000_000;
    /// Reads each thread does; negative: as many as `num`.
    reads: i64 = -1;
    /// Writes each thread does; negative: as many as `num`.
    writes: i64 = -1;
    /// Deletions each thread does; negative: as many as `num`.
    deletes: i64 = -1;
    /// Base of the seeds; each thread of each workload draws from one of its own. 0: one nobody chose.
    seed: i64 = 0;
    /// Threads.
    threads: i32 = 1;
    /// Seconds a random workload runs; 0: as long as its operations last.
    duration: i32 = 0;
    /// Operations from one look at the clock to the next, where `duration` is given.
    ops_between_duration_checks: i32 = 1_000;
    /// Bytes of a key.
    key_size: i32 = 16;
    /// Bytes of a value.
    value_size: i32 = 100;
    /// How sizes of values are drawn: fixed, uniform, normal.
    value_size_distribution_type: String = "fixed".to_owned();
    /// Least size of a value, unless sizes are fixed.
    value_size_min: i32 = 100;
    /// Greatest size of a value, unless sizes are fixed.
    value_size_max: i32 = 102_400;
    /// Share of its size to which a value shrinks when compressed.
    compression_ratio: f64 = 0.5;
    /// Percentage of values that are all the same.
    same_value_percentage: i32 = 0;
    /// Operations in a write batch or a MultiGet.
    batch_size: i64 = 1;
    /// Column families over which keys are spread.
    num_column_families: i32 = 1;
    /// Prefers low keys: key ranks fall off as exp(-x) over this range. 0: all keys are alike.
    read_random_exp_range: f64 = 0.0;
    /// Steps of an iterator after a seek.
    seek_nexts: i32 = 0;
    /// Iterators step backwards.
    reverse_iterator: bool = false;
    /// Keys after which a bound ends the scan that follows a seek; 0: no bound.
    max_scan_distance: i64 = 0;
    /// Distance of the keys of a MultiGet; 0: each is drawn by itself.
    multiread_stride: i64 = 0;
    /// Scans read at a snapshot taken when the workload starts.
    explicit_snapshot: bool = false;
    /// Percentage of reads in readrandomwriterandom.
    readwritepercent: i32 = 90;
    /// In filluniquerandom, the probability that a write overwrites a recent key.
    overwrite_probability: f64 = 0.0;
    /// Recent keys among which those overwrites choose.
    overwrite_window_size: u32 = 1;
    /// Writes before the first range deletion.
    writes_before_delete_range: i64 = 0;
    /// Writes from one range deletion to the next; 0: none.
    writes_per_range_tombstone: i64 = 0;
    /// Keys a range deletion covers.
    range_tombstone_width: i64 = 100;
    /// Range deletions at most.
    max_num_range_tombstones: i64 = 0;
    /// Deletes the keys of the range one by one instead.
    expand_range_tombstones: bool = false;
    /// Bytes a second the writing threads keep to; 0: no limit.
    benchmark_write_rate_limit: u64 = 0;
    /// Reads a second the reading threads keep to; 0: no limit.
    benchmark_read_rate_limit: u64 = 0;
    /// A writer in the background goes on to its last write when the readers are done.
    finish_after_writes: bool = false;
    /// Keys among which a writer in the background chooses; 0: `num`.
    bgwriter_num: i64 = 0;
    /// Syncs every write.
    sync: bool = false;
    /// Writes without WAL.
    disable_wal: bool = false;
    /// Checks the checksums of blocks read.
    verify_checksum: bool = true;
    /// Bytes an iterator reads ahead; 0: as it sees fit.
    readahead_size: i32 = 0;
    /// Bytes of the prefix of a key; filters index it. 0: no prefixes.
    prefix_size: i32 = 0;
    /// Keys that share a prefix; 0: as chance has it.
    keys_per_prefix: i64 = 0;
    /// Iterators end where the prefix they sought ends.
    prefix_same_as_start: bool = false;
    /// Merge operator, by its name: put, stringappend, uint64add.
    merge_operator: String = String::new();
    /// Bytes of the block cache; 0 or less: none.
    cache_size: i64 = 32 << 20;
    /// Block cache is split into 2 to the power of so many shards; negative: by its size.
    cache_numshardbits: i32 = -1;
    /// Share of the block cache kept for blocks of high priority.
    cache_high_pri_pool_ratio: f64 = 0.0;
    /// Share of the block cache kept for blocks of low priority.
    cache_low_pri_pool_ratio: f64 = 0.0;
    /// Bits a key in Bloom filters; negative: no filters.
    bloom_bits: f64 = -1.0;
    /// Checksum of blocks: 0 none, 1 CRC-32C, 2 xxHash, 3 xxHash64, 4 XXH3.
    checksum_type: i32 = 4;
    /// Compression: none, snappy, zlib, bzip2, lz4, lz4hc, zstd.
    compression_type: String = "snappy".to_owned();
    /// Level of the compression library; 32767: its own default.
    compression_level: i32 = 32_767;
    /// Bytes of a compression dictionary; 0: none.
    compression_max_dict_bytes: u32 = 0;
    /// Bytes of samples from which ZSTD trains a dictionary; 0: the samples are the dictionary.
    compression_zstd_max_train_bytes: u32 = 0;
    /// First level that is compressed; negative: all are.
    min_level_to_compress: i32 = -1;
    /// How files are merged: 0 leveled, 3 not at all.
    compaction_style: i32 = 0;
    /// Table files kept open; -1: all.
    open_files: i32 = -1;
    /// Reads tables through a memory map.
    mmap_read: bool = false;
    /// Prints the distribution of latencies.
    histogram: bool = false;
    /// Counts what the engine does and prints it at the end.
    statistics: bool = false;
    /// With repetitions, prints confidence intervals instead of averages.
    confidence_interval_only: bool = false;
    /// Shows progress on a terminal.
    progress_reports: bool = true;
    /// Operations of a thread from one line about its speed to the next; 0: no lines.
    stats_interval: i64 = 0;
    /// Seconds from one such line to the next at least.
    stats_interval_seconds: i64 = 0;
    /// Prints the engine's own statistics with each line of thread 0.
    stats_per_interval: i32 = 0;
    /// Seconds from one row of `report_file` to the next; 0: no rows.
    report_interval_seconds: i64 = 0;
    /// CSV file of operations a second.
    report_file: String = "report.csv".to_owned();
    /// Another db_bench, RocksDB's or ours, that is run in turn with this one over databases of its own; prints ratios.
    peer: String = String::new();
    /// Runs of each program with `peer`; it takes six for a verdict.
    peer_rounds: i32 = 7;
    /// Bytes the checksum and compression workloads work on at a time.
    block_size: u64 = 4_096;
}

/// RocksDB's flags with nothing behind them here: `name=default` where another value would mean another database or
/// another workload, `name~default` where it would only tune how RocksDB does things.
const ROCKSDB_ONLY: &str = include_str!("rocksdb_flags.txt");

/// How the list above writes booleans; a default of 0 or 1 is a number.
const BOOL_TEXTS: [&str; 2] = ["true", "false"];

/// How a command line was understood.
#[derive(Debug)]
pub enum Parsed {
    /// Values for every flag.
    Run(Box<Flags>),
    /// Somebody asked for help.
    Help,
}

/// Knows the engine's options: whether `name` is one, and if so whether it is a boolean.
pub type EngineOptions<'a> = &'a dyn Fn(&str) -> Option<bool>;

/// Reads a command line, without the program's name. `engine_names` are offered as corrections.
pub fn parse(args: &[String], engine: EngineOptions<'_>, engine_names: &[&str]) -> Result<Parsed, String> {
    let mut flags = Flags::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let Some(body) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
            return Err(format!("{arg}: a flag begins with --"));
        };
        if matches!(body, "help" | "h" | "helpfull") {
            return Ok(Parsed::Help);
        }
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        let name = name.replace('-', "_");
        let (name, value) = resolve(&name, value, engine, || args.next().cloned())
            .ok_or_else(|| unknown(&name, engine_names))?;
        let value = value.ok_or_else(|| format!("--{name} wants a value"))?;
        apply(&mut flags, &name, &value, engine)?;
    }
    Ok(Parsed::Run(Box::new(flags)))
}

/// The flag `name` stands for and its value, taken from the next argument where it needs one; `None` if there is no
/// such flag.
fn resolve(
    name: &str,
    value: Option<String>,
    engine: EngineOptions<'_>,
    next: impl FnOnce() -> Option<String>,
) -> Option<(String, Option<String>)> {
    match is_bool(name, engine) {
        Some(true) => Some((name.to_owned(), value.or_else(|| Some("true".to_owned())))),
        Some(false) => Some((name.to_owned(), value.or_else(next))),
        None => {
            let positive = name.strip_prefix("no")?;
            let negated = value.is_none() && is_bool(positive, engine) == Some(true);
            negated.then(|| (positive.to_owned(), Some("false".to_owned())))
        }
    }
}

/// Whether the flag is a boolean; `None` if there is no such flag.
fn is_bool(name: &str, engine: EngineOptions<'_>) -> Option<bool> {
    let ours = FLAGS
        .iter()
        .find(|flag| flag.name == name)
        .map(|flag| flag.is_bool);
    ours.or_else(|| engine(name))
        .or_else(|| rocksdb_row(name).map(|(default, _)| BOOL_TEXTS.contains(&default)))
}

fn apply(flags: &mut Flags, name: &str, value: &str, engine: EngineOptions<'_>) -> Result<(), String> {
    if let Some(flag) = FLAGS.iter().find(|flag| flag.name == name) {
        return (flag.set)(flags, value)
            .ok_or_else(|| format!("--{name}={value}: wants a value of type {}", flag.type_name));
    }
    let rocksdb = if engine(name).is_some() {
        None
    } else {
        rocksdb_row(name)
    };
    match rocksdb {
        Some((default, _)) if same(default, value) => Ok(()),
        Some((_, true)) => {
            flags.ignored.push(name.to_owned());
            Ok(())
        }
        Some((default, false)) => Err(format!(
            "--{name}={value}: a flag of RocksDB's db_bench that has nothing behind it here yet; only its default, \
             {default:?}, is accepted"
        )),
        None => {
            flags.engine.push((name.to_owned(), value.to_owned()));
            Ok(())
        }
    }
}

/// Name, default, and whether it only tunes how RocksDB does things.
pub fn rocksdb_rows() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    ROCKSDB_ONLY.lines().filter_map(|line| {
        let at = line.find(['=', '~'])?;
        Some((&line[..at], &line[at + 1..], line.as_bytes()[at] == b'~'))
    })
}

fn rocksdb_row(name: &str) -> Option<(&'static str, bool)> {
    rocksdb_rows()
        .find(|row| row.0 == name)
        .map(|(_, default, tunes)| (default, tunes))
}

/// True if two texts mean the same value.
fn same(a: &str, b: &str) -> bool {
    let bools = || Some(bool::parse(a)? == bool::parse(b)?);
    let numbers = || Some(f64::parse(a)? == f64::parse(b)?);
    a == b || numbers().or_else(bools) == Some(true)
}

fn unknown(name: &str, engine_names: &[&str]) -> String {
    let candidates = FLAGS
        .iter()
        .map(|flag| flag.name)
        .chain(engine_names.iter().copied());
    match suggest::nearest(name, candidates.chain(rocksdb_rows().map(|row| row.0))) {
        Some(nearest) => format!("unknown flag --{name}; did you mean --{nearest}?"),
        None => format!("unknown flag --{name}; --help lists them"),
    }
}

/// The help about flags.
pub fn help() -> String {
    let mut text = String::new();
    for flag in FLAGS {
        let default = (flag.default)();
        let default = if flag.type_name == "text" {
            format!("{default:?}")
        } else {
            default
        };
        text.push_str(&format!(
            "  --{} ({}, default {default})\n     {}\n",
            flag.name, flag.type_name, flag.help
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<Flags, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let engine = |name: &str| match name {
            "write_buffer_size" => Some(false),
            "disable_auto_compactions" => Some(true),
            _ => None,
        };
        match parse(&args, &engine, &["write_buffer_size", "disable_auto_compactions"])? {
            Parsed::Run(flags) => Ok(*flags),
            Parsed::Help => Err("help".into()),
        }
    }

    #[test]
    fn every_form_gflags_knows() {
        let flags = run(
            "--num=5 -threads 3 --histogram --noverify_checksum --sync=1 --use-existing-db=t --db=/tmp/x",
        )
        .unwrap();
        assert_eq!((flags.num, flags.threads, flags.histogram), (5, 3, true));
        assert!(!flags.verify_checksum && flags.sync && flags.use_existing_db);
        assert_eq!(flags.db, "/tmp/x");
        assert_eq!(
            run("--value_size=4k --cache_size=1G").unwrap().cache_size,
            1 << 30
        );
        assert_eq!(run("--reads=-1 --seed -7").unwrap().seed, -7);
    }

    #[test]
    fn options_of_the_engine_pass_through() {
        let flags =
            run("--write_buffer_size=1m --disable_auto_compactions --nodisable_auto_compactions").unwrap();
        let given: Vec<_> = flags
            .engine
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            given,
            [
                "write_buffer_size=1m",
                "disable_auto_compactions=true",
                "disable_auto_compactions=false"
            ]
        );
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(
            run("--thrads=2").unwrap_err(),
            "unknown flag --thrads; did you mean --threads?"
        );
        assert_eq!(
            run("--wriet_buffer_size=2").unwrap_err(),
            "unknown flag --wriet_buffer_size; did you mean --write_buffer_size?"
        );
        assert_eq!(
            run("--zzzzzz").unwrap_err(),
            "unknown flag --zzzzzz; --help lists them"
        );
        assert_eq!(
            run("--num=many").unwrap_err(),
            "--num=many: wants a value of type integer"
        );
        assert_eq!(run("--num").unwrap_err(), "--num wants a value");
        assert_eq!(run("fillseq").unwrap_err(), "fillseq: a flag begins with --");
        assert_eq!(
            run("--nonum").unwrap_err(),
            "unknown flag --nonum; did you mean --num?"
        );
        assert_eq!(
            run("--threads=9999999999").unwrap_err(),
            "--threads=9999999999: wants a value of type integer"
        );
    }

    #[test]
    fn flags_without_effect_are_taken_at_their_default_only() {
        for line in [
            "--num_multi_db=0",
            "--enable_numa=false",
            "--noenable_numa",
            "--use_blob_db=0",
        ] {
            run(line).unwrap();
        }
        assert!(run("--enable_numa").unwrap_err().contains("nothing behind it"));
        assert!(run("--num_multi_db=4").unwrap_err().contains("nothing behind it"));
        let tuned =
            run("--memtablerep=vector --noenable_pipelined_write --cache_type=hyper_clock_cache").unwrap();
        assert_eq!(tuned.ignored, ["memtablerep", "enable_pipelined_write"]);
    }

    #[test]
    fn no_flag_is_listed_twice() {
        let mut names: Vec<&str> = FLAGS
            .iter()
            .map(|flag| flag.name)
            .chain(rocksdb_rows().map(|row| row.0))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(
            rocksdb_rows().count(),
            ROCKSDB_ONLY.lines().count(),
            "each line is a name and a default"
        );
    }

    #[test]
    fn defaults_are_rocksdbs() {
        let flags = Flags::default();
        assert_eq!(
            (flags.num, flags.key_size, flags.value_size),
            (1_000_000, 16, 100)
        );
        assert_eq!(
            (
                flags.cache_size,
                flags.bloom_bits,
                flags.compression_type.as_str()
            ),
            (32 << 20, -1.0, "snappy")
        );
    }
}
