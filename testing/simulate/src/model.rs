//! The writes of a database in the order in which they took effect, and the answers that this order allows.
//!
//! The engine reports when a write gets its place in the order (the point "logged": it is in the WAL, if it
//! asked for that) and when the next write in the order becomes visible (the point "published", which another
//! thread may report). The state after the first N writes is a *version*. A read is right if it shows one of
//! the versions that existed between its call and its return; a version contains a batch completely or not at
//! all. A snapshot or iterator is one such version, and each read of it narrows down which one.
//!
//! A crash leaves a version too: none older than the promised one. It may be the newest version plus some of
//! the following writes that had not become visible yet, in their order: those that have their place, and
//! then perhaps one that was about to get it.
//!
//! Rows without WAL survive as far as they were flushed, key by key. With `atomic_flush` they are those of
//! one version: the tables of all families are installed in one step.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The rows of a family.
pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// The effect of a write on one key or range.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the operands of the operation")]
pub enum Effect {
    Put { key: Vec<u8>, value: Vec<u8> },
    Delete { key: Vec<u8> },
    DeleteRange { begin: Vec<u8>, end: Vec<u8> },
    Merge { key: Vec<u8>, operand: Vec<u8> },
}

/// The family numbers and effects of a batch.
pub type Effects = Arc<Vec<(usize, Effect)>>;

/// The kind of a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The process died: the kernel has everything that was acknowledged.
    Process,
    /// The power was lost: only synced data is safe.
    Power,
}

/// The versions that a read may have seen.
pub type Versions = Vec<usize>;

/// A key that is written without WAL; its value is a number that only grows.
#[derive(Clone, Copy, Debug, Default)]
struct Unlogged {
    written: u64,
    acknowledged: u64,
    flushed: u64,
}

/// Keys that are written without WAL begin with this byte, and no other keys do.
pub const UNLOGGED: u8 = b'u';

/// The values that a key has had, each with the version that it begins at.
type Values = Vec<(usize, Option<Vec<u8>>)>;

/// Whether a family exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The family exists, whatever happens.
    There,
    /// A creation or drop of the family began, and its success was not reported.
    Perhaps,
    /// The family does not exist, and never comes back.
    Gone,
}

/// The model of a database; see the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Model {
    names: Vec<String>,
    presence: Vec<Presence>,
    /// Logged rows before the first of `writes`.
    base: Vec<Rows>,
    /// Logged writes that a crash may still lose, in order.
    writes: Vec<Effects>,
    /// The number of `writes` that no loss of power can take.
    durable: usize,
    /// The number of `writes` that no death of the process can take.
    acknowledged: usize,
    unlogged: BTreeMap<(usize, Vec<u8>), Unlogged>,
    /// The number of families that flushes take together, which are the first; 0: each is flushed alone.
    together: usize,
    /// The rows without WAL at the beginning of this life.
    unlogged_base: Vec<Rows>,
    /// The writes without WAL of this life that became visible, in order.
    unlogged_writes: Vec<Effects>,
    /// The current version of the database in this life.
    version: usize,
    rows: Vec<Rows>,
    values: Vec<BTreeMap<Vec<u8>, Values>>,
    /// Writes that began and have no place in the order, by their steps' numbers. A crash may leave one of
    /// them all the same.
    begun: BTreeMap<u64, Effects>,
    /// Writes that have their place in the order and are not visible yet. `None`: a write of the engine's
    /// own, whose contents are unknown.
    ordered: VecDeque<Option<Ordered>>,
    /// Writes that became visible, by their steps: their numbers among the logged ones. The thread of a write
    /// asks for the number once.
    published: BTreeMap<u64, usize>,
}

/// A write that has its place in the order.
#[derive(Clone, Debug)]
struct Ordered {
    step: u64,
    effects: Effects,
    no_wal: bool,
}

/// The state when a flush or sync begins, which it makes durable.
#[derive(Clone, Debug)]
pub struct Promised {
    writes: usize,
    unlogged: BTreeMap<(usize, Vec<u8>), u64>,
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(24)]);
    if bytes.len() > 24 {
        format!("{text}.. ({} bytes)", bytes.len())
    } else {
        text.into_owned()
    }
}

