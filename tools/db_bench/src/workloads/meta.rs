//! What is done to the database as a whole, and what it says of itself.

use base::Result;
use esker::{BottommostLevelCompaction, CompactRangeOptions, FlushOptions};

use crate::bench::{Bench, Params};
use crate::runner::Thread;

pub fn compact(params: &Params<'_>, _: &mut Thread<'_>) -> Result<()> {
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::ForceOptimized,
        ..CompactRangeOptions::default()
    };
    params
        .families
        .iter()
        .try_for_each(|family| params.db.compact_range(family, &options, None, None))
}

pub fn flush(bench: &mut Bench) -> Result<()> {
    let handles = bench.handles();
    handles.db.flush_cf(&FlushOptions::default(), &handles.families)
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
