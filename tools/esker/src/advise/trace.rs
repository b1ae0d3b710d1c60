//! A trace of queries as operations of a workload.

use std::path::Path;

use advise::WorkloadBuilder;
use base::Error;
use esker::{FileTraceReader, Operation, QueryTraceReader, TraceKind, TracedQuery, WriteBatch};

use crate::directory;
use crate::output::Failure;

/// Adds the operations on the column family `family` in the trace at `path`.
pub fn read(path: &Path, family: u32, builder: &mut WorkloadBuilder) -> Result<(), Failure> {
    let fs = directory::fs();
    if TraceKind::of_file(&fs, path)? != Some(TraceKind::Queries) {
        let message = "no trace of queries: `Db::start_trace`, or db_bench with --trace_file, writes one";
        return Err(Error::invalid_argument(message).in_file(path).into());
    }
    let mut reader = QueryTraceReader::new(FileTraceReader::open(&fs, path)?);
    reader.prepare()?;
    let began = reader.header_timestamp();
    while let Some(record) = reader.next_record()? {
        let at = record.timestamp.saturating_sub(began);
        match &record.query {
            TracedQuery::Write(batch) => write(at, batch, family, builder, path)?,
            TracedQuery::Get { family: of, key } if *of == family => builder.get(at, key),
            TracedQuery::Seek { family: of, key, .. } if *of == family => builder.seek(at, key),
            TracedQuery::MultiGet(keys) => {
                for (_, key) in keys.iter().filter(|(of, _)| *of == family) {
                    builder.get(at, key);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn write(
    at: u64,
    batch: &[u8],
    family: u32,
    builder: &mut WorkloadBuilder,
    path: &Path,
) -> Result<(), Failure> {
    let in_trace = |error: Error| error.in_file(path);
    let batch = WriteBatch::from_data(batch).map_err(in_trace)?;
    for operation in batch.operations() {
        match operation.map_err(in_trace)? {
            Operation::Put {
                family: of,
                key,
                value,
            }
            | Operation::Merge {
                family: of,
                key,
                operand: value,
            }
            | Operation::Entity {
                family: of,
                key,
                entity: value,
            }
            | Operation::TimedPut {
                family: of,
                key,
                value,
                ..
            } if of == family => {
                builder.put(at, key, value.len());
            }
            Operation::Delete { family: of, key } | Operation::SingleDelete { family: of, key }
                if of == family =>
            {
                builder.delete(at, key);
            }
            Operation::DeleteRange { family: of, .. } if of == family => builder.pass_over(),
            _ => {}
        }
    }
    Ok(())
}