fn shown_value(value: Option<&[u8]>) -> String {
    value.map_or_else(|| "nothing".to_owned(), shown)
}

/// The rows that `effects` change, and their new values. `rows` shows which keys a range contains.
fn apply(
    rows: &mut [Rows],
    effects: &[(usize, Effect)],
    mut changed: impl FnMut(usize, &[u8], Option<&Vec<u8>>),
) {
    for (family, effect) in effects {
        let rows = &mut rows[*family];
        match effect {
            Effect::Put { key, value } => {
                rows.insert(key.clone(), value.clone());
                changed(*family, key, Some(value));
            }
            Effect::Delete { key } => {
                rows.remove(key);
                changed(*family, key, None);
            }
            Effect::DeleteRange { begin, end } => {
                let covered: Vec<Vec<u8>> = rows
                    .range(begin.clone()..end.clone())
                    .map(|(key, _)| key.clone())
                    .collect();
                for key in covered {
                    rows.remove(&key);
                    changed(*family, &key, None);
                }
            }
            Effect::Merge { key, operand } => {
                let value = rows.entry(key.clone()).or_default();
                if !value.is_empty() {
                    value.push(b',');
                }
                value.extend_from_slice(operand);
                changed(*family, key, Some(value));
            }
        }
    }
}

impl Model {
    /// An empty database with these families.
    pub fn new(names: impl IntoIterator<Item = String>) -> Model {
        let names: Vec<String> = names.into_iter().collect();
        let empty = vec![Rows::new(); names.len()];
        let mut model = Model {
            base: empty.clone(),
            presence: vec![Presence::There; names.len()],
            names,
            ..Model::default()
        };
        model.begin_life(empty);
        model
    }

    /// Records that flushes take the families that exist now together, as `atomic_flush` demands.
    pub fn flush_together(&mut self) {
        self.together = self.names.len();
    }

    /// The families that a flush of `named` must take besides them.
    pub fn flushed_with(&self, named: &[String]) -> Vec<String> {
        let others = { self.names[..self.together].iter() }.filter(|name| !named.contains(name));
        others.cloned().collect()
    }

    /// Returns the number of a family.
    pub fn family(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }

    /// Whether each family exists, by the families' numbers.
    pub fn presence(&self) -> &[Presence] {
        &self.presence
    }

    /// True for a family that may have been dropped, or may not have been created.
    pub fn may_be_gone(&self, family: usize) -> bool {
        self.presence[family] != Presence::There
    }

    /// Records that the creation of a family begins, under a name that no other family had. Returns its
    /// number.
    pub fn begin_create(&mut self, name: &str) -> usize {
        self.names.push(name.to_owned());
        self.presence.push(Presence::Perhaps);
        self.base.push(Rows::new());
        self.rows.push(Rows::new());
        self.values.push(BTreeMap::new());
        self.names.len() - 1
    }

    /// Records that a family was created.
    pub fn created(&mut self, family: usize) {
        self.presence[family] = Presence::There;
    }

    /// Records that the drop of a family begins.
    pub fn begin_drop(&mut self, family: usize) {
        self.presence[family] = Presence::Perhaps;
    }

    /// Records that a family was dropped.
    pub fn dropped(&mut self, family: usize) {
        self.presence[family] = Presence::Gone;
    }

    fn begin_life(&mut self, rows: Vec<Rows>) {
        self.version = 0;
        let first = |rows: &Rows| {
            rows.iter()
                .map(|(key, value)| (key.clone(), vec![(0, Some(value.clone()))]))
                .collect()
        };
        self.values = rows.iter().map(first).collect();
        self.unlogged_base = rows.iter().map(unlogged).collect();
        self.rows = rows;
        self.begun.clear();
        self.ordered.clear();
        self.unlogged_writes.clear();
        self.published.clear();
    }

    /// The current version.
    pub fn version(&self) -> usize {
        self.version
    }

    /// Records that a write begins.
    pub fn begin(&mut self, step: u64, effects: &Effects) {
        self.begun.insert(step, effects.clone());
    }

