//! The program without `--benchmarks`: about a minute through a database of its own, checked at each step.

use std::time::Instant;

use base::{Error, Result};

use crate::bench::Bench;
use crate::flags::Flags;
use crate::keys::KeyFormat;
use crate::picture;
use crate::report::Summary;

/// The number of keys of the tour, unless `--num` sets it.
const KEYS: i64 = 3_000_000;
/// The size of the block cache in bytes, and the bits a key of the filters, unless flags set them: db_bench's
/// own defaults, 32 MiB and no filters, are unusual in production.
const CACHE: i64 = 256 << 20;
const BLOOM_BITS: f64 = 10.0;

/// The steps of the tour, and their results.
pub struct Tour {
    bench: Bench,
    results: Vec<(String, String)>,
}

/// The flags of the tour.
pub fn flags(mut flags: Flags) -> Flags {
    let usual = Flags::default();
    if flags.num == usual.num {
        flags.num = KEYS;
    }
    if flags.seek_nexts == usual.seek_nexts {
        flags.seek_nexts = 10;
    }
    if flags.cache_size == usual.cache_size {
        flags.cache_size = CACHE;
    }
    if flags.bloom_bits == usual.bloom_bits {
        flags.bloom_bits = BLOOM_BITS;
    }
    if flags.compression_type == usual.compression_type {
        flags.compression_type = "lz4".to_owned();
    }
    flags
}

impl Tour {
    /// A tour of the database of `bench`.
    pub fn new(bench: Bench) -> Tour {
        Tour {
            bench,
            results: Vec::new(),
        }
    }

    /// Runs the tour. Fails if a step finds other keys than were written.
    pub fn run(&mut self) -> Result<()> {
        let num = self.bench.flags.num as u64;
        self.step("load: every key once, in random order", "filluniquerandom")?;
        self.step("overwrite: random keys", "overwrite")?;
        self.timed("settle: wait until nothing is left to compact", |bench| {
            bench.handles().db.wait_for_compact()
        })?;
        self.bench.flags.reads = (num / 2) as i64;
        let found = self.step("read: random keys", "readrandom")?;
        expect(
            found.message.contains(&format!("({} of ", found.done)),
            "a key that was written is gone",
        )?;
        self.step("read: keys that are not there", "readmissing")?;
        self.step(
            &format!("seek: a random key and {} behind it", self.bench.flags.seek_nexts),
            "seekrandom",
        )?;
        self.bench.flags.reads = num as i64;
        let forward = self.step("scan: first to last", "readseq")?;
        expect(
            forward.done == num,
            "the scan found another number of keys than were written",
        )?;
        let backward = self.step("scan: last to first", "readreverse")?;
        expect(
            backward.done == num,
            "the scan backwards found another number of keys than were written",
        )?;

        let (from, to) = (num / 4, num / 2);
        let left = num - (to - from);
        self.timed(&format!("delete: {} keys as one range", to - from), |bench| {
            let keys = KeyFormat::new(bench.flags.key_size as usize, 0, num, 0);
            let (mut begin, mut end) = (keys.allocate(), keys.allocate());
            keys.write(from, &mut begin);
            keys.write(to, &mut end);
            let handles = bench.handles();
            handles.db.delete_range_cf(&handles.families[0], &begin, &end)?;
            let gone = handles.db.get_cf(&handles.families[0], &begin)?;
            expect(gone.is_none(), "a key of the deleted range is still there")
        })?;
        let forward = self.step("scan: first to last, over the deleted range", "readseq")?;
        expect(
            forward.done == left,
            "the scan found another number of keys than are left",
        )?;
        self.timed("reopen: close, recover", Bench::reopen)?;
        let forward = self.step("scan: first to last, after reopening", "readseq")?;
        expect(forward.done == left, "keys were lost or came back by reopening")?;

        println!("\nresults");
        for (what, result) in &self.results {
            println!("  {what:<48} {result}");
        }
        let handles = self.bench.handles();
        println!("\n{}", picture::draw(&handles.db.live_files()));
        Ok(())
    }

    /// Closes the database, saying what failed.
    pub fn close(&mut self) -> Result<()> {
        self.bench.close()
    }

    fn step(&mut self, what: &str, workload: &str) -> Result<Summary> {
        println!("\n{what}");
        let summary = self.bench.measure(workload)?;
        print!("{}", summary.text(workload));
        let rate = summary
            .mib_per_second()
            .map_or(String::new(), |rate| format!(" {rate:>7.1} MB/s"));
        self.results.push((
            what.to_owned(),
            format!("{:>12} ops/s{rate}", summary.ops_per_second() as u64),
        ));
        Ok(summary)
    }

    fn timed(&mut self, what: &str, act: impl FnOnce(&mut Bench) -> Result<()>) -> Result<()> {
        println!("\n{what}");
        let start = Instant::now();
        act(&mut self.bench)?;
        let result = format!("{:>12.3} ms", start.elapsed().as_secs_f64() * 1e3);
        println!("{}", result.trim_start());
        self.results.push((what.to_owned(), result));
        Ok(())
    }
}

fn expect(holds: bool, otherwise: &str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(Error::corruption(otherwise))
    }
}
