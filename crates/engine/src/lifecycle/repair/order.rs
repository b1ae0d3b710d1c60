//! The placement of tables: newer rows of each key must come before older ones.
//!
//! The sequence numbers of whole files do not decide it. A table of L6 may hold a row of some key that is
//! newer than all rows of a table in L5; if it were placed first, a lookup would find old rows of the keys
//! that both tables have. Keys are compared instead: the tables are merged once, and for each key in several
//! tables, the table with the newest row is newer. For tables of one version these relations never contradict
//! each other. For inputs of a finished compaction they may, and then the highest sequence numbers of the
//! tables decide.
//!
//! Range deletions count for every key they cover. A table of RocksDB may hold more of a range deletion than
//! belongs to it: a compaction that begins a new table within a range writes the deletion in full to both
//! tables, and the bounds in the MANIFEST limit it. If a deletion, outside the rows of its own table,
//! contradicts rows of another table, or would delete rows that a later compaction kept, the bounds of its
//! table are narrowed ([`Cut`]).
//!
//! Each table, from the oldest to the newest, is then placed as deep as possible: above the highest of the
//! older tables it overlaps.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use base::{Kind, MAX_SEQNO, Result, SeqNo, UserComparator, internal_key};
use sst::{BlockReadOptions, TableCursor};

use crate::lifecycle::repair::scan::ScannedTable;
use crate::options::Options;

/// The level in which a table is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LevelPlacement {
    /// The index of the table in the list of tables.
    pub table: usize,
    pub level: usize,
}

/// Pairs of file numbers, newer and older in the order that was chosen, for which rows of the tables also
/// require the opposite order.
pub(super) type Contradictions = Vec<(u64, u64)>;

/// Places the tables of a family, oldest first, in levels below `levels`.
///
/// Errors are those of reading the tables.
pub(super) fn place(
    options: &Options,
    cmp: &UserComparator,
    tables: &mut [ScannedTable],
    levels: usize,
) -> Result<(Vec<LevelPlacement>, Contradictions)> {
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
    let mut places: Vec<LevelPlacement> = Vec::with_capacity(tables.len());
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
        places.push(LevelPlacement { table, level });
    }
    let numbers = |(newer, older): (usize, usize)| (tables[newer].file.number, tables[older].file.number);
    Ok((places, contradictions.into_iter().map(numbers).collect()))
}

/// An order from the oldest to the newest. `older` has the older tables of each table; `ranks` decide between
/// the rest. In a contradiction, the table with the lowest rank is next, and the pair is returned.
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

/// The next table if every table waits for another one: the one with the lowest rank in a cycle of waiting
/// tables.
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
    /// The greatest element of the heap has the first key.
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

/// The rows of one key in one table.
struct Rows {
    table: usize,
    newest_key: Vec<u8>,
    newest: SeqNo,
    oldest: SeqNo,
}

/// A side of a table: before or after all of its own rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Before,
    Behind,
}

/// The rows of one table that contradict a range deletion of another table, which covers them: their first
/// key and their last.
#[derive(Clone, Debug, Default)]
struct Evidence {
    first: Vec<u8>,
    last: Vec<u8>,
    /// True if some of these rows have zeroed sequence numbers, so that the range deletion would delete these
    /// rows.
    zeroed: bool,
}

/// The relations between the tables that follow from their rows.
#[derive(Debug, Default)]
struct Relations {
    /// The tables that must be older than each table.
    older: Vec<BTreeSet<usize>>,
    /// Newer rows under an older range deletion. The key of the map is the table of the deletion, the table
    /// of the rows, and the side of the deleting table's own rows on which they are; `None` if they are
    /// between those.
    evidence: BTreeMap<(usize, usize, Option<Side>), Evidence>,
}

impl Relations {
    fn record(&mut self, deleting: usize, rows: usize, side: Option<Side>, key: &[u8], zeroed: bool) {
        let evidence = self.evidence.entry((deleting, rows, side)).or_default();
        if evidence.first.is_empty() && evidence.last.is_empty() {
            evidence.first = key.to_vec();
        }
        evidence.last = key.to_vec();
        evidence.zeroed |= zeroed;
    }

    /// True if `newer` must be newer than `older`, directly or through other tables.
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

    /// Returns the tables that must be older than each table, with the relations that the evidence proves: a
    /// table with rows under an older range deletion is newer than the table with the deletion.
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

/// The key range to which a table's range deletions are limited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cut {
    /// The first user key of the range.
    from: Option<Vec<u8>>,
    /// The end of the range, exclusive.
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

/// The limits of the range deletions with which all rows agree.
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
                // The smallest key after the last row, which exists in bytewise order.
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
    // Tables are opened when the merge reaches them, so that only overlapping ones are open together.
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

/// Derives the relations of tables from the rows of one key. `group` is in the order of the newest row of
/// each table.
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
            // If sequence numbers were zeroed or guessed, the table created later is newer. Two tables with
            // the same row say nothing about their order.
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
            // The row has a zeroed sequence number, and its table was created after the table of the
            // deletion. A later compaction has merged the row and may have kept it because it is newer than
            // the deletion. That is excluded if the compaction left older rows their sequence numbers: it
            // zeroes them from the oldest row on, up to the first snapshot.
            let kept = rows.newest == 0
                && number(rows.table) > number(table)
                && tables[rows.table]
                    .lowest_numbered
                    .is_none_or(|lowest| lowest > covering);
            if side.is_some() && kept && cmp.timestamp_size() == 0 {
                found.record(table, rows.table, side, key, true);
            } else if rows.oldest < covering && rows.newest < covering {
                found.older[table].insert(rows.table);
            } else {
                found.record(table, rows.table, side, key, false);
            }
        }
    }
}

impl ScannedTable {
    /// The side of this table's rows on which `key` is; `Behind` if the table has no rows.
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
        // Table 0 has the highest sequence number and is the oldest.
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
