//! Runs the workloads of a command line over one database.

mod database;
mod state;
mod traces;
mod watch;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{Error, Result, perf};
use esker::{IoPriority, OptionsFile, PerfLevel, ReadOptions, Ticker, WriteOptions};

pub use self::state::Bench;
use self::traces::Traces;
use self::watch::Watch;
use crate::flags::Flags;
use crate::keys::KeyFormat;
use crate::mixgraph::{Mixgraph, SineRate};
use crate::params::{Params, Time};
use crate::record::{Before, Recorder};
use crate::report::{Repetitions, Summary};
use crate::runner::{self, Thread};
use crate::secondary::CatchUp;
use crate::seeds::Seeds;
use crate::values::{Sizes, Values};
use crate::workloads::streams::{self, Streams};
use crate::workloads::timeseries::{self, Expire, ExpiredTimeFilter};
use crate::workloads::transaction;
use crate::workloads::{self, RunMode, Threads, Workload};
use crate::{harness, header, options, options_file};

impl Bench {
    /// Opens the database at `path` with the options that `flags` set.
    pub fn open(flags: Flags, path: &Path) -> Result<Bench> {
        let mut options = match flags.options_file.as_str() {
            "" => options::from_flags(&flags)?,
            _ => {
                println!("Initializing RocksDB Options from the specified file");
                let (options, remarks) = options_file::load(&flags)?;
                remarks.iter().for_each(|remark| eprintln!("note: {remark}"));
                options
            }
        };
        options::threads(&flags).apply(&mut options)?;
        // Without `allow_2pc` no transaction can be prepared.
        options.allow_2pc |= flags.transaction_db;
        let sizes = match flags.value_size_distribution_type.as_str() {
            "fixed" => Sizes::Fixed(flags.value_size.max(0) as usize),
            kind @ ("uniform" | "normal") => {
                let (least, most) = (
                    flags.value_size_min.max(0) as usize,
                    flags.value_size_max.max(0) as usize,
                );
                if least > most {
                    return Err(Error::invalid_argument(
                        "--value_size_min is greater than --value_size_max",
                    ));
                }
                if kind == "uniform" {
                    Sizes::Uniform(least, most)
                } else {
                    Sizes::Normal(least, most)
                }
            }
            other => {
                let message = format!("--value_size_distribution_type={other}: not fixed, uniform or normal");
                return Err(Error::invalid_argument(message));
            }
        };
        check(&flags)?;
        let seeds = Seeds::new(flags.seed);
        let values = Values::new(
            sizes,
            flags.compression_ratio,
            flags.same_value_percentage.clamp(0, 100) as u32,
            seeds.next_seed(),
        );
        let mut bench = Bench {
            flags,
            options,
            path: path.to_path_buf(),
            seeds,
            values,
            time: Time::default(),
            db: None,
            existing_keys: None,
            catch_up: None,
            secondary_updates: 0,
            recorder: None,
        };
        if !bench.flags.use_existing_db {
            bench.destroy()?;
        }
        bench.reopen()?;
        bench.load_existing_keys()?;
        Ok(bench)
    }

    /// The line about the `--seed` that replays this run.
    pub fn seed_text(&self) -> String {
        self.seeds.text(self.flags.seed)
    }

    /// The header's lines on engine, date and processor.
    pub fn environment(&self) -> Result<String> {
        let newest = OptionsFile::newest(&*self.options.fs, &self.path)?;
        let release = newest.as_ref().and_then(|(_, file)| {
            let mut entries = file.entries();
            entries.find_map(|(_, _, name, value)| (name == "rocksdb_version").then_some(value))
        });
        Ok(header::environment(release))
    }

    /// RocksDB's header, for standard output.
    pub fn header(&self) -> String {
        let memtables = self.options.column_family.memtable_factory;
        header::text(&self.flags, self.values.sizes(), memtables)
    }

