//! The report of a trace of I/O.

use std::collections::{BTreeMap, HashMap};

use base::filename::{self, FileKind};
use esker::IoTraceRecord;

use crate::report::{Cell, POWERS, Powers, Report, Timeline};

/// The operations of one name on one kind of file.
#[derive(Default)]
struct Count {
    operations: u64,
    errors: u64,
    bytes: u64,
    latencies: Vec<u64>,
}

/// The sums over a trace.
#[derive(Default)]
pub struct Operations {
    first: Option<u64>,
    last: u64,
    by_kind: BTreeMap<(&'static str, String), Count>,
    /// Bytes read and written, and operations, by file.
    files: HashMap<String, [u64; 3]>,
    read_sizes: Powers,
    latencies: BTreeMap<&'static str, Powers>,
    slowest: Vec<IoTraceRecord>,
    timeline: Timeline,
}

/// The kind of a file, by its name.
fn kind_of(name: &str) -> &'static str {
    match filename::parse(name) {
        Some(FileKind::Wal(_)) => "WAL",
        Some(FileKind::Table(_)) => "table",
        Some(FileKind::Blob(_)) => "blob file",
        Some(FileKind::Manifest(_)) => "MANIFEST",
        Some(FileKind::Options(_)) => "OPTIONS",
        Some(FileKind::Temp) => "temporary",
        Some(FileKind::Current) => "CURRENT",
        Some(FileKind::Identity) => "IDENTITY",
        Some(FileKind::Lock) => "LOCK",
        Some(FileKind::InfoLog) => "LOG",
        None => "directory or other",
    }
}

fn is_read(operation: &str) -> bool {
    matches!(operation, "Read" | "MultiRead" | "ReadAsync" | "PositionedRead")
}

fn is_append(operation: &str) -> bool {
    matches!(operation, "Append" | "PositionedAppend" | "Write")
}

impl Operations {
    /// Adds an operation. Its time is its end.
    pub fn add(&mut self, record: &IoTraceRecord) {
        let first = *self.first.get_or_insert(record.access_timestamp);
        self.last = self.last.max(record.access_timestamp);
        self.timeline
            .add(record.access_timestamp.saturating_sub(first) / 1000);
        let operation = &record.file_operation;
        let bytes = match is_read(operation) || is_append(operation) {
            true => record.len.unwrap_or(0),
            false => 0,
        };
        let count = self
            .by_kind
            .entry((kind_of(&record.file_name), operation.clone()))
            .or_default();
        count.operations += 1;
        count.errors += u64::from(record.io_status != "OK");
        count.bytes = count.bytes.saturating_add(bytes);
        count.latencies.push(record.latency);
        let file = self.files.entry(record.file_name.clone()).or_default();
        file[2] += 1;
        let of_kind = match () {
            () if is_read(operation) => {
                self.read_sizes.add(bytes);
                file[0] = file[0].saturating_add(bytes);
                Some("latency of reads")
            }
            () if is_append(operation) => {
                file[1] = file[1].saturating_add(bytes);
                Some("latency of appends")
            }
            () if matches!(&**operation, "Sync" | "Fsync") => Some("latency of syncs"),
            () => None,
        };
        if let Some(name) = of_kind {
            self.latencies.entry(name).or_default().add(record.latency);
        }
        self.slowest.push(record.clone());
        if self.slowest.len() >= KEPT {
            self.keep_slowest(KEPT / 2);
        }
    }

    fn keep_slowest(&mut self, most: usize) {
        self.slowest
            .sort_by_key(|record| std::cmp::Reverse(record.latency));
        self.slowest.truncate(most);
    }

    /// The report, with at most `top` files and operations.
    pub fn report(mut self, top: usize) -> Report {
        let mut report = Report::default();
        let sum = |of: fn(&Count) -> u64, is: fn(&str) -> bool| {
            let counts = self.by_kind.iter().filter(|((_, name), _)| is(name));
            counts.map(|(_, count)| of(count)).fold(0, u64::saturating_add)
        };
        report.facts.extend([
            (
                "duration",
                Cell::Nanos(self.last.saturating_sub(self.first.unwrap_or(0))),
            ),
            (
                "operations",
                Cell::Number(sum(|count| count.operations, |_| true)),
            ),
            ("errors", Cell::Number(sum(|count| count.errors, |_| true))),
            ("bytes read", Cell::Bytes(sum(|count| count.bytes, is_read))),
            ("bytes appended", Cell::Bytes(sum(|count| count.bytes, is_append))),
        ]);
        self.report_kinds(&mut report);
        for (name, powers) in &self.latencies {
            let mut columns = vec!["nanoseconds"];
            columns.extend(POWERS);
            report.table(name, &columns, powers.rows(Cell::Nanos), Some(2));
        }
        let mut columns = vec!["bytes"];
        columns.extend(POWERS);
        report.table(
            "sizes of reads",
            &columns,
            self.read_sizes.rows(Cell::Bytes),
            Some(2),
        );
        self.timeline.report(&mut report);
        self.report_files(&mut report, top);
        self.keep_slowest(top);
        let row = |record: &IoTraceRecord| {
            vec![
                Cell::Text(record.file_name.clone()),
                Cell::Text(record.file_operation.clone()),
                Cell::Nanos(record.latency),
                Cell::Bytes(record.len.unwrap_or(0)),
                Cell::Nanos(record.access_timestamp.saturating_sub(self.first.unwrap_or(0))),
                Cell::Text(record.io_status.clone()),
            ]
        };
        let rows = self.slowest.iter().map(row).collect();
        let columns = ["file", "operation", "latency", "bytes", "ended after", "status"];
        report.table("slowest operations", &columns, rows, None);
        report
    }

    fn report_kinds(&mut self, report: &mut Report) {
        let all: u64 = self.by_kind.values().map(|count| count.operations).sum();
        let mut rows = Vec::new();
        for ((kind, operation), count) in &mut self.by_kind {
            count.latencies.sort_unstable();
            let latencies = &count.latencies;
            let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share).round() as usize];
            let total = latencies.iter().copied().fold(0, u64::saturating_add);
            rows.push(vec![
                Cell::Text((*kind).to_owned()),
                Cell::Text(operation.clone()),
                Cell::Number(count.operations),
                Cell::share(count.operations, all),
                Cell::Number(count.errors),
                Cell::Bytes(count.bytes),
                Cell::Nanos(total / count.operations.max(1)),
                Cell::Nanos(at(0.5)),
                Cell::Nanos(at(0.99)),
                Cell::Nanos(at(1.0)),
            ]);
        }
        let columns = [
            "kind",
            "operation",
            "count",
            "share",
            "errors",
            "bytes",
            "mean",
            "p50",
            "p99",
            "max",
        ];
        report.table("by kind of file", &columns, rows, None);
    }

    fn report_files(&self, report: &mut Report, top: usize) {
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(name, [read, written, operations])| {
            (
                std::cmp::Reverse((read.saturating_add(*written), *operations)),
                *name,
            )
        });
        let row = |(name, [read, written, operations]): &(&String, &[u64; 3])| {
            vec![
                Cell::Text((*name).clone()),
                Cell::Number(*operations),
                Cell::Bytes(*read),
                Cell::Bytes(*written),
            ]
        };
        let rows = files.iter().take(top).map(row).collect();
        report.table(
            "hot files",
            &["file", "operations", "read", "appended"],
            rows,
            None,
        );
    }
}

/// Operations kept in the search for the slowest ones, at most.
const KEPT: usize = 8192;
