//! The columns that RocksDB's `benchmark.sh` extracts from a run, found as the script finds them: by the
//! words that a line begins with or contains, and the position of a field in it.

use std::path::Path;

use crate::{run_in, successful};

/// The texts that the script reads: the two outputs of db_bench, and LOG.
struct Printed {
    out: String,
    log: String,
}

impl Printed {
    fn of(dir: &Path, args: &str) -> Printed {
        let output = run_in(dir, args);
        let out = successful(args, &output) + &String::from_utf8_lossy(&output.stderr);
        let log = std::fs::read_to_string(dir.join("dbbench/LOG")).expect("a LOG");
        Printed { out, log }
    }

    /// Fields of the last line that begins with `start`, counted from 1.
    fn last<const N: usize>(&self, start: &str, fields: [usize; N]) -> [String; N] {
        let line = self.out.lines().rfind(|line| line.starts_with(start));
        at(line, start, fields, &self.out)
    }

    /// Fields of the first line of LOG that contains `words`.
    fn of_log<const N: usize>(&self, words: &str, fields: [usize; N]) -> [String; N] {
        let line = self.log.lines().find(|line| line.contains(words));
        at(line, words, fields, &self.log)
    }
}

fn at<const N: usize>(line: Option<&str>, words: &str, fields: [usize; N], text: &str) -> [String; N] {
    let line = line.unwrap_or_else(|| panic!("no {words:?} in\n{text}"));
    let found: Vec<&str> = line.split_whitespace().collect();
    fields.map(|field| {
        let field = found.get(field - 1);
        field
            .unwrap_or_else(|| panic!("{words:?}: {line}"))
            .trim_matches(',')
            .to_owned()
    })
}

fn number(field: &str) -> f64 {
    field.parse().unwrap_or_else(|_| panic!("{field:?} is no number"))
}

/// Checks every column of the report about `name`, and returns the size of the blob files.
fn check(printed: &Printed, name: &str) -> String {
    // version, githash, date
    let [version] = printed.of_log("RocksDB version:", [5]);
    assert!(
        version
            .split('.')
            .filter(|part| part.parse::<u32>().is_ok())
            .count()
            == 3,
        "{version}"
    );
    let [git_hash] = printed.of_log("Git sha", [5]);
    assert!(git_hash == "unknown" || git_hash.len() == 40, "{git_hash}");
    let [month, day, time, year] = printed.last("Date:", [3, 4, 5, 6]);
    assert!(month.len() == 3 && time.split(':').count() == 3, "{month} {time}");
    assert!(number(&day) <= 31.0 && number(&year) >= 2025.0, "{day} {year}");
    // uptime, stall%, Nstall
    let [uptime] = printed.last("Uptime(secs", [2]);
    let [stalled] = printed.last("Cumulative stall", [5]);
    // The uptime is compared in tenths of a second: a run may take less than one second.
    assert!(
        number(&uptime) >= 0.0 && number(&stalled) >= 0.0,
        "{uptime} {stalled}"
    );
    printed
        .last("Stalls(count):", [2, 6, 10, 14, 18, 20])
        .iter()
        .for_each(|count| {
            number(count);
        });
    // The script reads ops_sec, usec_op and mb_sec from the positions of its second form of the line, which
    // the eighth field shows.
    let [micros, ops, word, rate, unit] = printed.last(name, [3, 5, 8, 11, 12]);
    assert_eq!((word.as_str(), unit.as_str()), ("seconds", "MB/s"));
    assert!(
        number(&micros) > 0.0 && number(&ops) > 0.0 && number(&rate) > 0.0,
        "{micros} {ops} {rate}"
    );
    // c_wgb, c_mbps, w_amp
    let line = printed
        .out
        .lines()
        .rfind(|line| line.starts_with("Cumulative writes"));
    let words: Vec<&str> = line.expect("writes").split_whitespace().collect();
    let ingest = words
        .iter()
        .position(|word| *word == "ingest:")
        .expect("what came in");
    number(words[ingest + 1]);
    let [written, unit, speed] = printed.last("Cumulative compaction", [3, 4, 6]);
    assert_eq!((words[ingest + 2], unit.as_str()), ("GB,", "GB"));
    assert!(number(&written) >= 0.0 && number(&speed) >= 0.0);
    let [flushed] = printed.last("Flush(GB)", [3]);
    assert!(number(&flushed) > 0.0, "{flushed}");
    // lsm_sz, c_wsecs, c_csecs, b_rgb, b_wgb
    let [size, unit, seconds, cpu, read, written] = printed.last(" Sum", [3, 4, 15, 16, 21, 22]);
    assert!(number(&size) > 0.0 && unit.ends_with('B'), "{size} {unit}");
    assert!(number(&seconds) >= 0.0 && number(&cpu) >= 0.0);
    assert!(number(&read) >= 0.0 && number(&written) >= 0.0);
    // p50, p99, p99.9, p99.99, pmax
    let percentiles = printed
        .last("Percentiles:", [3, 7, 9, 11])
        .map(|field| number(&field));
    assert!(percentiles.is_sorted() && percentiles[0] > 0.0, "{percentiles:?}");
    let [max] = printed.last("Min: ", [6]);
    assert!(number(&max) >= percentiles[0]);
    // blob_sz
    let [blobs, unit] = printed.last("Blob file count:", [7, 8]);
    assert_eq!(unit, "GB");
    number(&blobs);
    blobs
}

const FLAGS: &str = "--undefok=use_blob_cache,prepopulate_blob_cache --num=4000 --key_size=20 --value_size=400 --block_size=8192 \
                     --cache_size=1048576 --compression_ratio=0.5 --compression_type=lz4 --write_buffer_size=262144 \
                     --target_file_size_base=262144 --max_bytes_for_level_base=1048576 --statistics=0 --stats_per_interval=1 \
                     --stats_interval_seconds=60 --report_interval_seconds=1 --histogram=1 --memtablerep=skip_list --bloom_bits=10 \
                     --seed=7 --report_file=/dev/null";

#[test]
fn every_column_of_its_report_is_filled() {
    for style in [
        "--compaction_style=0 --num_levels=8 --level_compaction_dynamic_level_bytes=true",
        "--compaction_style=1 --num_levels=40 --universal_allow_trivial_move=1",
        "--enable_blob_files=true --min_blob_size=0 --blob_file_size=1048576 --enable_blob_garbage_collection=true",
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let args = format!("--benchmarks=fillrandom,stats --use_existing_db=0 {FLAGS} {style}");
        check(&Printed::of(dir.path(), &args), "fillrandom");
        for (name, flags) in [
            ("overwrite", ""),
            ("readrandom", ""),
            ("multireadrandom", "--batch_size=10"),
            ("seekrandom", "--seek_nexts=10"),
            ("readwhilewriting", "--reads=4000"),
            ("updaterandom", ""),
        ] {
            // Each run flushes something, as long runs do.
            let args = format!(
                "--benchmarks={name},overwrite,flush,stats --use_existing_db=1 --threads=2 {FLAGS} {style} {flags}"
            );
            check(&Printed::of(dir.path(), &args), name);
        }
    }
}
