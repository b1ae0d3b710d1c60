//! Where tables belong: in an order in which, for every key, newer rows come before older ones.
//!
//! Sequence numbers of whole files do not tell. A table of L6 may hold a row newer than all of a table in L5, of another key;
//! were it put before that one, old rows of the keys both have would be found first. So the keys are compared: tables are merged
//! once, and for each key that several have, the one with the newest row is newer. In tables that were of one version these
//! relations never contradict each other; in what a compaction left behind they may, and then the tables' highest sequence
//! numbers decide.
//!
//! Range deletions count for every key they cover. Tables of RocksDB may hold more of them than is theirs: a compaction that
//! begins a new table in the middle of one writes it whole to both, and MANIFEST's bounds say how much of it counts. Where
//! beyond a table's own rows a deletion contradicts rows of another, or would take rows that a later compaction kept, the
//! table's bounds are drawn in ([`Cut`]).
//!
//! From oldest to newest each table then goes as deep as it can: right above the highest of the older tables it overlaps.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use base::{Kind, MAX_SEQNO, Result, SeqNo, UserComparator, internal_key};
use sst::{BlockReadOptions, TableCursor};

use super::scan::ScannedTable;
use crate::options::Options;

/// Where a table goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its index.
    pub table: usize,
    pub level: usize,
}

/// Pairs of file numbers, newer and older, of which the opposite is true as well.
pub(super) type Contradictions = Vec<(u64, u64)>;

/// Places the tables of a family, oldest first, in levels below `levels`.
///
/// Errors: those of reading the tables.
pub(super) fn place(
    options: &Options,
    cmp: &UserComparator,
    tables: &mut [ScannedTable],
    levels: usize,
) -> Result<(Vec<Place>, Contradictions)> {
    let mut found = relations(options, cmp, tables, &vec![Cut::default(); tables.len()])?;
    let cuts = cuts(cmp, tables, &found);
    if cuts.iter().any(|cut| *cut != Cut::default()) {
        found = relations(options, cmp, tables, &cuts)?;
        for (table, cut) in tables.iter_mut().zip(cuts) {
            cut.apply(table);
        }
    }
    let tables = &*tables;
    let older = found.with_evidence();
    let ranks: Vec<(SeqNo, u64)> = tables
        .iter()
        .map(|table| (table.file.largest_seqno, table.file.number))
        .collect();
    let (order, contradictions) = oldest_first(&older, &ranks);
    let overlap = |a: &ScannedTable, b: &ScannedTable| {
        !a.file.is_before(cmp, b.file.smallest_user_key())
            && !b.file.is_before(cmp, a.file.smallest_user_key())
    };
    let mut places: Vec<Place> = Vec::with_capacity(tables.len());
    for table in order {
        let below = places
            .iter()
            .filter(|place| overlap(&tables[place.table], &tables[table]))
            .map(|place| place.level)
            .min();
        let level = match below {
            None => levels.saturating_sub(1),
            Some(below) => below.saturating_sub(1),
        };
        places.push(Place { table, level });
    }
    let numbers = |(newer, older): (usize, usize)| (tables[newer].file.number, tables[older].file.number);
    Ok((places, contradictions.into_iter().map(numbers).collect()))
}

/// An order from oldest to newest. `older` has for each table those that are older; `ranks` decide where it leaves a choice.
/// Where it contradicts itself the lowest rank is next, and the pair is named.
fn oldest_first(older: &[BTreeSet<usize>], ranks: &[(SeqNo, u64)]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let mut newer: Vec<Vec<usize>> = vec![Vec::new(); older.len()];
    for (table, older) in older.iter().enumerate() {
        older.iter().for_each(|&older| newer[older].push(table));
    }
    let mut waits_for: Vec<usize> = older.iter().map(BTreeSet::len).collect();
    let mut left: BTreeSet<((SeqNo, u64), usize)> = ranks
        .iter()
        .enumerate()
        .map(|(table, &rank)| (rank, table))
        .collect();
    let mut ready: BTreeSet<((SeqNo, u64), usize)> = left
        .iter()
        .copied()
        .filter(|&(_, table)| waits_for[table] == 0)
        .collect();
    let (mut order, mut contradictions) = (Vec::new(), Vec::new());
    while let Some(next) = ready.pop_first().or_else(|| in_a_circle(older, ranks, &left)) {
        left.remove(&next);
        let table = next.1;
        let unmet = older[table].iter().filter(|&&older| {
            let entry = (ranks[older], older);
            left.contains(&entry)
        });
        contradictions.extend(unmet.map(|&older| (older, table)));
        order.push(table);
        for &newer in &newer[table] {
            waits_for[newer] = waits_for[newer].saturating_sub(1);
            let entry = (ranks[newer], newer);
            if waits_for[newer] == 0 && left.contains(&entry) {
                ready.insert(entry);
            }
        }
    }
    (order, contradictions)
}

