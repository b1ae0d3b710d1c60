//! Random plans of operations.

use std::collections::BTreeMap;

use base::UserComparator;
use testkit::TestRng;
use testkit::model::Op;

use super::{FamilyPlan, Operation, Plan, Step, View};
use crate::draws;

/// The parameters of a random plan of operations.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The number of operations.
    pub operations: usize,
    /// The average number of operations between reopenings.
    pub phase: u32,
    /// Include operations that must fail: ranges that end before they begin, operands that their operator
    /// refuses. Then only runs of one engine can be compared: RocksDB accepts no writes after a compaction
    /// has met such an operand.
    pub errors: bool,
    /// Read all rows of all families at the beginning and the end of each phase.
    pub scan_all: bool,
    /// Families may have timestamps, and the history of their rows ends now and then.
    pub timestamps: bool,
}

const COMPARATORS: [&str; 4] = ["bytewise", "bytewise", "reverse", "length"];
const STAMPED: [&str; 2] = ["u64ts", "reverse-u64ts"];
const OPERATORS: [&str; 5] = ["nullptr", "stringappend", "uint64add", "put", "max"];

struct Generator<'a> {
    rng: &'a mut TestRng,
    kind: Kind,
    families: Vec<FamilyPlan>,
    orders: Vec<UserComparator>,
    /// The keys of each family that are only written by puts and single deletions, and whether each exists.
    /// The map is sorted, so that the same seed draws the same plan.
    single: Vec<BTreeMap<Vec<u8>, bool>>,
    /// The timestamps of later writes and reads.
    time: (u64, u64),
    /// The timestamp of each family below which its history has ended.
    ended: Vec<u64>,
    keys: usize,
    max_value: usize,
    snapshots: Vec<u32>,
    iterators: Vec<u32>,
    next: u32,
    operations: Vec<Operation>,
}

/// Draws a plan of operations with these parameters.
pub fn generate(rng: &mut TestRng, kind: Kind) -> Plan {
    let names = ["default", "one", "two"];
    let families: Vec<FamilyPlan> = names[..rng.usize(1..=names.len())]
        .iter()
        .map(|&name| FamilyPlan {
            name: name.to_owned(),
            comparator: match kind.timestamps && rng.one_in(3) {
                true => rng.pick::<&str>(&STAMPED),
                false => rng.pick::<&str>(&COMPARATORS),
            },
            merge_operator: rng.pick::<&str>(&OPERATORS),
        })
        .collect();
    let mut generator = Generator {
        orders: families.iter().map(FamilyPlan::key_order).collect(),
        single: vec![BTreeMap::new(); families.len()],
        time: (1, 1),
        ended: vec![0; families.len()],
        keys: *rng.pick(&[8, 40, 200, 1000]),
        max_value: *rng.pick(&[8, 50, 400, 3000]),
        rng,
        kind,
        families,
        snapshots: Vec::new(),
        iterators: Vec::new(),
        next: 0,
        operations: Vec::new(),
    };
    generator.begin_phase();
    while generator.operations.len() < kind.operations {
        generator.add();
    }
    generator.scan_all();
    Plan {
        families: generator.families,
        operations: generator.operations,
    }
}

