//! The history of a database: its writes, the promises about them, and the check of the promises.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::Verdict;
use super::copies::Copy;

/// The rows of a family.
pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// The rows of all families, by name.
pub type Found = BTreeMap<String, Rows>;

/// One change of one family.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the operands of the operation")]
pub enum Change {
    Put {
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Delete {
        key: Vec<u8>,
    },
    DeleteRange {
        begin: Vec<u8>,
        end: Vec<u8>,
    },
    /// Appends the operand to the value, after a comma.
    Merge {
        key: Vec<u8>,
        operand: Vec<u8>,
    },
}

/// A batch: changes of families, which are numbered in the order of their creation.
#[derive(Clone, Debug)]
pub struct Write {
    /// The number of a family and a change of it, for each change of the batch.
    pub changes: Vec<(usize, Change)>,
    /// True for a write with sync, which returns when it is on disk.
    pub sync: bool,
}

/// The progress of an operation that is not atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    No,
    Begun,
    Done,
}

#[derive(Clone, Debug)]
struct Family {
    name: String,
    created: Progress,
    dropped: Progress,
}

/// A row written without a WAL: its value is a number that only increases.
#[derive(Clone, Copy, Debug, Default)]
struct Unlogged {
    written: u64,
    acknowledged: u64,
    flushed: u64,
}

/// The kind of loss in a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The death of the process: the kernel has all acknowledged data.
    Process,
    /// The kind of loss is that of power: only synced data is safe.
    Power,
}

/// The promises of a database at one moment.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    begun: usize,
    acknowledged: usize,
    durable: usize,
    families: Vec<Family>,
    unlogged: BTreeMap<(usize, Vec<u8>), Unlogged>,
    copies_begun: u64,
    copies: Vec<(Copy, Arc<Found>)>,
}

impl Marks {
    /// The completed checkpoints and backups, with their rows.
    pub fn copies(&self) -> &[(Copy, Arc<Found>)] {
        &self.copies
    }
}

/// The history of a database: its writes in order, and the extent of each promise.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    writes: Vec<Arc<Write>>,
    marks: Marks,
    steps: Vec<String>,
}

/// The first byte of keys that are written without a WAL.
pub(super) const UNLOGGED: u8 = b'u';

/// The number of last steps that a failure shows.
const STEPS_SHOWN: usize = 60;

impl Ledger {
    /// Creates the ledger of a database that does not exist yet.
    pub fn new() -> Ledger {
        let mut ledger = Ledger::default();
        ledger.marks.families.push(Family {
            name: "default".to_owned(),
            created: Progress::Done,
            dropped: Progress::No,
        });
        ledger
    }

    /// The rows that the database has promised to keep until now.
    pub fn marks(&self) -> Marks {
        self.marks.clone()
    }

    /// Records a step, for the report of a failure.
    pub fn note(&mut self, step: impl Into<String>) {
        self.steps.push(step.into());
    }

    /// The number of the most recently created family of that name.
    pub fn family(&self, name: &str) -> Option<usize> {
        self.marks.families.iter().rposition(|family| family.name == name)
    }

    /// Records that a write begins; returns its number.
    pub fn begin(&mut self, write: Write) -> usize {
        self.writes.push(Arc::new(write));
        self.marks.begun = self.writes.len();
        self.marks.begun
    }

    /// Records that write `number` was acknowledged.
    pub fn acknowledge(&mut self, number: usize, sync: bool) -> Verdict {
        if self.marks.acknowledged + 1 != number {
            return Err(format!(
                "write {number} was acknowledged although write {} had failed",
                self.marks.acknowledged + 1
            ));
        }
        self.marks.acknowledged = number;
        if sync {
            self.marks.durable = number;
        }
        Ok(())
    }

    /// Records that write `number` has failed and has had no effect.
    pub fn withdraw(&mut self, number: usize) {
        assert_eq!(number, self.marks.begun, "the last that was begun");
        self.writes.pop();
        self.marks.begun -= 1;
    }