/// Of tables all of which wait for another, the one of lowest rank in some circle of those that wait for each other.
fn in_a_circle(
    older: &[BTreeSet<usize>],
    ranks: &[(SeqNo, u64)],
    left: &BTreeSet<((SeqNo, u64), usize)>,
) -> Option<((SeqNo, u64), usize)> {
    let mut path = vec![*left.first()?];
    loop {
        let (_, table) = *path.last()?;
        let waited_for = older[table].iter().map(|&older| (ranks[older], older));
        let next = waited_for.filter(|entry| left.contains(entry)).min()?;
        if let Some(begin) = path.iter().position(|&entry| entry == next) {
            return path[begin..].iter().min().copied();
        }
        path.push(next);
    }
}

/// A table in the merge.
struct Entry<'a> {
    cursor: TableCursor,
    table: usize,
    cmp: &'a UserComparator,
}

impl Entry<'_> {
    fn user_key(&self) -> &[u8] {
        internal_key::user_key(self.cursor.key())
    }
}

impl PartialEq for Entry<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry<'_> {}

impl PartialOrd for Entry<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry<'_> {
    /// The heap's greatest is the first key.
    fn cmp(&self, other: &Self) -> Ordering {
        self.cmp
            .compare(self.user_key(), other.user_key())
            .then_with(|| {
                let seqno = |entry: &Self| internal_key::seqno(entry.cursor.key());
                seqno(other).cmp(&seqno(self))
            })
            .then_with(|| self.table.cmp(&other.table))
            .reverse()
    }
}

/// One table's rows of one key.
struct Rows {
    table: usize,
    newest_key: Vec<u8>,
    newest: SeqNo,
    oldest: SeqNo,
}

/// On which side of all of a table's own rows a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Before,
    Behind,
}

/// Rows of one table that a range deletion of another says nothing good of: the first of their keys and the last.
#[derive(Clone, Debug, Default)]
struct Evidence {
    first: Vec<u8>,
    last: Vec<u8>,
    /// Rows without sequence numbers, which it would delete.
    zeroed: bool,
}

/// What the rows say.
#[derive(Debug, Default)]
struct Relations {
    /// For each table those that must be older than it.
    older: Vec<BTreeSet<usize>>,
    /// Newer rows under a range deletion, by the table that deletes, the table of the rows, and the side of the former the
    /// rows are on; `None` among its own.
    evidence: BTreeMap<(usize, usize, Option<Side>), Evidence>,
}

impl Relations {
    fn note(&mut self, deleting: usize, rows: usize, side: Option<Side>, key: &[u8], zeroed: bool) {
        let evidence = self.evidence.entry((deleting, rows, side)).or_default();
        if evidence.first.is_empty() && evidence.last.is_empty() {
            evidence.first = key.to_vec();
        }
        evidence.last = key.to_vec();
        evidence.zeroed |= zeroed;
    }

    /// True if `newer` must be newer than `older`, directly or by way of others.
    fn is_newer(&self, newer: usize, older: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut to_see = vec![newer];
        while let Some(table) = to_see.pop() {
            if table == older {
                return true;
            }
            if seen.insert(table) {
                to_see.extend(&self.older[table]);
            }
        }
        false
    }

    /// With what rows under older range deletions say: they must be found before those.
    fn with_evidence(self) -> Vec<BTreeSet<usize>> {
        let newer: Vec<(usize, usize)> = self
            .evidence
            .iter()
            .filter(|(_, evidence)| !evidence.zeroed)
            .map(|(&(deleting, rows, _), _)| (rows, deleting))
            .filter(|&(rows, deleting)| !self.is_newer(deleting, rows))
            .collect();
        let mut older = self.older;
        for (rows, deleting) in newer {
            older[rows].insert(deleting);
        }
        older
    }
}