    /// Measures the harness and prints the result; begins the document of `--json`.
    pub fn begin(&mut self) -> Result<()> {
        let harness = harness::measure(&self.flags)?;
        eprint!("{}", harness::text(&harness));
        if !self.flags.json.is_empty() {
            let seed = self.seeds.base();
            let recorder = Recorder::new(&self.flags, &self.options, &self.path, seed, harness)?;
            self.recorder = Some(recorder);
        }
        Ok(())
    }

    /// Prints the header, then runs the workloads of `list`.
    pub fn run(&mut self, list: &str) -> Result<()> {
        eprint!("{}", self.environment()?);
        print!("{}", self.seed_text());
        self.begin()?;
        print!("{}", self.header());
        for item in list.split(',').filter(|item| !item.is_empty()) {
            let (workload, repeat) = workloads::parse(item).map_err(Error::invalid_argument)?;
            self.run_workload(workload, repeat)?;
        }
        if let Some(statistics) = &self.options.statistics {
            println!("STATISTICS:\n{statistics}");
        }
        if self.flags.use_secondary_db {
            let updates = self.catch_up.take().map_or(0, CatchUp::stop);
            self.secondary_updates += updates;
            println!("Secondary instance updated  {} times.", self.secondary_updates);
        }
        Ok(())
    }

    /// Applies a workload's changes to the options of the database that it fills.
    fn set_up(&mut self, workload: &Workload) -> Result<()> {
        self.time.store(0, Ordering::Relaxed);
        let filtered = workload.name == "timeseries"
            && timeseries::expire_style(&self.flags)? == Expire::CompactionFilter;
        if filtered {
            println!("Compaction filter is used to remove expired data");
            self.options.column_family.compaction_filter_factory = Some(Arc::new(ExpiredTimeFilter {
                time: self.time.clone(),
                range: self.flags.time_range,
            }));
        }
        Ok(())
    }

    fn run_workload(&mut self, workload: &'static Workload, repeat: workloads::Repeat) -> Result<()> {
        if workload.fresh {
            if self.flags.use_existing_db {
                println!("{:<12} : skipped (--use_existing_db is true)", workload.name);
                return Ok(());
            }
            self.destroy()?;
            self.set_up(workload)?;
            self.reopen()?;
        }
        let body = match workload.run {
            RunMode::Threads(body) => body,
            RunMode::Alone(run) => return self.run_alone(workload, run),
        };
        println!("DB path: [{}]", self.path.display());
        if repeat.warm_up > 0 {
            println!("Warming up benchmark by running {} times", repeat.warm_up);
        }
        for _ in 0..repeat.warm_up {
            print!("{}", self.run_threads(workload, body, true)?.text(workload.name));
        }
        if repeat.times > 1 {
            println!("Running benchmark for {} times", repeat.times);
        }
        let mut repetitions = Repetitions::default();
        for _ in 0..repeat.times {
            let summary = self.run_threads(workload, body, false)?;
            print!("{}", summary.text(workload.name));
            repetitions.add(&summary);
            print!(
                "{}",
                repetitions.text(workload.name, self.flags.confidence_interval_only)
            );
        }
        if repeat.times > 1 {
            print!("{}", repetitions.closing_text(workload.name));
        }
        if workload.sequential && self.flags.streams > 0 {
            print!("{}", self.write_amplification());
        }
        if let Some(after) = workload.after {
            after(self)?;
        }
        Ok(())
    }

    /// Runs the workload `name` once, without printing anything.
    pub fn measure(&mut self, name: &str) -> Result<Summary> {
        let (workload, _) = workloads::parse(name).map_err(Error::invalid_argument)?;
        match workload.run {
            RunMode::Threads(body) => self.run_threads(workload, body, false),
            RunMode::Alone(run) => self.run_alone(workload, run).map(|()| Summary::default()),
        }
    }

