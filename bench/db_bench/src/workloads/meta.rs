//! Operations on the database as a whole, and reports about it.

use base::Result;
use base::date::Utc;
use esker::{
    BottommostLevelCompaction, CompactFilesOptions, CompactRangeOptions, ErrorKind, StatsHistoryEntry,
};

use crate::bench::Bench;
use crate::params::Params;
use crate::runner::Thread;

pub fn compact(params: &Params<'_>, _: &mut Thread<'_>) -> Result<()> {
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::ForceOptimized,
        ..CompactRangeOptions::default()
    };
    params
        .families
        .iter()
        .try_for_each(|family| params.db.compact_range_cf_opt(family, None, None, &options))
}

/// Verifies all blocks. Each thread reads the whole database, as in RocksDB's db_bench.
pub fn verify_checksum(params: &Params<'_>, _: &mut Thread<'_>) -> Result<()> {
    params.db.verify_checksum_opt(&params.read)
}

/// Verifies all files. Each thread reads the whole database, as in RocksDB's db_bench.
pub fn verify_file_checksums(params: &Params<'_>, _: &mut Thread<'_>) -> Result<()> {
    params.db.verify_file_checksums()
}

pub fn compact_all(bench: &mut Bench) -> Result<()> {
    let handles = bench.handles();
    let compact = |family| handles.db.compact_range_cf(family, None, None);
    handles.families.iter().try_for_each(compact)
}

pub fn compact_l0(bench: &mut Bench) -> Result<()> {
    compact_level(bench, 0)
}

pub fn compact_l1(bench: &mut Bench) -> Result<()> {
    compact_level(bench, 1)
}

/// Compacts the files of a level of the default family into the next level that has files. 1 means the first
/// level below L0 that has files: with dynamic level sizes that may be another level.
fn compact_level(bench: &mut Bench, from: usize) -> Result<()> {
    while !try_compact_level(bench, from)? {
        wait_for_compaction(bench)?;
    }
    Ok(())
}

/// Returns false if a background compaction is using the files.
fn try_compact_level(bench: &Bench, from: usize) -> Result<bool> {
    let handles = bench.handles();
    let family = &handles.families[0];
    let mut files = handles.db.live_files();
    files.retain(|file| file.column_family == family.name());
    let levels = || files.iter().map(|file| file.level);
    let first = match from {
        0 => Some(0),
        _ => levels().filter(|level| *level > 0).min(),
    };
    let of_level = files.iter().filter(|file| Some(file.level) == first);
    let numbers: Vec<u64> = of_level.map(|file| file.number).collect();
    let Some(level) = first.filter(|_| !numbers.is_empty()) else {
        println!("compact{from} found 0 files to compact");
        return Ok(true);
    };
    let Some(next) = levels().filter(|next| *next > level).min() else {
        println!("compact{from} found no data beyond L{level}");
        return Ok(true);
    };
    println!(
        "compact{from} found {} files to compact from L{level} to L{next}",
        numbers.len()
    );
    let options = CompactFilesOptions {
        output_file_size_limit: Some(family.options().target_file_size_base),
        ..CompactFilesOptions::default()
    };
    match handles.db.compact_files(family, &numbers, next, &options) {
        Ok(_) => Ok(true),
        // The result is `Aborted` because a file is in another compaction, or one has deleted a file since.
        Err(error) if matches!(error.kind(), ErrorKind::Aborted | ErrorKind::InvalidArgument) => {
            eprintln!("compact{from} CompactFiles failed: {error}");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

pub fn flush(bench: &mut Bench) -> Result<()> {
    let handles = bench.handles();
    handles.db.flush_cf(&handles.families)
}

pub fn wait_for_compaction(bench: &mut Bench) -> Result<()> {
    let name = bench.path.display();
    println!("waitforcompaction({name}): started");
    bench.handles().db.wait_for_compact()?;
    println!("waitforcompaction({name}): finished with status (OK)");
    Ok(())
}

pub fn level_stats(bench: &mut Bench) -> Result<()> {
    print_property(bench, "rocksdb.levelstats");
    Ok(())
}

pub fn stats(bench: &mut Bench) -> Result<()> {
    print_property(bench, "rocksdb.stats");
    Ok(())
}

pub fn stats_history(bench: &mut Bench) -> Result<()> {
    for entry in bench.handles().db.get_stats_history(0, u64::MAX) {
        print!("{}", history_text(&entry?));
    }
    Ok(())
}

/// An entry as RocksDB's db_bench prints it; the time is UTC.
fn history_text(entry: &StatsHistoryEntry) -> String {
    let utc = Utc::from_unix(entry.time);
    let mut text = format!(
        "------ {:04}/{:02}/{:02}-{:02}:{:02}:{:02} ------\n",
        utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second
    );
    for (name, rise) in &entry.stats {
        text.push_str(&format!(" {}   {name}  {rise}\n", entry.time));
    }
    text
}

pub fn write_cost(bench: &mut Bench) -> Result<()> {
    print_property(bench, "esker.write-cost");
    Ok(())
}

pub fn block_cache_entry_stats(bench: &mut Bench) -> Result<()> {
    print_property(bench, "rocksdb.block-cache-entry-stats");
    Ok(())
}

pub fn reset_stats(bench: &mut Bench) -> Result<()> {
    bench.handles().db.reset_stats();
    if let Some(statistics) = &bench.options.statistics {
        statistics.reset();
    }
    Ok(())
}

pub fn tables(bench: &mut Bench) -> Result<()> {
    print_property(bench, "rocksdb.sstables");
    Ok(())
}

pub fn mem_stats(bench: &mut Bench) -> Result<()> {
    for name in [
        "rocksdb.num-immutable-mem-table",
        "rocksdb.cur-size-active-mem-table",
        "rocksdb.cur-size-all-mem-tables",
        "rocksdb.size-all-mem-tables",
        "rocksdb.num-entries-active-mem-table",
        "rocksdb.num-entries-imm-mem-tables",
    ] {
        println!("{name}: {}", property(bench, name));
    }
    Ok(())
}

fn property(bench: &Bench, name: &str) -> String {
    let handles = bench.handles();
    handles
        .db
        .property(&handles.families[0], name)
        .unwrap_or_else(|| "(failed)".to_owned())
}

fn print_property(bench: &Bench, name: &str) {
    println!("\n{}", property(bench, name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_printed_as_rocksdb_prints_it() {
        let entry = StatsHistoryEntry {
            time: 951_782_400,
            stats: [
                ("rocksdb.bytes.read".to_owned(), 7),
                ("rocksdb.bytes.written".to_owned(), 0),
            ]
            .into(),
        };
        assert_eq!(
            history_text(&entry),
            "------ 2000/02/29-00:00:00 ------\n 951782400   rocksdb.bytes.read  7\n 951782400   rocksdb.bytes.written  0\n"
        );
    }
}
