//! The report of a trace of queries.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use esker::{Operation, TraceRecord, TracedQuery, WriteBatch};

use crate::report::{Cell, POWERS, Powers, Report, Timeline};
use crate::text::Form;

/// Ranges that the keys are divided into.
const RANGES: usize = 16;

/// Accesses of one kind: their number, the bytes of their keys, and of their values.
#[derive(Clone, Copy, Default)]
struct Count {
    accesses: u64,
    key_bytes: u64,
    value_bytes: u64,
}

/// Reads and writes of a key.
#[derive(Clone, Copy, Default)]
struct Accesses {
    reads: u64,
    writes: u64,
}

impl Accesses {
    fn all(&self) -> u64 {
        self.reads + self.writes
    }
}

/// The sums over a trace.
pub struct Queries {
    began: u64,
    last: u64,
    queries: u64,
    batches: u64,
    /// Batches that could not be taken apart.
    damaged_batches: u64,
    by_kind: BTreeMap<&'static str, Count>,
    by_family: BTreeMap<u32, Accesses>,
    keys: HashMap<(u32, Vec<u8>), Accesses>,
    key_sizes: Powers,
    value_sizes: Powers,
    multi_get_sizes: Powers,
    batch_sizes: Powers,
    timeline: Timeline,
}

impl Queries {
    /// Creates an empty list of queries, for a trace that began at `began`.
    pub fn new(began: u64) -> Queries {
        Queries {
            began,
            last: began,
            queries: 0,
            batches: 0,
            damaged_batches: 0,
            by_kind: BTreeMap::new(),
            by_family: BTreeMap::new(),
            keys: HashMap::new(),
            key_sizes: Powers::default(),
            value_sizes: Powers::default(),
            multi_get_sizes: Powers::default(),
            batch_sizes: Powers::default(),
            timeline: Timeline::default(),
        }
    }

    /// Adds a query.
    pub fn add(&mut self, record: &TraceRecord) {
        self.queries += 1;
        self.last = self.last.max(record.timestamp);
        self.timeline.add(record.timestamp.saturating_sub(self.began));
        match &record.query {
            TracedQuery::Write(batch) => self.add_batch(batch),
            TracedQuery::Get { family, key } => self.access("get", *family, key, None),
            TracedQuery::Seek {
                for_prev,
                family,
                key,
                ..
            } => {
                let kind = if *for_prev { "seek for prev" } else { "seek" };
                self.access(kind, *family, key, None);
            }
            TracedQuery::MultiGet(keys) => {
                self.multi_get_sizes.add(keys.len() as u64);
                for (family, key) in keys {
                    self.access("multi get", *family, key, None);
                }
            }
        }
    }

    fn add_batch(&mut self, batch: &[u8]) {
        self.batches += 1;
        let Ok(batch) = WriteBatch::from_data(batch) else {
            self.damaged_batches += 1;
            return;
        };
        let mut rows = 0;
        for operation in batch.operations() {
            let Ok(operation) = operation else {
                self.damaged_batches += 1;
                break;
            };
            let (kind, family, key, value) = match operation {
                Operation::Put { family, key, value } => ("put", family, key, value),
                Operation::Delete { family, key } => ("delete", family, key, &[][..]),
                Operation::SingleDelete { family, key } => ("single delete", family, key, &[][..]),
                Operation::Merge { family, key, operand } => ("merge", family, key, operand),
                Operation::DeleteRange { family, begin, end } => ("delete range", family, begin, end),
                Operation::BlobIndex { family, key, index } => ("put", family, key, index),
                Operation::Entity { family, key, entity } => ("put entity", family, key, entity),
                Operation::TimedPut {
                    family, key, value, ..
                } => ("timed put", family, key, value),
                _ => continue,
            };
            rows += 1;
            self.access(kind, family, key, Some(value));
        }
        self.batch_sizes.add(rows);
    }

    /// Counts an access of a key: a write if there is a value.
    fn access(&mut self, kind: &'static str, family: u32, key: &[u8], value: Option<&[u8]>) {
        let count = self.by_kind.entry(kind).or_default();
        count.accesses += 1;
        count.key_bytes += key.len() as u64;
        self.key_sizes.add(key.len() as u64);
        let of_key = self.keys.entry((family, key.to_vec())).or_default();
        let of_family = self.by_family.entry(family).or_default();
        match value {
            Some(value) => {
                count.value_bytes += value.len() as u64;
                self.value_sizes.add(value.len() as u64);
                of_key.writes += 1;
                of_family.writes += 1;
            }
            None => {
                of_key.reads += 1;
                of_family.reads += 1;
            }
        }
    }