    /// Records that a write got its place in the order, after all that have one.
    pub fn order(&mut self, step: u64, effects: &Effects, no_wal: bool) {
        self.begun.remove(&step);
        self.ordered.push_back(Some(Ordered {
            step,
            effects: effects.clone(),
            no_wal,
        }));
    }

    /// Records that a write of the engine's own got its place in the order.
    pub fn order_unknown(&mut self) {
        self.ordered.push_back(None);
    }

    /// Records that the next write in the order is visible.
    pub fn publish(&mut self) {
        let Some(next) = self.ordered.pop_front().flatten() else {
            return;
        };
        self.version += 1;
        let (version, values) = (self.version, &mut self.values);
        apply(&mut self.rows, &next.effects, |family, key, value| {
            let values = values[family].entry(key.to_vec()).or_default();
            values.push((version, value.cloned()));
        });
        match next.no_wal {
            true => self.unlogged_writes.push(next.effects),
            false => self.writes.push(next.effects),
        }
        self.published.insert(next.step, self.writes.len());
    }

    /// The number of a write that became visible.
    pub fn take_published(&mut self, step: u64) -> Option<usize> {
        self.published.remove(&step)
    }

    /// Records that a write failed before it could reach any file.
    pub fn refused(&mut self, step: u64) {
        self.begun.remove(&step);
    }

    /// Records that the write that was published as the `number`th was acknowledged.
    pub fn acknowledge(&mut self, number: usize, sync: bool) {
        self.acknowledged = self.acknowledged.max(number);
        if sync {
            self.durable = self.durable.max(number);
        }
    }

    /// Records that a write of a row without WAL begins; the row's value is `number`.
    pub fn begin_unlogged(&mut self, family: usize, key: &[u8], number: u64) {
        let row = self.unlogged.entry((family, key.to_vec())).or_default();
        row.written = row.written.max(number);
    }

    /// Records that a write without WAL was acknowledged.
    pub fn acknowledge_unlogged(&mut self, family: usize, key: &[u8], number: u64) {
        if let Some(row) = self.unlogged.get_mut(&(family, key.to_vec())) {
            row.acknowledged = row.acknowledged.max(number);
        }
    }

    /// The state that a flush or sync which begins now will make durable.
    pub fn promised(&self) -> Promised {
        let unlogged = self
            .unlogged
            .iter()
            .map(|(row, state)| (row.clone(), state.acknowledged));
        Promised {
            writes: self.writes.len(),
            unlogged: unlogged.collect(),
        }
    }

    /// Records a sync: the writes of `promised` are on the disk.
    pub fn synced(&mut self, promised: &Promised) {
        self.durable = self.durable.max(promised.writes);
    }

    /// Records a flush of `family`: its rows of `promised` are in tables, and rows of other families that
    /// precede them in WALs are on the disk.
    pub fn flushed(&mut self, family: usize, promised: &Promised) {
        let touches = |write: &Effects| write.iter().any(|(of, _)| *of == family);
        let upto = promised.writes.min(self.writes.len());
        let last = self.writes[..upto].iter().rposition(touches);
        self.durable = self.durable.max(last.map_or(0, |last| last + 1));
        for ((of, key), number) in &promised.unlogged {
            if *of == family
                && let Some(row) = self.unlogged.get_mut(&(*of, key.clone()))
            {
                row.flushed = row.flushed.max(*number);
            }
        }
    }

    /// Records that the database was closed without an error: rows that no WAL holds are in tables.
    pub fn closed(&mut self) {
        for row in self.unlogged.values_mut() {
            row.flushed = row.flushed.max(row.acknowledged);
        }
    }

    /// The value of a key in a version.
    fn value(&self, family: usize, key: &[u8], version: usize) -> Option<&[u8]> {
        let values = self.values[family].get(key)?;
        let after = values.partition_point(|(from, _)| *from <= version);
        values[..after].last()?.1.as_deref()
    }

