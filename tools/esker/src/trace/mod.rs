//! Traces: reports that sum up their records, and the replay of queries.

mod block_cache;
mod io;
mod lru;
mod queries;
mod replay;
mod reuse;

use base::Result;
use esker::{BlockCacheTraceReader, FileTraceReader, IoTraceReader, QueryTraceReader, TraceKind};

use crate::args::TraceArgs;
use crate::directory;
use crate::output::{Failure, Out};
use crate::report::{Cell, Report};
use crate::text::Form;

/// Prints the report of a trace, or runs its queries again.
///
/// A file that ends within a record, or has a damaged one, is reported up to there; the error follows.
pub fn trace(args: &TraceArgs, out: &mut Out) -> Result<(), Failure> {
    if args.replay {
        return replay::replay(args, out);
    }
    let (report, error) = read(args)?;
    match args.json {
        true => report.write_json(out)?,
        false => report.write_text(out)?,
    }
    error.map_or(Ok(()), |error| Err(error.into()))
}

/// The report, and the error at which reading ended.
fn read(args: &TraceArgs) -> Result<(Report, Option<base::Error>)> {
    let (fs, path, form) = (directory::fs(), &args.file, Form::new(args.hex));
    let (kind, mut report, error) = match TraceKind::of_file(&fs, path)? {
        Some(TraceKind::Queries) => {
            let mut reader = QueryTraceReader::new(FileTraceReader::open(&fs, path)?);
            reader.prepare()?;
            let mut queries = queries::Queries::new(reader.header_timestamp());
            let error = each(|| reader.next_record(), |record| queries.add(&record));
            ("queries", queries.report(args.top, form), error)
        }
        Some(TraceKind::BlockCache) => {
            let mut reader = BlockCacheTraceReader::open(&fs, path)?;
            let mut lookups = block_cache::Lookups::new(&args.cache_sizes);
            let error = each(|| reader.next_record(), |record| lookups.add(&record));
            ("block cache", lookups.report(args.top), error)
        }
        Some(TraceKind::Io) => {
            let mut reader = IoTraceReader::open(&fs, path)?;
            let mut operations = io::Operations::default();
            let error = each(|| reader.next_record(), |record| operations.add(&record));
            ("I/O", operations.report(args.top), error)
        }
        None => ("no records", Report::default(), None),
    };
    report.facts.insert(0, ("trace", Cell::Text(kind.to_owned())));
    Ok((report, error))
}

/// Passes records to `take` until there are no more, or one is damaged.
fn each<T>(mut next: impl FnMut() -> Result<Option<T>>, mut take: impl FnMut(T)) -> Option<base::Error> {
    loop {
        match next() {
            Ok(Some(record)) => take(record),
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    }
}