impl Generator<'_> {
    fn add(&mut self) {
        if self.rng.one_in(self.kind.phase.max(1)) {
            return self.reopen();
        }
        if self.has_timestamps() && self.rng.one_in(5) {
            return self.pass_time();
        }
        let operation = match self.rng.u32(..100) {
            0..38 => self.write(),
            38..50 => Operation::Get {
                family: self.family(),
                key: self.any_key(),
                snapshot: self.held(),
            },
            50..55 => Operation::MultiGet {
                family: self.family(),
                keys: (0..self.rng.usize(1..30)).map(|_| self.any_key()).collect(),
                snapshot: self.held(),
            },
            55..61 => Operation::Scan {
                view: self.view(),
                backwards: self.rng.bool(),
            },
            61..67 if self.iterators.len() < 6 => {
                self.next += 1;
                self.iterators.push(self.next);
                Operation::OpenIterator {
                    iterator: self.next,
                    view: self.view(),
                }
            }
            61..80 if !self.iterators.is_empty() => Operation::Move {
                iterator: *self.rng.pick(&self.iterators),
                steps: (0..self.rng.usize(1..25)).map(|_| self.step()).collect(),
            },
            80..82 if !self.iterators.is_empty() => {
                let at = self.rng.usize(..self.iterators.len());
                Operation::CloseIterator(self.iterators.swap_remove(at))
            }
            82..86 if self.snapshots.len() < 6 => {
                self.next += 1;
                self.snapshots.push(self.next);
                Operation::Snapshot(self.next)
            }
            82..88 if !self.snapshots.is_empty() => {
                let at = self.rng.usize(..self.snapshots.len());
                Operation::Release(self.snapshots.swap_remove(at))
            }
            88..93 => {
                let all = 0..self.families.len();
                Operation::Flush(match self.rng.one_in(3) {
                    true => all.collect(),
                    false => vec![self.family()],
                })
            }
            93..96 => self.compact(),
            96 if self.rng.one_in(4) && self.families.len() > 1 => {
                let family = self.rng.usize(1..self.families.len());
                self.single[family].clear();
                self.ended[family] = 0;
                Operation::Recreate(family)
            }
            _ => self.write(),
        };
        self.operations.push(operation);
    }

    fn reopen(&mut self) {
        self.scan_all();
        self.operations.push(Operation::Reopen);
        self.begin_phase();
    }

    fn has_timestamps(&self) -> bool {
        self.families.iter().any(FamilyPlan::has_timestamps)
    }

    /// Lets later operations have other timestamps, and ends the history of a family now and then. Timestamps
    /// of writes never fall. Reads are not older than the end of any family's history, except those that must
    /// fail.
    fn pass_time(&mut self) {
        let write = self.time.0 + self.rng.u64(..3);
        if self.rng.one_in(4) {
            let stamped = |family: &usize| self.families[*family].has_timestamps();
            let stamped: Vec<usize> = (0..self.families.len()).filter(stamped).collect();
            let family = *self.rng.pick(&stamped);
            let oldest = if self.kind.errors { 0 } else { self.ended[family] };
            let timestamp = self.rng.u64(oldest..=self.time.0);
            self.ended[family] = self.ended[family].max(timestamp);
            self.operations
                .push(Operation::IncreaseFullHistoryTsLow { family, timestamp });
        }
        let ended = self.ended.iter().max().copied().unwrap_or(0);
        let oldest = match self.kind.errors && self.rng.one_in(10) {
            true => 0,
            false => ended,
        };
        let read = match self.rng.one_in(3) {
            true => u64::MAX,
            false => self.rng.u64(oldest..=write),
        };
        self.set_time(write, read);
    }

    fn set_time(&mut self, write: u64, read: u64) {
        self.time = (write, read);
        self.operations.push(Operation::Time { write, read });
    }

    fn begin_phase(&mut self) {
        self.snapshots.clear();
        self.iterators.clear();
        if self.has_timestamps() {
            let (write, read) = self.time;
            self.set_time(write, read);
        }
        self.scan_all();
    }

    fn scan_all(&mut self) {
        if !self.kind.scan_all {
            return;
        }
        for family in 0..self.families.len() {
            self.operations.push(Operation::Scan {
                view: View {
                    family,
                    snapshot: None,
                    lower: None,
                    upper: None,
                },
                backwards: self.rng.bool(),
            });
        }
    }

    fn family(&mut self) -> usize {
        self.rng.usize(..self.families.len())
    }

    fn held(&mut self) -> Option<u32> {
        (!self.snapshots.is_empty() && self.rng.bool()).then(|| *self.rng.pick(&self.snapshots))
    }

    fn key(&mut self) -> Vec<u8> {
        draws::key(self.rng, self.keys)
    }

    fn single_key(&mut self) -> Vec<u8> {
        format!("s{:05}", self.rng.usize(..self.keys.min(100))).into_bytes()
    }

    fn any_key(&mut self) -> Vec<u8> {
        match self.rng.u32(..8) {
            0 => self.single_key(),
            1 => [&self.key()[..], b"x"].concat(),
            _ => self.key(),
        }
    }

    fn value(&mut self) -> Vec<u8> {
        draws::value(self.rng, self.max_value)
    }

    fn write(&mut self) -> Operation {
        let count = match self.rng.one_in(2) {
            true => 1,
            false => self.rng.usize(2..30),
        };
        let before = self.single.clone();
        let mut writes: Vec<(usize, Op)> = (0..count)
            .map(|_| {
                let family = self.family();
                (family, self.op(family))
            })
            .collect();
        if self.kind.errors && self.rng.one_in(30) {
            // The whole batch is refused.
            let family = self.family();
            let mut bounds = [b"a".to_vec(), b"b".to_vec()];
            bounds.sort_by(|a, b| self.orders[family].compare(b, a));
            let [begin, end] = bounds;
            writes.insert(self.rng.usize(..=count), (family, Op::DeleteRange(begin, end)));
            self.single = before;
        }
        Operation::Write {
            writes,
            sync: self.rng.one_in(30),
        }
    }

    fn op(&mut self, family: usize) -> Op {
        match self.rng.u32(..20) {
            10..13 => Op::Delete(self.key()),
            13..16 if self.families[family].merge_operator != "nullptr" => {
                let len = self.rng.usize(..=8);
                let refused = self.kind.errors && self.rng.one_in(40);
                let operand = match refused {
                    true => b"refuse".to_vec(),
                    false => self.rng.bytes(len),
                };
                Op::Merge(self.key(), operand)
            }
            16..19 => {
                let key = self.single_key();
                let exists = self.single[family].entry(key.clone()).or_insert(false);
                *exists = !*exists;
                match *exists {
                    true => Op::Put(key, self.value()),
                    false => Op::SingleDelete(key),
                }
            }
            19 => self.range_deletion(family),
            _ => Op::Put(self.key(), self.value()),
        }
    }

    fn range_deletion(&mut self, family: usize) -> Op {
        let mut bounds = [self.key(), self.key()];
        if self.rng.one_in(4) {
            bounds[1] = self.single_key();
        }
        // Most ranges are short, so that rows are left to read.
        if !self.rng.one_in(4) {
            bounds[1] = [&bounds[0][..], b"~"].concat();
        }
        let cmp = &self.orders[family];
        bounds.sort_by(|a, b| cmp.compare(a, b));
        let [begin, end] = bounds;
        for (key, exists) in &mut self.single[family] {
            if cmp.compare(&begin, key).is_le() && cmp.compare(key, &end).is_lt() {
                *exists = false;
            }
        }
        Op::DeleteRange(begin, end)
    }

    fn view(&mut self) -> View {
        View {
            family: self.family(),
            snapshot: self.held(),
            lower: self.rng.one_in(3).then(|| self.any_key()),
            upper: self.rng.one_in(3).then(|| self.any_key()),
        }
    }

    fn step(&mut self) -> Step {
        match self.rng.u32(..12) {
            0..5 => Step::Next,
            5..8 => Step::Prev,
            8 => Step::Seek(self.any_key()),
            9 => Step::SeekForPrev(self.any_key()),
            10 => Step::First,
            _ => Step::Last,
        }
    }

    fn compact(&mut self) -> Operation {
        let family = self.family();
        let mut bounds = [self.any_key(), self.any_key()];
        let cmp = &self.orders[family];
        bounds.sort_by(|a, b| cmp.compare(a, b));
        let [begin, end] = bounds;
        Operation::Compact {
            family,
            begin: self.rng.bool().then_some(begin),
            end: self.rng.bool().then_some(end),
            force: self.rng.bool(),
        }
    }
}