    /// The versions of `seen` in which the given keys have the given values.
    ///
    /// # Errors
    ///
    /// There is no such version.
    pub fn check_values(
        &self,
        family: usize,
        found: &[(Vec<u8>, Option<Vec<u8>>)],
        seen: &[usize],
    ) -> Result<Versions, String> {
        let fits = |&version: &usize| {
            found
                .iter()
                .all(|(key, value)| self.value(family, key, version) == value.as_deref())
        };
        let left: Versions = seen.iter().copied().filter(fits).collect();
        if !left.is_empty() {
            return Ok(left);
        }
        let mut told = format!("read: {} in none of {}:", self.names[family], Model::span(seen));
        for (key, value) in found {
            let mut may: Vec<String> = seen
                .iter()
                .map(|&version| shown_value(self.value(family, key, version)))
                .collect();
            may.dedup();
            told += &format!(
                " {} is {}, may be {};",
                shown(key),
                shown_value(value.as_deref()),
                may.join(" or ")
            );
        }
        Err(told)
    }

    fn span(seen: &[usize]) -> String {
        match seen {
            [] => "no version".to_owned(),
            [only] => format!("version {only}"),
            [first, .., last] => format!("versions {first} to {last}"),
        }
    }

    /// At most `limit` rows of a family in a version, from `from` on, forwards or backwards.
    fn rows_at(&self, family: usize, version: usize, walk: &Walk) -> Vec<Row> {
        let row = |key: &Vec<u8>| Some((key.clone(), self.value(family, key, version)?.to_vec()));
        let values = &self.values[family];
        let limit = walk.limit.unwrap_or(usize::MAX);
        match (&walk.from, walk.back) {
            (None, false) => values.keys().filter_map(row).take(limit).collect(),
            (Some(from), false) => values
                .range(from.clone()..)
                .filter_map(|(key, _)| row(key))
                .take(limit)
                .collect(),
            (None, true) => values.keys().rev().filter_map(row).take(limit).collect(),
            (Some(from), true) => values
                .range(..=from.clone())
                .rev()
                .filter_map(|(key, _)| row(key))
                .take(limit)
                .collect(),
        }
    }

    /// The versions of `seen` in which `walk` returns the given rows.
    ///
    /// # Errors
    ///
    /// There is no such version.
    pub fn check_walk(
        &self,
        family: usize,
        walk: &Walk,
        found: &[Row],
        seen: &[usize],
    ) -> Result<Versions, String> {
        let left: Versions = seen
            .iter()
            .copied()
            .filter(|&version| self.rows_at(family, version, walk) == found)
            .collect();
        if !left.is_empty() {
            return Ok(left);
        }
        let last = seen.last().copied().unwrap_or(self.version);
        let expected: BTreeMap<_, _> = self.rows_at(family, last, walk).into_iter().collect();
        let got: BTreeMap<_, _> = found.iter().cloned().collect();
        let differs = difference(&self.names[family], &expected, &got);
        Err(format!(
            "read: a walk through {} shows none of {}; of the last differ {}",
            self.names[family],
            Model::span(seen),
            if differs.is_empty() {
                "only the order or repetitions".to_owned()
            } else {
                differs.join(", ")
            }
        ))
    }

    /// The versions of `seen` in which the families found have these rows, among the rows that a WAL holds.
    /// `before` says which families existed when the copy was begun.
    ///
    /// # Errors
    ///
    /// There is no such version.
    pub fn check_all(
        &self,
        found: &BTreeMap<String, Rows>,
        seen: &[usize],
        before: &[Presence],
    ) -> Result<Versions, String> {
        let mut left = seen.to_vec();
        for (family, name) in self.names.iter().enumerate() {
            // A family that is created or dropped meanwhile may or may not be included.
            let before = before.get(family).copied().unwrap_or(Presence::Perhaps);
            let stays = before == Presence::There && self.presence[family] == Presence::There;
            let Some(rows) = found.get(name) else {
                if stays {
                    return Err(format!("families: {name} is not there"));
                }
                continue;
            };
            if before == Presence::Gone {
                return Err(format!("families: {name} was dropped and is there"));
            }
            let rows = logged(rows);
            let has_these = |&version: &usize| {
                let mut there = self.rows_at(family, version, &Walk::default());
                there.retain(|(key, _)| is_logged(key));
                there.into_iter().eq(rows.clone())
            };
            let fits: Versions = left.iter().copied().filter(has_these).collect();
            if fits.is_empty() {
                let last = left.last().copied().unwrap_or(self.version);
                let there = self.rows_at(family, last, &Walk::default());
                let differs = difference(name, &logged(&there.into_iter().collect()), &rows);
                return Err(format!(
                    "read: {name} is as in none of {}; of the last differ {}",
                    Model::span(&left),
                    differs.join(", ")
                ));
            }
            left = fits;
        }
        Ok(left)
    }