/// How much of a table's range deletions counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cut {
    /// From this user key on.
    from: Option<Vec<u8>>,
    /// Up to this one, exclusive.
    to: Option<Vec<u8>>,
}

impl Cut {
    fn leaves(&self, cmp: &UserComparator, key: &[u8]) -> bool {
        self.from
            .as_ref()
            .is_none_or(|from| cmp.compare(from, key).is_le())
            && self.to.as_ref().is_none_or(|to| cmp.compare(key, to).is_lt())
    }

    fn apply(self, table: &mut ScannedTable) {
        if let Some(from) = self.from {
            table.file.smallest = internal_key::encode(&from, MAX_SEQNO, Kind::RangeDeletion).into();
            if let Some((first, _)) = &table.points
                && table.cmp.compare(first, &table.file.smallest).is_lt()
            {
                table.file.smallest = first.clone().into();
            }
        }
        if let Some(to) = self.to {
            table.file.largest = internal_key::encode(&to, MAX_SEQNO, Kind::RangeDeletion).into();
        }
    }
}

/// Where range deletions must end for all rows to fit.
fn cuts(cmp: &UserComparator, tables: &[ScannedTable], found: &Relations) -> Vec<Cut> {
    let mut cuts = vec![Cut::default(); tables.len()];
    for (&(deleting, rows, side), evidence) in &found.evidence {
        if !evidence.zeroed && !found.is_newer(deleting, rows) {
            continue;
        }
        let cut = &mut cuts[deleting];
        let file = &tables[deleting].file;
        match side {
            None => {}
            Some(Side::Behind) => {
                let sooner = cut
                    .to
                    .as_ref()
                    .is_none_or(|to| cmp.compare(&evidence.first, to).is_lt());
                if sooner && cmp.compare(file.smallest_user_key(), &evidence.first).is_lt() {
                    cut.to = Some(evidence.first.clone());
                }
            }
            Some(Side::Before) => {
                let Some((first, _)) = &tables[deleting].points else {
                    continue;
                };
                // The key right behind, where there is such a thing.
                let from = match cmp.is_bytewise() {
                    true => [&evidence.last[..], &[0]].concat(),
                    false => internal_key::user_key(first).to_vec(),
                };
                let later = cut
                    .from
                    .as_ref()
                    .is_none_or(|other| cmp.compare(other, &from).is_lt());
                if later {
                    cut.from = Some(from);
                }
            }
        }
    }
    cuts
}

/// Merges the tables and compares the rows of each key.
fn relations(
    options: &Options,
    cmp: &UserComparator,
    tables: &[ScannedTable],
    cuts: &[Cut],
) -> Result<Relations> {
    let mut found = Relations {
        older: vec![BTreeSet::new(); tables.len()],
        evidence: BTreeMap::new(),
    };
    // Opened when the merge gets there, so that only those stay open that overlap.
    let mut to_come: Vec<usize> = (0..tables.len()).collect();
    to_come.sort_by(|&a, &b| {
        cmp.compare(
            tables[b].file.smallest_user_key(),
            tables[a].file.smallest_user_key(),
        )
    });
    let deleting: Vec<usize> = (0..tables.len())
        .filter(|&table| !tables[table].tombstones.is_empty())
        .collect();
    let mut heap: BinaryHeap<Entry<'_>> = BinaryHeap::new();
    let mut group: Vec<Rows> = Vec::new();
    let mut group_key: Vec<u8> = Vec::new();
    loop {
        while let Some(&table) = to_come.last() {
            let reached = heap.peek().is_none_or(|first| {
                cmp.compare_without_timestamp(tables[table].file.smallest_user_key(), first.user_key())
                    .is_le()
            });
            if !reached {
                break;
            }
            to_come.pop();
            let mut cursor = tables[table].open(options)?.cursor(BlockReadOptions {
                fill_cache: false,
                ..BlockReadOptions::default()
            });
            cursor.seek_to_first();
            push(&mut heap, Entry { cursor, table, cmp })?;
        }
        let Some(mut first) = heap.pop() else {
            break;
        };
        let seqno = internal_key::seqno(first.cursor.key());
        let same = !group.is_empty()
            && cmp
                .compare_without_timestamp(&group_key, first.user_key())
                .is_eq();
        if !same {
            relate(cmp, tables, cuts, &deleting, &group_key, &group, &mut found);
            group.clear();
            group_key.clear();
            group_key.extend_from_slice(first.user_key());
        }
        match group.iter_mut().find(|rows| rows.table == first.table) {
            Some(rows) => rows.oldest = rows.oldest.min(seqno),
            None => group.push(Rows {
                table: first.table,
                newest_key: first.user_key().to_vec(),
                newest: seqno,
                oldest: seqno,
            }),
        }
        first.cursor.next();
        push(&mut heap, first)?;
    }
    relate(cmp, tables, cuts, &deleting, &group_key, &group, &mut found);
    Ok(found)
}

