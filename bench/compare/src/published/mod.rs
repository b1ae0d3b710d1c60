//! The tables of the documents Esker started from, run again: RocksDB's db_bench and ours in turn, with one
//! command line.
//!
//! [`tables`] is the data: a row is a figure of a document and a command, or an engine workload if RocksDB's
//! db_bench would have to be patched. [`run`](mod@run) measures, [`report`] writes the document. Rows with
//! the same command share its runs. If a program refuses a row (a flag that does not exist there), the cell
//! says so.

mod args;
mod figure;
mod levels;
mod mixgraph;
mod mmap;
mod report;
mod run;
mod table;
mod tables;
mod versions;

use std::path::PathBuf;
use std::time::Instant;

pub use args::PublishedArgs;
use table::{Sizes, Table};

/// Runs the tables and writes the document.
pub fn publish(args: &PublishedArgs, dir: PathBuf) -> Result<(), String> {
    if !(args.scale > 0.0 && args.scale <= 1_000.0) {
        return Err(format!("--scale={}: a number above 0, 1000 at most", args.scale));
    }
    let start = Instant::now();
    let sizes = Sizes { scale: args.scale };
    let tables: Vec<Table> = tables::all(&sizes)
        .into_iter()
        .filter(|table| table.source == args.tables || table.title.contains(&args.tables))
        .collect();
    if tables.is_empty() {
        return Err(format!("--tables={}: no such table", args.tables));
    }
    let ours = match &args.ours {
        Some(path) => path.clone(),
        None => std::env::current_exe()
            .map_err(|error| error.to_string())?
            .with_file_name("db_bench"),
    };
    let mut runner = run::Runner::new([ours, args.peer.clone()], dir.clone(), args.rounds.max(1));
    let mut measured = Vec::new();
    for table in &tables {
        let mut cells = Vec::new();
        for row in &table.rows {
            eprintln!(
                "[{:4.0} s] {}: {}",
                start.elapsed().as_secs_f64(),
                table.source,
                row.label
            );
            cells.push(runner.measure(row));
        }
        measured.push((table, cells));
    }
    let text = report::document(args, &dir, &runner, &measured, start.elapsed());
    if let Some(parent) = args.out.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    }
    std::fs::write(&args.out, text).map_err(|error| format!("{}: {error}", args.out.display()))?;
    println!("wrote {}", args.out.display());
    Ok(())
}