    /// Decides, from the families found, whether families of unknown state exist.
    fn find_families(&mut self, found: &BTreeMap<String, Rows>) -> Result<(), String> {
        if let Some(stranger) = found.keys().find(|name| !self.names.contains(name)) {
            return Err(format!("families: {stranger} was never created"));
        }
        for (name, presence) in self.names.iter().zip(&mut self.presence) {
            *presence = match (*presence, found.contains_key(name)) {
                (Presence::There, false) => return Err(format!("families: {name} is not there")),
                (Presence::Gone, true) => return Err(format!("families: {name} was dropped and is there")),
                (_, true) => Presence::There,
                (_, false) => Presence::Gone,
            };
        }
        Ok(())
    }

    /// Checks that the rows found after a crash keep the promises; the model continues from them.
    ///
    /// # Errors
    ///
    /// The promise that was broken.
    pub fn survive(&mut self, loss: Loss, found: &BTreeMap<String, Rows>) -> Result<(), String> {
        self.find_families(found)?;
        let empty = Rows::new();
        let all: Vec<&Rows> = self
            .names
            .iter()
            .map(|name| found.get(name).unwrap_or(&empty))
            .collect();
        self.check_unlogged(&all)?;
        let logged: Vec<Rows> = all.iter().map(|rows| logged(rows)).collect();
        let floor = match loss {
            Loss::Process => self.acknowledged,
            Loss::Power => self.durable,
        };
        let (kept, tail) = self
            .writes_kept(&logged, floor)
            .map_err(|why| format!("recovery: after a loss of {loss:?} {why}"))?;
        self.writes.truncate(kept);
        self.writes.extend(tail);
        let kept = self.writes.len();
        match loss {
            // The data may be only in the kernel's memory.
            Loss::Process => self.durable = self.durable.min(kept),
            Loss::Power => {
                self.base = logged;
                self.writes.clear();
                self.durable = 0;
            }
        }
        self.acknowledged = self.writes.len();
        for ((family, key), row) in &mut self.unlogged {
            let number = number_of(all[*family].get(key)).unwrap_or(0);
            *row = Unlogged {
                written: row.written,
                acknowledged: number,
                flushed: number,
            };
        }
        let rows = all.into_iter().cloned().collect();
        self.begin_life(rows);
        Ok(())
    }

    /// Returns the number of published writes, at least `floor`, after which the state is `logged`, and the
    /// writes after them that had not become visible and are part of it.
    fn writes_kept(&self, logged: &[Rows], floor: usize) -> Result<(usize, Vec<Effects>), String> {
        let mut state = self.base.clone();
        let mut kept = None;
        let mut nearest: Option<(usize, Vec<String>)> = None;
        for count in 0..=self.writes.len() {
            if let Some(write) = count.checked_sub(1).map(|last| &self.writes[last]) {
                apply(&mut state, write, |_, _, _| {});
            }
            if self.is_same(&state, logged) {
                kept = Some(count);
            } else if count >= floor {
                let differs = self.differences(&state, logged);
                if nearest
                    .as_ref()
                    .is_none_or(|(_, fewest)| differs.len() < fewest.len())
                {
                    nearest = Some((count, differs));
                }
            }
        }
        if let Some(kept) = kept.filter(|&kept| kept >= floor) {
            return Ok((kept, Vec::new()));
        }
        let tail = self.unpublished_kept(state, logged);
        if !tail.is_empty() {
            return Ok((self.writes.len(), tail));
        }
        let (count, differs) = nearest.unwrap_or_default();
        let older = kept.map_or_else(String::new, |kept| format!("the state after {kept} writes; "));
        Err(format!(
            "there is {older}no state after {floor} to {} writes; of that after {count} differ {}",
            self.writes.len(),
            differs.join(", ")
        ))
    }