    /// Records that a file or directory outside the database is about to be created; returns a new number for
    /// it.
    pub fn begin_copy(&mut self) -> u64 {
        self.marks.copies_begun += 1;
        self.marks.copies_begun
    }

    /// Records that a checkpoint or a backup is complete and durable.
    pub fn copied(&mut self, copy: Copy, found: Found) {
        self.marks.copies.push((copy, Arc::new(found)));
    }

    /// Records that everything acknowledged in `marks` was synced.
    pub fn synced(&mut self, marks: &Marks) {
        self.marks.durable = self.marks.durable.max(marks.acknowledged);
    }

    /// Records that a row without a WAL is about to be written; returns its value.
    pub fn begin_unlogged(&mut self, family: usize, key: &[u8]) -> u64 {
        let row = self.marks.unlogged.entry((family, key.to_vec())).or_default();
        row.written += 1;
        row.written
    }

    /// Records that the row with this value was written.
    pub fn acknowledge_unlogged(&mut self, family: usize, key: &[u8], value: u64) {
        if let Some(row) = self.marks.unlogged.get_mut(&(family, key.to_vec())) {
            row.acknowledged = value;
        }
    }

    /// Records that everything in `marks` that was written to `family` was flushed.
    pub fn flushed(&mut self, family: usize, marks: &Marks) {
        let touches = |write: &Arc<Write>| write.changes.iter().any(|(of, _)| *of == family);
        let last = self.writes[..marks.acknowledged].iter().rposition(touches);
        self.marks.durable = self.marks.durable.max(last.map_or(0, |last| last + 1));
        for ((of, key), row) in &marks.unlogged {
            if *of == family
                && let Some(now) = self.marks.unlogged.get_mut(&(*of, key.clone()))
            {
                now.flushed = now.flushed.max(row.acknowledged);
            }
        }
    }

    /// Records that the database was closed: rows without a WAL were flushed, or lost if the close failed.
    pub fn closed(&mut self, well: bool) {
        for row in self.marks.unlogged.values_mut() {
            if well {
                row.flushed = row.acknowledged;
            } else {
                row.acknowledged = row.flushed;
            }
        }
    }

    /// Records that a family is about to be created; returns its number.
    pub fn begin_create(&mut self, name: &str) -> usize {
        self.marks.families.push(Family {
            name: name.to_owned(),
            created: Progress::Begun,
            dropped: Progress::No,
        });
        self.marks.families.len() - 1
    }

    /// Records that a family was created.
    pub fn created(&mut self, family: usize) {
        self.marks.families[family].created = Progress::Done;
    }

    /// Records that a family is about to be dropped.
    pub fn begin_drop(&mut self, family: usize) {
        self.marks.families[family].dropped = Progress::Begun;
    }

    /// Records that a family was dropped.
    pub fn dropped(&mut self, family: usize) {
        self.marks.families[family].dropped = Progress::Done;
    }

    /// Checks the rows that were found, and returns the number of writes that survived; an error if a promise
    /// is broken.
    pub fn check(&self, before: &Marks, after: &Marks, loss: Loss, found: &Found) -> Verdict<usize> {
        let numbers = self.check_families(before, after, found)?;
        self.check_unlogged(before, after, &numbers, found)?;
        let found: BTreeMap<usize, Rows> = numbers
            .iter()
            .map(|&(number, name)| {
                let logged = found[name]
                    .iter()
                    .filter(|(key, _)| key.first() != Some(&UNLOGGED));
                (
                    number,
                    logged.map(|(key, value)| (key.clone(), value.clone())).collect(),
                )
            })
            .collect();
        let floor = match loss {
            Loss::Process => before.acknowledged,
            Loss::Power => before.durable,
        };
        let mut model: BTreeMap<usize, Rows> =
            numbers.iter().map(|&(number, _)| (number, Rows::new())).collect();
        let mut kept = None;
        let mut nearest = (usize::MAX, String::new());
        for count in 0..=after.begun {
            if let Some(write) = count.checked_sub(1).map(|last| &self.writes[last]) {
                apply(write, &mut model);
            }
            if count >= floor && model == found {
                kept = Some(count);
            } else if kept.is_none() {
                let differs = differences(&model, &found);
                if differs.len() < nearest.0 {
                    nearest = (
                        differs.len(),
                        format!("after {count} writes:\n{}", differs.join("\n")),
                    );
                }
            }
        }
        kept.ok_or_else(|| {
            format!(
                "what survived is no state after {floor} to {} writes, the fewest rows differ {}\n{}",
                after.begun,
                nearest.1,
                self.story()
            )
        })
    }

