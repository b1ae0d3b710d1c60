//! A database that is a model in memory, to compare the results of others with.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use base::{SeqNo, UserComparator};
use testkit::model::{Model, Op, Row};

use super::{Database, Outcome, Plan, Step, View, Walk};
use crate::settings;

/// The model, which is kept while the database is closed.
pub struct ModelStore {
    db: ModelDatabase,
}

/// The model as an open database.
pub struct ModelDatabase {
    model: RefCell<Model>,
    families: Vec<Family>,
    /// The current id of each family; ids are not reused.
    ids: RefCell<HashMap<usize, u32>>,
    time: RefCell<Time>,
}

struct Family {
    order: UserComparator,
    merge_operator: &'static str,
    has_timestamps: bool,
}

/// The timestamps of rows, which never fall.
#[derive(Default)]
struct Time {
    /// The last sequence number before the rows of each timestamp.
    before: BTreeMap<u64, SeqNo>,
    /// The timestamp of reads.
    read: u64,
}

impl Time {
    /// The sequence number of the last row at or before the timestamp of reads.
    fn last(&self) -> SeqNo {
        let later = (Bound::Excluded(self.read), Bound::Unbounded);
        let mut later = self.before.range(later);
        later.next().map_or(SeqNo::MAX, |(_, before)| *before)
    }
}

/// An iterator: its rows and the position among them.
pub struct ModelWalk {
    rows: Vec<Row>,
    at: Option<usize>,
    cmp: UserComparator,
}

impl ModelStore {
    /// An empty database for `plan`.
    pub fn new(plan: &Plan) -> ModelStore {
        let families = plan.families.iter().map(|family| Family {
            order: family.key_order(),
            merge_operator: family.merge_operator,
            has_timestamps: family.has_timestamps(),
        });
        let db = ModelDatabase {
            model: RefCell::new(Model::new()),
            families: families.collect(),
            ids: RefCell::default(),
            time: RefCell::default(),
        };
        (0..db.families.len()).for_each(|family| db.create(family));
        ModelStore { db }
    }

    /// Opens the database, which is always the same one.
    pub fn open(&mut self) -> &ModelDatabase {
        &self.db
    }
}

impl ModelDatabase {
    fn create(&self, family: usize) {
        let Family {
            order,
            merge_operator,
            ..
        } = &self.families[family];
        let mut ids = self.ids.borrow_mut();
        let id = ids.values().max().map_or(1, |last| last + 1);
        ids.insert(family, id);
        self.model
            .borrow_mut()
            .create_family(id, order.clone(), settings::merge_operator(merge_operator));
    }

    fn id(&self, family: usize) -> u32 {
        self.ids.borrow()[&family]
    }

    fn now(&self) -> SeqNo {
        self.model.borrow().last_seqno()
    }

    /// The sequence number of the last row that a read of the family sees.
    fn last(&self, family: usize, at: Option<&SeqNo>) -> SeqNo {
        let last = at.copied().unwrap_or_else(|| self.now());
        match self.families[family].has_timestamps {
            true => last.min(self.time.borrow().last()),
            false => last,
        }
    }
}

fn words<T>(result: base::Result<T>) -> Outcome<T> {
    result.map_err(|error| super::esker_store::words(&error))
}

impl Database for ModelDatabase {
    type Snapshot<'a> = SeqNo;
    type Walk<'a> = ModelWalk;

    fn write(&self, writes: &[(usize, Op)], _sync: bool) -> Outcome {
        for (family, op) in writes {
            self.model.borrow_mut().apply(self.id(*family), op);
        }
        Ok(())
    }

    fn get(&self, family: usize, key: &[u8], at: Option<&SeqNo>) -> Outcome<Option<Vec<u8>>> {
        let seqno = self.last(family, at);
        words(self.model.borrow().get(self.id(family), key, seqno))
    }

    fn multi_get(
        &self,
        family: usize,
        keys: &[Vec<u8>],
        at: Option<&SeqNo>,
    ) -> Vec<Outcome<Option<Vec<u8>>>> {
        keys.iter().map(|key| self.get(family, key, at)).collect()
    }

    fn walk(&self, view: &View, at: Option<&SeqNo>) -> ModelWalk {
        let seqno = self.last(view.family, at);
        let lower = view.lower.as_deref().map_or(Bound::Unbounded, Bound::Included);
        let upper = view.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let rows = self
            .model
            .borrow()
            .scan(self.id(view.family), seqno, lower, upper);
        ModelWalk {
            rows: rows.expect("the model is given nothing that cannot be merged"),
            at: None,
            cmp: self.families[view.family].order.clone(),
        }
    }

    fn snapshot(&self) -> SeqNo {
        self.now()
    }

    fn flush(&self, _families: &[usize]) -> Outcome {
        Ok(())
    }

    fn compact(&self, _family: usize, _begin: Option<&[u8]>, _end: Option<&[u8]>, _force: bool) -> Outcome {
        Ok(())
    }

    fn set_time(&self, write: u64, read: u64) {
        let now = self.now();
        let mut time = self.time.borrow_mut();
        time.before.entry(write).or_insert(now);
        time.read = read;
    }

    fn recreate(&self, family: usize) -> Outcome {
        self.create(family);
        Ok(())
    }
}

impl Walk for ModelWalk {
    fn step(&mut self, step: &Step) {
        let Self { rows, at, cmp } = self;
        *at = match (step, *at) {
            (Step::First, _) => (!rows.is_empty()).then_some(0),
            (Step::Last, _) => rows.len().checked_sub(1),
            (Step::Seek(key), _) => rows.iter().position(|row| cmp.compare(&row.0, key).is_ge()),
            (Step::SeekForPrev(key), _) => rows.iter().rposition(|row| cmp.compare(&row.0, key).is_le()),
            (Step::Next, at) => at.map(|at| at + 1).filter(|&at| at < rows.len()),
            (Step::Prev, at) => at.and_then(|at| at.checked_sub(1)),
        };
    }

    fn row(&self) -> Option<Row> {
        self.at.map(|at| self.rows[at].clone())
    }

    fn status(&self) -> Outcome {
        Ok(())
    }
}