    /// Returns the writes that had not become visible after which the state is `logged`: some that have their
    /// place in the order, and then perhaps one that was about to get it. `state` has all published writes.
    fn unpublished_kept(&self, mut state: Vec<Rows>, logged: &[Rows]) -> Vec<Effects> {
        let (mut behind, mut kept) = (Vec::new(), Vec::new());
        let ordered = self.ordered.iter().flatten();
        for ordered in ordered.filter(|ordered| !ordered.no_wal) {
            apply(&mut state, &ordered.effects, |_, _, _| {});
            behind.push(ordered.effects.clone());
            if self.is_same(&state, logged) {
                kept.clone_from(&behind);
            }
        }
        if !kept.is_empty() {
            return kept;
        }
        for begun in self.begun.values() {
            let mut with = state.clone();
            apply(&mut with, begun, |_, _, _| {});
            if self.is_same(&with, logged) {
                behind.push(begun.clone());
                return behind;
            }
        }
        Vec::new()
    }

    /// True if the families have the same rows. Those of a dropped family are ignored.
    fn is_same(&self, state: &[Rows], logged: &[Rows]) -> bool {
        (0..state.len()).all(|at| self.presence[at] == Presence::Gone || state[at] == logged[at])
    }

    /// The rows that differ, for people to read.
    fn differences(&self, state: &[Rows], logged: &[Rows]) -> Vec<String> {
        (0..state.len())
            .filter(|&family| self.presence[family] != Presence::Gone)
            .flat_map(|family| difference(&self.names[family], &state[family], &logged[family]))
            .collect()
    }

    fn check_unlogged(&self, found: &[&Rows]) -> Result<(), String> {
        let kept = |family: &usize| self.presence[*family] == Presence::There;
        for ((family, key), row) in self.unlogged.iter().filter(|((family, _), _)| kept(family)) {
            let value = found[*family].get(key);
            let number = number_of(value);
            if !number.is_some_and(|number| number >= row.flushed && number <= row.written) {
                return Err(format!(
                    "recovery: {} {}, written without WAL up to {}, flushed up to {}, is {}",
                    self.names[*family],
                    shown(key),
                    row.written,
                    row.flushed,
                    shown_value(value.map(Vec::as_slice))
                ));
            }
        }
        match self.together {
            0 => Ok(()),
            _ => self.check_flushed_together(found),
        }
    }

    /// Checks that the rows without WAL are those of one version: the rows that the life before left, and the
    /// first of the writes since.
    fn check_flushed_together(&self, found: &[&Rows]) -> Result<(), String> {
        let waiting = self.ordered.iter().flatten().filter(|write| write.no_wal);
        let writes = { self.unlogged_writes.iter() }.chain(waiting.map(|write| &write.effects));
        let mut state = self.unlogged_base.clone();
        let unlogged: Vec<Rows> = found.iter().map(|rows| unlogged(rows)).collect();
        state.resize(unlogged.len(), Rows::new());
        if self.is_same(&state, &unlogged) {
            return Ok(());
        }
        for write in writes {
            apply(&mut state, write, |_, _, _| {});
            if self.is_same(&state, &unlogged) {
                return Ok(());
            }
        }
        let differs = self.differences(&state, &unlogged);
        Err(format!(
            "recovery: the rows without WAL, which all families flush together, are those of no version; of the last differ {}",
            differs.join(", ")
        ))
    }
}

fn is_logged(key: &[u8]) -> bool {
    key.first() != Some(&UNLOGGED)
}