    /// The cost of the fill so far, in the terms of RocksDB's compaction statistics: bytes that flushes and
    /// compactions wrote for each byte flushed, and bytes moved for each byte that compactions wrote.
    fn write_amplification(&self) -> String {
        let stats = self.handles().db.statistics();
        let [flushed, written, moved] = [
            Ticker::FlushWriteBytes,
            Ticker::CompactWriteBytes,
            Ticker::TrivialMoveBytes,
        ]
        .map(|ticker| stats.get(ticker));
        let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
        let ratio = match written {
            0 => "INF".to_owned(),
            written => format!("{:.3}", moved as f64 / written as f64),
        };
        format!(
            "Write amplification: {:.2} (flushed {:.1} MB, compacted {:.1} MB, moved {:.1} MB), move-ratio {ratio}\n",
            (flushed + written) as f64 / flushed.max(1) as f64,
            mib(flushed),
            mib(written),
            mib(moved),
        )
    }

    fn run_alone(&mut self, workload: &Workload, run: fn(&mut Bench) -> Result<()>) -> Result<()> {
        let before = self.before();
        run(self)?;
        self.record(before, workload.name, 0, &Summary::default(), false)
    }

    /// The state before a run; `None` if runs are not recorded.
    fn before(&self) -> Option<Before> {
        self.recorder
            .as_ref()
            .map(|_| Before::now(self.handles(), &self.options))
    }

    fn record(
        &mut self,
        before: Option<Before>,
        name: &str,
        threads: usize,
        summary: &Summary,
        warm_up: bool,
    ) -> Result<()> {
        let (Some(before), Some(handles)) = (before, &self.db) else {
            return Ok(());
        };
        let mut benchmark = before.ended(name, threads, summary, &self.flags, handles, &self.options);
        benchmark.warm_up = warm_up;
        self.recorder
            .as_mut()
            .map_or(Ok(()), |recorder| recorder.add(benchmark))
    }

    fn run_threads(
        &mut self,
        workload: &Workload,
        body: workloads::ThreadBody,
        warm_up: bool,
    ) -> Result<Summary> {
        let before = self.before();
        let flags = self.flags.clone();
        let handles = self.handles().clone();
        let or_num = |count: i64| if count < 0 { flags.num } else { count };
        let mut params = Params {
            flags: &flags,
            db: &handles.db,
            families: &handles.families,
            transactions: handles.transactions.as_ref(),
            num: flags.num,
            reads: or_num(flags.reads),
            writes: or_num(flags.writes),
            deletes: or_num(flags.deletes),
            batch: flags.batch_size.max(1),
            keys: KeyFormat {
                existing: self.existing_keys.clone(),
                ..streams::key_format(&flags)
            },
            values: self.values.clone(),
            seek_nexts: i64::from(flags.seek_nexts),
            reverse: flags.reverse_iterator,
            write: WriteOptions {
                sync: flags.sync,
                disable_wal: flags.disable_wal,
                protection_bytes_per_key: flags.write_batch_protection_bytes_per_key as usize,
                rate_limiter_priority: flags.rate_limit_auto_wal_flush.then_some(IoPriority::User),
                ..WriteOptions::default()
            },
            read: ReadOptions {
                verify_checksums: flags.verify_checksum,
                rate_limiter_priority: flags.rate_limit_user_ops.then_some(IoPriority::User),
                readahead_size: flags.readahead_size.max(0) as usize,
                adaptive_readahead: flags.adaptive_readahead,
                auto_readahead_size: flags.auto_readahead_size,
                async_io: flags.async_io,
                prefix_same_as_start: flags.prefix_same_as_start,
                auto_refresh_iterator_with_snapshot: flags.auto_refresh_iterator_with_snapshot,
                auto_prefix_mode: flags.auto_prefix_mode,
                tailing: flags.use_tailing_iterator,
                ..ReadOptions::default()
            },
            workload_seed: self.seeds.next_seed(),
            mixgraph: None,
            time: self.time.clone(),
        };
        (workload.adjust)(&mut params);
        (workload.prepare)(&mut params)?;
        let asked = flags.threads.max(1) as usize;
        let threads = match workload.threads {
            // One thread is required, because several threads would each write the same keys.
            Threads::AsAsked if workload.sequential && flags.streams > 0 => 1,
            Threads::AsAsked => asked,
            Threads::One => 1,
            Threads::Beside(_) => asked + 1,
        };
        let expected = (workload.expected)(&params).max(0) as u64 * asked as u64;
        let params = &params;
        let observer = Watch {
            flags: &flags,
            handles: &handles,
        };
        let body_of = |thread: &mut Thread<'_>| {
            let params = &Params {
                values: params.values.of_thread(thread.rng.u64(..)),
                ..params.clone()
            };
            match workload.threads {
                Threads::Beside(other) if thread.id == 0 => other(params, thread),
                _ => body(params, thread),
            }
        };
        let perf_level = PerfLevel::of_number(flags.perf_level).unwrap_or_default();
        let body = |thread: &mut Thread<'_>| {
            perf::set_level(perf_level);
            let done = body_of(thread);
            if perf_level > PerfLevel::Disable {
                thread
                    .message
                    .push_str(&format!("PERF_CONTEXT:\n{}", perf::context()));
            }
            done
        };
        let traces = Traces::start(&flags, &handles.db, workload.name)?;
        let mut summary = runner::run(&flags, threads, expected, &self.seeds, &observer, &body)?;
        traces.end()?;
        if let Some(message) = workload.message {
            summary.message.insert_str(0, &message(params));
        }
        eprint!("{}", summary.overdue_text());
        let counted = threads - usize::from(matches!(workload.threads, Threads::Beside(_)));
        self.record(before, workload.name, counted, &summary, warm_up)?;
        Ok(summary)
    }
}