    /// The report of the trace, with at most `top` keys, which are shown in the form `form`.
    pub fn report(self, top: usize, form: Form) -> Report {
        let mut report = Report::default();
        let micros = self.last.saturating_sub(self.began);
        let accesses: u64 = self.by_kind.values().map(|count| count.accesses).sum();
        report.facts.extend([
            ("duration", Cell::Nanos(micros.saturating_mul(1000))),
            ("queries", Cell::Number(self.queries)),
            (
                "queries a second",
                Cell::Decimal(self.queries as f64 * 1e6 / micros.max(1) as f64),
            ),
            ("most in a second", Cell::Number(self.timeline.peak())),
            ("batches", Cell::Number(self.batches)),
            ("accesses of keys", Cell::Number(accesses)),
            ("keys", Cell::Number(self.keys.len() as u64)),
        ]);
        if self.damaged_batches > 0 {
            let damaged = Cell::Number(self.damaged_batches);
            report.facts.push(("damaged batches", damaged));
        }
        let row = |(kind, count): (&&'static str, &Count)| {
            vec![
                Cell::Text((*kind).to_owned()),
                Cell::Number(count.accesses),
                Cell::share(count.accesses, accesses),
                Cell::mean(count.key_bytes, count.accesses),
                Cell::mean(count.value_bytes, count.accesses),
            ]
        };
        let rows = self.by_kind.iter().map(row).collect();
        let columns = ["operation", "accesses", "share", "mean key", "mean value"];
        report.table("by operation", &columns, rows, Some(2));
        let row = |(family, count): (&u32, &Accesses)| {
            vec![
                Cell::Number(u64::from(*family)),
                Cell::Number(count.reads),
                Cell::Number(count.writes),
                Cell::share(count.all(), accesses),
            ]
        };
        let rows = self.by_family.iter().map(row).collect();
        report.table(
            "by column family",
            &["family", "reads", "writes", "share"],
            rows,
            Some(3),
        );
        self.timeline.report(&mut report);
        let sizes = [
            ("key sizes", "bytes", &self.key_sizes, true),
            ("value sizes", "bytes", &self.value_sizes, true),
            ("batch sizes", "rows", &self.batch_sizes, false),
            ("multi get sizes", "keys", &self.multi_get_sizes, false),
        ];
        for (name, column, powers, bytes) in sizes {
            let mut columns = vec![column];
            columns.extend(POWERS);
            let rows = powers.rows(if bytes { Cell::Bytes } else { Cell::Number });
            report.table(name, &columns, rows, Some(2));
        }
        self.report_keys(&mut report, accesses, top, form);
        report
    }

    fn report_keys(&self, report: &mut Report, accesses: u64, top: usize, form: Form) {
        let mut per_key = Powers::default();
        self.keys.values().for_each(|count| per_key.add(count.all()));
        let mut columns = vec!["accesses"];
        columns.extend(POWERS);
        report.table("accesses per key", &columns, per_key.rows(Cell::Number), Some(2));
        let mut keys: Vec<_> = self.keys.iter().collect();
        keys.sort_unstable_by_key(|(key, _)| *key);
        let show = |key: &[u8]| Cell::Text(form.show(key).to_string());
        let mut rows = Vec::new();
        for range in keys.chunks(keys.len().div_ceil(RANGES).max(1)) {
            let (((family, from), _), (_, to)) = (&range[0], &range[range.len() - 1].0);
            let count: u64 = range.iter().map(|(_, count)| count.all()).sum();
            rows.push(vec![
                Cell::Number(u64::from(*family)),
                show(from),
                show(to),
                Cell::Number(count),
                Cell::share(count, accesses),
            ]);
        }
        let columns = ["family", "from", "to", "accesses", "share"];
        report.table("ranges of as many keys", &columns, rows, Some(4));
        keys.sort_by_key(|(_, count)| Reverse(count.all()));
        let row = |((family, key), count): &(&(u32, Vec<u8>), &Accesses)| {
            vec![
                Cell::Number(u64::from(*family)),
                show(key),
                Cell::Number(count.reads),
                Cell::Number(count.writes),
                Cell::share(count.all(), accesses),
            ]
        };
        let rows = keys.iter().take(top).map(row).collect();
        report.table(
            "hot keys",
            &["family", "key", "reads", "writes", "share"],
            rows,
            Some(4),
        );
    }
}