    /// Checks the found rows as [`check`](Ledger::check) does, if no write may be lost.
    pub fn check_all(&self, found: &Found) -> Verdict {
        let marks = self.marks();
        let mut before = marks.clone();
        before
            .unlogged
            .values_mut()
            .for_each(|row| row.flushed = row.acknowledged);
        self.check(&before, &marks, Loss::Process, found).map(drop)
    }

    /// The families that were found, with their numbers; an error if a promise is broken.
    fn check_families<'a>(
        &self,
        before: &Marks,
        after: &Marks,
        found: &'a Found,
    ) -> Verdict<Vec<(usize, &'a str)>> {
        let mut numbers = Vec::new();
        for name in found.keys() {
            let number = after.families.iter().rposition(|family| &family.name == name);
            let dropped = |number: &usize| {
                before
                    .families
                    .get(*number)
                    .is_some_and(|family| family.dropped == Progress::Done)
            };
            match number.filter(|number| !dropped(number)) {
                Some(number) => numbers.push((number, &name[..])),
                None => {
                    return Err(format!(
                        "family {name} is there, though dropped or never created\n{}",
                        self.story()
                    ));
                }
            }
        }
        for (number, family) in before.families.iter().enumerate() {
            let must_be = family.created == Progress::Done && after.families[number].dropped == Progress::No;
            if must_be && !numbers.iter().any(|&(found, _)| found == number) {
                return Err(format!("family {} is gone\n{}", family.name, self.story()));
            }
        }
        Ok(numbers)
    }

    fn check_unlogged(
        &self,
        before: &Marks,
        after: &Marks,
        numbers: &[(usize, &str)],
        found: &Found,
    ) -> Verdict {
        for ((family, key), row) in &after.unlogged {
            let Some((_, name)) = numbers.iter().find(|(number, _)| number == family) else {
                continue;
            };
            let value = found[*name].get(key);
            let value: u64 = match value.map(|value| String::from_utf8_lossy(value).parse()) {
                None => 0,
                Some(Ok(value)) => value,
                Some(Err(_)) => u64::MAX,
            };
            let flushed = before
                .unlogged
                .get(&(*family, key.clone()))
                .map_or(0, |row| row.flushed);
            if value < flushed || value > row.written {
                return Err(format!(
                    "{name} {}: written without WAL up to {}, flushed up to {flushed}, found {value}\n{}",
                    String::from_utf8_lossy(key),
                    row.written,
                    self.story()
                ));
            }
        }
        Ok(())
    }

    /// True if the outcome of some write is unknown.
    pub fn is_open_ended(&self) -> bool {
        self.marks.begun > self.marks.acknowledged
    }

    /// The ledger of the database that continues after `kept` writes have survived.
    pub fn survivor(&self, kept: usize, loss: Loss, after: &Marks, found: &Found) -> Ledger {
        let mut next = Ledger {
            writes: self.writes[..kept].to_vec(),
            marks: after.clone(),
            steps: self.steps.clone(),
        };
        next.note(format!("lost {loss:?}, {kept} writes survived"));
        next.marks.begun = kept;
        next.marks.acknowledged = kept;
        next.marks.durable = match loss {
            Loss::Process => next.marks.durable.min(kept),
            Loss::Power => kept,
        };
        for (number, family) in next.marks.families.iter_mut().enumerate() {
            let newest = after.families.iter().rposition(|other| other.name == family.name) == Some(number);
            let exists = newest && found.contains_key(&family.name);
            family.created = Progress::Done;
            family.dropped = if exists { Progress::No } else { Progress::Done };
        }
        for ((family, key), row) in &mut next.marks.unlogged {
            let rows = found.get(&after.families[*family].name);
            let value = rows.and_then(|rows| String::from_utf8_lossy(rows.get(key)?).parse().ok());
            // A row without a WAL that is found after a loss was in a table, so it counts as flushed.
            let value = value.unwrap_or(0);
            *row = Unlogged {
                written: value,
                acknowledged: value,
                flushed: value,
            };
        }
        next
    }

    /// The last steps and the promises, as text.
    pub fn story(&self) -> String {
        let skipped = self.steps.len().saturating_sub(STEPS_SHOWN);
        let mut out = format!(
            "{} writes begun, {} acknowledged, {} durable; the last steps:\n",
            self.marks.begun, self.marks.acknowledged, self.marks.durable
        );
        for (at, step) in self.steps.iter().enumerate().skip(skipped) {
            let _ = writeln!(out, "  {at:3} {step}");
        }
        out
    }
}