/// The rows that a WAL holds.
fn logged(rows: &Rows) -> Rows {
    let rows = rows.iter().filter(|(key, _)| is_logged(key));
    rows.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The rows that no WAL holds.
fn unlogged(rows: &Rows) -> Rows {
    let rows = rows.iter().filter(|(key, _)| !is_logged(key));
    rows.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The number that a value written without WAL stands for; 0 if there is no value.
fn number_of(value: Option<&Vec<u8>>) -> Option<u64> {
    match value {
        None => Some(0),
        Some(bytes) => {
            let text = std::str::from_utf8(bytes).ok()?;
            text.strip_prefix('v')?.split('.').next()?.parse().ok()
        }
    }
}

/// A walk along the rows.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// The start of the walk: its first row is at or after this key or, backwards, at or before it. `None`:
    /// the end that the walk comes from.
    pub from: Option<Vec<u8>>,
    /// True for a walk backwards.
    pub back: bool,
    /// The maximum number of rows.
    pub limit: Option<usize>,
}

/// The rows that differ, for people to read.
fn difference(family: &str, expected: &Rows, found: &Rows) -> Vec<String> {
    let keys = expected
        .keys()
        .chain(found.keys().filter(|key| !expected.contains_key(*key)));
    let differs = keys
        .filter(|key| expected.get(*key) != found.get(*key))
        .map(|key| {
            let value = |rows: &Rows| shown_value(rows.get(key).map(Vec::as_slice));
            format!(
                "{family} {}: {} expected, {} found",
                shown(key),
                value(expected),
                value(found)
            )
        });
    differs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str, value: &str) -> Effects {
        Arc::new(vec![(
            0,
            Effect::Put {
                key: key.into(),
                value: value.into(),
            },
        )])
    }

    fn found(rows: &[(&str, &str)]) -> BTreeMap<String, Rows> {
        let rows = rows
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect();
        BTreeMap::from([("default".to_owned(), rows)])
    }

    /// Three puts, the second synced, the third acknowledged, and a fourth that is not visible yet.
    fn three() -> Model {
        let mut model = Model::new(["default".to_owned()]);
        for (step, key) in [(1, "a"), (2, "b"), (3, "c")] {
            let effects = put(key, "1");
            model.begin(step, &effects);
            model.order(step, &effects, false);
            model.publish();
            let number = model.take_published(step).unwrap();
            model.acknowledge(number, step == 2);
        }
        model.begin(4, &put("d", "1"));
        model
    }

    #[test]
    fn a_read_shows_one_version_of_its_time() {
        let mut model = three();
        model.order(4, &put("a", "2"), false);
        model.publish();
        let read = |value: Option<&str>| [(b"a".to_vec(), value.map(|value| value.into()))];
        assert_eq!(
            model.check_values(0, &read(Some("1")), &[2, 3, 4]).unwrap(),
            [2, 3]
        );
        assert_eq!(model.check_values(0, &read(Some("2")), &[3, 4]).unwrap(), [4]);
        let error = model.check_values(0, &read(None), &[3, 4]).unwrap_err();
        assert_eq!(
            error,
            "read: default in none of versions 3 to 4: a is nothing, may be 1 or 2;"
        );
        let both = [(b"a".to_vec(), Some(b"1".to_vec())), (b"c".to_vec(), None)];
        assert_eq!(model.check_values(0, &both, &[0, 1, 2, 3, 4]).unwrap(), [1, 2]);
        let walk = Walk {
            from: Some(b"b".to_vec()),
            limit: Some(1),
            ..Walk::default()
        };
        let row = [(b"b".to_vec(), b"1".to_vec())];
        assert_eq!(model.check_walk(0, &walk, &row, &[1, 2, 3]).unwrap(), [2, 3]);
        assert!(model.check_walk(0, &walk, &row, &[1]).is_err());
    }

    #[test]
    fn a_death_of_the_process_takes_nothing_acknowledged() {
        assert!(
            three()
                .survive(Loss::Process, &found(&[("a", "1"), ("b", "1"), ("c", "1")]))
                .is_ok()
        );
        let with_tail = found(&[("a", "1"), ("b", "1"), ("c", "1"), ("d", "1")]);
        assert!(three().survive(Loss::Process, &with_tail).is_ok());
        assert!(
            three()
                .survive(Loss::Process, &found(&[("a", "1"), ("b", "1")]))
                .is_err()
        );
    }

    #[test]
    fn a_loss_of_power_leaves_a_prefix_with_what_was_synced() {
        assert!(
            three()
                .survive(Loss::Power, &found(&[("a", "1"), ("b", "1")]))
                .is_ok()
        );
        let error = three().survive(Loss::Power, &found(&[("a", "1")])).unwrap_err();
        assert!(
            error.contains("after 1 writes") && error.contains("no state after 2 to 3"),
            "{error}"
        );
        assert!(
            three()
                .survive(Loss::Power, &found(&[("a", "1"), ("c", "1")]))
                .is_err()
        );
    }

    #[test]
    fn of_writes_that_are_not_visible_a_crash_leaves_the_first_ones() {
        let model = || {
            let mut model = three();
            model.begin(5, &put("e", "1"));
            model.begin(6, &put("f", "1"));
            model.order(6, &put("f", "1"), false);
            model.order_unknown();
            model.order(4, &put("d", "1"), false);
            model
        };
        for (more, fine) in [
            ("", true),
            ("f", true),
            ("df", true),
            ("def", true),
            ("d", false),
            ("e", false),
            ("ef", false),
        ] {
            let rows: Vec<String> = "abc".chars().chain(more.chars()).map(String::from).collect();
            let rows: Vec<(&str, &str)> = rows.iter().map(|key| (&key[..], "1")).collect();
            let outcome = model().survive(Loss::Process, &found(&rows));
            assert_eq!(outcome.is_ok(), fine, "{more}: {outcome:?}");
        }
        // Writes become visible in their order, whichever thread publishes them.
        let mut model = model();
        model.publish();
        assert_eq!(
            (model.take_published(6), model.take_published(4)),
            (Some(4), None)
        );
        model.publish();
        model.publish();
        assert_eq!((model.take_published(4), model.version()), (Some(5), 5));
    }

    #[test]
    fn what_survived_a_kill_may_still_be_lost_and_what_survived_a_loss_of_power_not() {
        let all = found(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let two = found(&[("a", "1"), ("b", "1")]);
        let mut model = three();
        model.survive(Loss::Process, &all).unwrap();
        assert!(model.survive(Loss::Power, &two).is_ok());
        let mut model = three();
        model.survive(Loss::Power, &all).unwrap();
        assert!(model.survive(Loss::Power, &two).is_err());
    }

    #[test]
    fn rows_without_wal_survive_as_far_as_they_were_flushed() {
        let with = |value: &str| found(&[("u0", value)]);
        let model = || {
            let mut model = Model::new(["default".to_owned()]);
            for number in [5, 7, 9] {
                model.begin_unlogged(0, b"u0", number);
                model.order(number, &put("u0", &format!("v{number}")), true);
                model.publish();
                model.acknowledge_unlogged(0, b"u0", number);
                if number == 7 {
                    let promised = model.promised();
                    model.flushed(0, &promised);
                }
            }
            model
        };
        for (value, fine) in [
            ("v7", true),
            ("v9", true),
            ("v5", false),
            ("v10", false),
            ("x", false),
        ] {
            assert_eq!(
                model().survive(Loss::Power, &with(value)).is_ok(),
                fine,
                "{value}"
            );
        }
        assert!(model().survive(Loss::Process, &found(&[])).is_err());
        let mut closed = model();
        closed.closed();
        assert!(closed.survive(Loss::Process, &with("v7")).is_err());
    }

    #[test]
    fn rows_of_families_that_flush_together_are_those_of_one_version() {
        let model = || {
            let mut model = Model::new(["default".to_owned(), "warm".to_owned()]);
            model.flush_together();
            assert_eq!(model.flushed_with(&["warm".to_owned()]), ["default"]);
            for number in [5, 6, 7] {
                let family = number as usize % 2;
                let value = format!("v{number}").into_bytes();
                let key = b"u0".to_vec();
                model.begin_unlogged(family, &key, number);
                let effects = Arc::new(vec![(family, Effect::Put { key, value })]);
                model.order(number, &effects, true);
                // The last write is not visible yet.
                if number < 7 {
                    model.publish();
                }
            }
            model
        };
        for (default, warm, fine) in [
            ("", "", true),
            ("", "v5", true),
            ("v6", "v5", true),
            ("v6", "v7", true),
            ("v6", "", false),
            ("", "v7", false),
        ] {
            let rows = |value: &str| match value {
                "" => Rows::new(),
                value => Rows::from([(b"u0".to_vec(), value.as_bytes().to_vec())]),
            };
            let found = BTreeMap::from([
                ("default".to_owned(), rows(default)),
                ("warm".to_owned(), rows(warm)),
            ]);
            let outcome = model().survive(Loss::Power, &found);
            assert_eq!(outcome.is_ok(), fine, "{default} {warm}: {outcome:?}");
        }
    }
}