fn push<'a>(heap: &mut BinaryHeap<Entry<'a>>, entry: Entry<'a>) -> Result<()> {
    if entry.cursor.valid() {
        heap.push(entry);
        return Ok(());
    }
    entry.cursor.status()
}

/// What the rows of one key, the newest of each table in order, say of their tables.
fn relate(
    cmp: &UserComparator,
    tables: &[ScannedTable],
    cuts: &[Cut],
    deleting: &[usize],
    key: &[u8],
    group: &[Rows],
    found: &mut Relations,
) {
    let number = |table: usize| tables[table].file.number;
    for (i, newer) in group.iter().enumerate() {
        for rows in &group[i + 1..] {
            let same = newer.newest == rows.newest && newer.newest_key == rows.newest_key;
            if !same {
                found.older[newer.table].insert(rows.table);
                continue;
            }
            // Sequence numbers that were taken away, or guessed: the table made later is newer. The same row twice says nothing.
            let guessed = tables[newer.table].lacks_seqno || tables[rows.table].lacks_seqno;
            if newer.newest == 0 || guessed {
                let (late, early) = match number(newer.table) > number(rows.table) {
                    true => (newer.table, rows.table),
                    false => (rows.table, newer.table),
                };
                found.older[late].insert(early);
            }
        }
    }
    for &table in deleting.iter().filter(|_| !group.is_empty()) {
        let covering = match cuts[table].leaves(cmp, key) {
            true => tables[table].tombstones.covering_seqno(cmp, key, MAX_SEQNO),
            false => 0,
        };
        if covering == 0 {
            continue;
        }
        let side = tables[table].side(cmp, key);
        for rows in group.iter().filter(|rows| rows.table != table) {
            // A row whose sequence number was taken away, in a table made after this one: a compaction has met it since, and may
            // have kept it for being newer than the deletion. Not if the compaction left older rows their numbers: it takes
            // them away from the oldest on, up to the first snapshot.
            let kept = rows.newest == 0
                && number(rows.table) > number(table)
                && tables[rows.table]
                    .lowest_numbered
                    .is_none_or(|lowest| lowest > covering);
            if side.is_some() && kept && cmp.timestamp_size() == 0 {
                found.note(table, rows.table, side, key, true);
            } else if rows.oldest < covering && rows.newest < covering {
                found.older[table].insert(rows.table);
            } else {
                found.note(table, rows.table, side, key, false);
            }
        }
    }
}

impl ScannedTable {
    /// On which side of all rows of this table `key` is; behind, if it has none.
    fn side(&self, cmp: &UserComparator, key: &[u8]) -> Option<Side> {
        let Some((first, last)) = &self.points else {
            return Some(Side::Behind);
        };
        if cmp
            .compare_without_timestamp(key, internal_key::user_key(first))
            .is_lt()
        {
            return Some(Side::Before);
        }
        cmp.compare_without_timestamp(internal_key::user_key(last), key)
            .is_lt()
            .then_some(Side::Behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_come_before_ranks() {
        // 0 has the highest sequence number and is the oldest.
        let older = [vec![], vec![0], vec![1]].map(BTreeSet::from_iter);
        let (order, contradictions) = oldest_first(&older, &[(9, 1), (5, 2), (1, 3)]);
        assert_eq!(order, [0, 1, 2]);
        assert!(contradictions.is_empty());
        let (order, _) = oldest_first(&[const { BTreeSet::new() }; 3], &[(9, 1), (5, 2), (1, 3)]);
        assert_eq!(order, [2, 1, 0]);
    }

    #[test]
    fn a_contradiction_is_named_and_everything_has_a_place() {
        let older = [vec![1], vec![0], vec![0]].map(BTreeSet::from_iter);
        let (order, contradictions) = oldest_first(&older, &[(3, 1), (2, 2), (1, 3)]);
        assert_eq!(order.len(), 3);
        assert_eq!(contradictions, [(0, 1)]);
    }
}
