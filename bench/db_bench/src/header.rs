//! The text that is printed before the first workload.

use std::time::{SystemTime, UNIX_EPOCH};

use base::date::Utc;
use esker::MemtableFactory;
use esker::option_table::OptionValue;

use crate::flags::Flags;
use crate::values::Sizes;

/// Engine, date and processor, for standard error. `release` is the release of RocksDB that the OPTIONS file
/// names.
pub fn environment(release: Option<&str>) -> String {
    let mut text = release.map_or_else(String::new, |release| format!("RocksDB:    version {release}\n"));
    text.push_str(&format!("Esker:      version {}\n", env!("CARGO_PKG_VERSION")));
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    text.push_str(&format!(
        "Date:       {}\n",
        ctime(now.map_or(0, |now| now.as_secs()))
    ));
    if let Ok(info) = std::fs::read_to_string("/proc/cpuinfo") {
        let values = |name: &str| -> Vec<String> {
            info.lines()
                .filter_map(|line| line.split_once(':'))
                .filter(|(found, _)| found.trim() == name)
                .map(|(_, value)| value.trim().to_owned())
                .collect()
        };
        let models = values("model name");
        if let Some(model) = models.last() {
            text.push_str(&format!("CPU:        {} * {model}\n", models.len()));
        }
        if let Some(cache) = values("cache size").last() {
            text.push_str(&format!("CPUCache:   {cache}\n"));
        }
    }
    text
}

/// The text of `--build_info`, under RocksDB's names: the release whose options are written by default, and
/// the build.
pub fn build_info() -> String {
    format!(
        "db_bench (RocksDB) {}\n    esker_version: {}\n    rocksdb_build_git_sha: {}\n",
        esker::ROCKSDB_VERSION,
        env!("CARGO_PKG_VERSION"),
        esker::GIT_SHA
    )
}

/// The moment `seconds` after the beginning of 1970, in UTC, in the form of C's `ctime`, which RocksDB's
/// `benchmark.sh` reads.
fn ctime(seconds: u64) -> String {
    // The first day of 1970 was a Thursday.
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let utc = Utc::from_unix(seconds);
    format!(
        "{} {} {:2} {:02}:{:02}:{:02} {}",
        DAYS[(seconds / 86_400 % 7) as usize],
        MONTHS[utc.month as usize - 1],
        utc.day,
        utc.hour,
        utc.minute,
        utc.second,
        utc.year
    )
}

/// RocksDB's header, for standard output, over a database whose families have `memtables`.
pub fn text(flags: &Flags, sizes: Sizes, memtables: MemtableFactory) -> String {
    let num = flags.num as f64;
    let (key_size, average) = (flags.key_size, sizes.average());
    let compressed = (average as f64 * flags.compression_ratio + 0.5) as u64;
    let mut text = format!("Keys:       {key_size} bytes each (+ 0 bytes user-defined timestamp)\n");
    match sizes {
        Sizes::Fixed(_) => {
            text.push_str(&format!(
                "Values:     {average} bytes each ({compressed} bytes after compression)\n"
            ));
        }
        Sizes::Uniform(least, most) | Sizes::Normal(least, most) => {
            text.push_str(&format!(
                "Values:     {average} avg bytes each ({compressed} bytes after compression)\n"
            ));
            let kind = &flags.value_size_distribution_type;
            text.push_str(&format!(
                "Values Distribution: {kind} (min: {least}, max: {most})\n"
            ));
        }
    }
    text.push_str(&format!("Entries:    {}\n", flags.num));
    text.push_str(&format!("Prefix:    {} bytes\n", flags.prefix_size));
    text.push_str(&format!("Keys per prefix:    {}\n", flags.keys_per_prefix));
    let raw = (f64::from(key_size) + average as f64) * num / 1_048_576.0;
    let file = (f64::from(key_size) + average as f64 * flags.compression_ratio) * num / 1_048_576.0;
    text.push_str(&format!("RawSize:    {raw:.1} MB (estimated)\n"));
    text.push_str(&format!("FileSize:   {file:.1} MB (estimated)\n"));
    text.push_str(&format!(
        "Write rate: {} bytes/second\n",
        flags.benchmark_write_rate_limit
    ));
    text.push_str(&format!(
        "Read rate: {} ops/second\n",
        flags.benchmark_read_rate_limit
    ));
    text.push_str(&format!(
        "Compression: {}\n",
        compression_name(&flags.compression_type)
    ));
    text.push_str("Compression sampling rate: 0\n");
    text.push_str(&format!("Memtablerep: {}\n", memtable_name(memtables)));
    text.push_str(&format!("Perf Level: {}\n", flags.perf_level));
    if cfg!(debug_assertions) {
        text.push_str("WARNING: Assertions are enabled; benchmarks unnecessarily slow\n");
    }
    text.push_str("------------------------------------------------\n");
    text
}

/// RocksDB's name of a type of memtables in the header, with a parameter only where RocksDB prints it.
fn memtable_name(memtables: MemtableFactory) -> String {
    match memtables {
        MemtableFactory::SkipList { .. } => memtables.text(),
        MemtableFactory::Vector { .. } => "VectorRepFactory".to_owned(),
    }
}

/// RocksDB's name of a compression type in the header.
fn compression_name(flag: &str) -> &'static str {
    match flag.to_ascii_lowercase().as_str() {
        "none" => "NoCompression",
        "snappy" => "Snappy",
        "zlib" => "Zlib",
        "bzip2" => "BZip2",
        "lz4" => "LZ4",
        "lz4hc" => "LZ4HC",
        _ => "ZSTD",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_ctime() {
        assert_eq!(ctime(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(ctime(951_782_400), "Tue Feb 29 00:00:00 2000");
        assert_eq!(ctime(1_767_225_599), "Wed Dec 31 23:59:59 2025");
    }

    #[test]
    fn header_is_rocksdbs() {
        let skip_list = MemtableFactory::SkipList { lookahead: 0 };
        let text = text(&Flags::default(), Sizes::Fixed(100), skip_list);
        let expected = "\
Keys:       16 bytes each (+ 0 bytes user-defined timestamp)
Values:     100 bytes each (50 bytes after compression)
Entries:    1000000
Prefix:    0 bytes
Keys per prefix:    0
RawSize:    110.6 MB (estimated)
FileSize:   62.9 MB (estimated)
Write rate: 0 bytes/second
Read rate: 0 ops/second
Compression: Snappy
Compression sampling rate: 0
Memtablerep: SkipListFactory
Perf Level: 1
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.ends_with("------------------------------------------------\n"));
    }

    #[test]
    fn memtables_and_perf_level_are_those_of_the_run() {
        let flags = Flags {
            perf_level: 2,
            ..Flags::default()
        };
        for (memtables, name) in [
            (MemtableFactory::SkipList { lookahead: 3 }, "SkipListFactory:3"),
            (MemtableFactory::Vector { count: 100 }, "VectorRepFactory"),
        ] {
            let text = text(&flags, Sizes::Fixed(100), memtables);
            let expected = format!("\nMemtablerep: {name}\nPerf Level: 2\n");
            assert!(text.contains(&expected), "{text}");
        }
    }
}
