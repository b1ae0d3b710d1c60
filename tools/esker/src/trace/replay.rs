//! The replay of a trace of queries over a database.

use std::sync::atomic::{AtomicU64, Ordering};

use base::env::{Clock, SystemClock};
use base::{Error, ErrorKind, Result};
use esker::{FileTraceReader, ReplayOptions, Replayed, Replayer};

use crate::args::{Database, TraceArgs};
use crate::directory;
use crate::open;
use crate::output::{Failure, Out};
use crate::report::{Cell, Report};

/// Results of queries, by kind.
#[derive(Default)]
struct Results {
    writes: AtomicU64,
    reads: AtomicU64,
    found: AtomicU64,
    failed: AtomicU64,
    passed_over: AtomicU64,
}

impl Results {
    fn add(&self, result: &Result<Replayed>) {
        let add = |counter: &AtomicU64, number: u64| {
            counter.fetch_add(number, Ordering::Relaxed);
        };
        match result {
            Ok(Replayed::Written) => add(&self.writes, 1),
            Ok(Replayed::Value(value)) => {
                add(&self.reads, 1);
                add(&self.found, u64::from(value.is_some()));
            }
            Ok(Replayed::Values(values)) => {
                add(&self.reads, values.len() as u64);
                add(&self.found, values.iter().flatten().count() as u64);
            }
            Ok(Replayed::Stands(place)) => {
                add(&self.reads, 1);
                add(&self.found, u64::from(place.is_some()));
            }
            Err(error) if error.kind() == ErrorKind::NotSupported => add(&self.passed_over, 1),
            Err(_) => add(&self.failed, 1),
        }
    }
}

/// Runs the queries of a trace, and prints their number.
pub fn replay(args: &TraceArgs, out: &mut Out) -> Result<(), Failure> {
    let Some(dir) = &args.db else {
        return Err(Failure::Usage("--replay needs --db".to_owned()));
    };
    let database = Database {
        db: dir.clone(),
        wal_dir: args.wal_dir.clone(),
    };
    // The trace is opened before the database: a file that is no trace of queries changes nothing.
    let mut reader = FileTraceReader::open(&directory::fs(), &args.file)?;
    if reader.read()?.is_none() {
        let empty = Error::new(ErrorKind::Incomplete, "the trace is empty").in_file(&args.file);
        return Err(empty.into());
    }
    let db = open::writable(&database, args.create_if_missing)?;
    let mut replayer = Replayer::new(&db, &db.column_families(), reader);
    let (results, clock) = (Results::default(), SystemClock::new());
    let options = ReplayOptions {
        num_threads: args.threads,
        fast_forward: args.fast_forward,
    };
    let replayed = replayer
        .prepare()
        .and_then(|()| replayer.replay(&options, Some(&|result| results.add(&result))));
    let took = clock.now();
    let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let queries = number(&results.writes) + number(&results.reads) + number(&results.failed);
    let report = Report {
        facts: vec![
            ("writes", Cell::Number(number(&results.writes))),
            ("reads", Cell::Number(number(&results.reads))),
            ("found", Cell::Number(number(&results.found))),
            ("failed", Cell::Number(number(&results.failed))),
            ("passed over", Cell::Number(number(&results.passed_over))),
            ("duration", Cell::Nanos(took.as_nanos() as u64)),
            (
                "queries a second",
                Cell::Decimal(queries as f64 / took.as_secs_f64().max(1e-9)),
            ),
        ],
        tables: Vec::new(),
    };
    match args.json {
        true => report.write_json(out)?,
        false => report.write_text(out)?,
    }
    replayed?;
    Ok(db.close()?)
}