fn apply(write: &Write, model: &mut BTreeMap<usize, Rows>) {
    for (family, change) in &write.changes {
        let Some(rows) = model.get_mut(family) else {
            continue;
        };
        match change {
            Change::Put { key, value } => {
                rows.insert(key.clone(), value.clone());
            }
            Change::Delete { key } => {
                rows.remove(key);
            }
            Change::DeleteRange { begin, end } => {
                let doomed: Vec<Vec<u8>> = rows
                    .range(begin.clone()..end.clone())
                    .map(|(key, _)| key.clone())
                    .collect();
                for key in doomed {
                    rows.remove(&key);
                }
            }
            Change::Merge { key, operand } => {
                rows.entry(key.clone())
                    .and_modify(|value| {
                        value.push(b',');
                        value.extend_from_slice(operand);
                    })
                    .or_insert_with(|| operand.clone());
            }
        }
    }
}

fn shown(bytes: Option<&Vec<u8>>) -> String {
    match bytes {
        None => "nothing".to_owned(),
        Some(bytes) => {
            let head = String::from_utf8_lossy(&bytes[..bytes.len().min(24)]).into_owned();
            format!("{head:?} of {} bytes", bytes.len())
        }
    }
}

fn rows_differ(family: &str, expected: &Rows, found: &Rows, out: &mut Vec<String>) {
    let keys = expected
        .keys()
        .chain(found.keys().filter(|key| !expected.contains_key(*key)));
    for key in keys {
        if expected.get(key) != found.get(key) {
            out.push(format!(
                "  family {family} {}: {} expected, {} found",
                String::from_utf8_lossy(key),
                shown(expected.get(key)),
                shown(found.get(key))
            ));
        }
    }
}

fn differences(expected: &BTreeMap<usize, Rows>, found: &BTreeMap<usize, Rows>) -> Vec<String> {
    let mut out = Vec::new();
    for (family, rows) in expected {
        rows_differ(&family.to_string(), rows, &found[family], &mut out);
    }
    out
}

/// The differences between two dumps, as text.
pub(super) fn difference(expected: &Found, found: &Found) -> String {
    let mut out = Vec::new();
    let empty = Rows::new();
    for name in expected
        .keys()
        .chain(found.keys().filter(|name| !expected.contains_key(*name)))
    {
        if expected.contains_key(name) != found.contains_key(name) {
            out.push(format!("  family {name} in one of them alone"));
        }
        rows_differ(
            name,
            expected.get(name).unwrap_or(&empty),
            found.get(name).unwrap_or(&empty),
            &mut out,
        );
    }
    out.join("\n")
}