/// Refuses values of flags that make no sense for any workload.
fn check(flags: &Flags) -> Result<()> {
    let refuse = |message: &str| Err(Error::invalid_argument(message));
    if flags.num < 1 {
        return refuse("--num must be at least 1");
    }
    if flags.key_size < 1 {
        return refuse("--key_size must be at least 1");
    }
    if flags.prefix_size > flags.key_size {
        return refuse("--prefix_size is greater than --key_size");
    }
    if flags.num_column_families < 1 {
        return refuse("--num_column_families must be at least 1");
    }
    if !(0.0..=1.0).contains(&flags.compression_ratio) {
        return refuse("--compression_ratio must be between 0 and 1");
    }
    if flags.range_tombstone_width < 1 && flags.writes_per_range_tombstone > 0 {
        return refuse("--range_tombstone_width must be at least 1");
    }
    if PerfLevel::of_number(flags.perf_level).is_none() {
        return refuse("--perf_level must be between 1 and 6");
    }
    if flags.use_secondary_db && !flags.use_existing_db {
        return refuse("--use_secondary_db needs --use_existing_db: the database is its primary's");
    }
    if flags.use_existing_keys && !flags.use_existing_db {
        return refuse("--use_existing_keys needs --use_existing_db");
    }
    if flags.seek_missing_prefix && flags.prefix_size <= 8 {
        return refuse("prefix_size > 8 required by --seek_missing_prefix");
    }
    if flags.sine_write_rate {
        SineRate::check_writes(flags).map_err(Error::invalid_argument)?;
    }
    if flags.open_as_follower && flags.leader_path.is_empty() {
        return refuse("--open_as_follower needs --leader_path");
    }
    Streams::from_flags(flags)?;
    timeseries::expire_style(flags)?;
    transaction::check(flags)?;
    traces::check(flags)?;
    if workloads::in_list(&flags.benchmarks, "mixgraph") {
        // The settings are checked before earlier workloads fill a database for hours.
        Mixgraph::new(flags, 0).map_err(Error::invalid_argument)?;
    }
    Ok(())
}
