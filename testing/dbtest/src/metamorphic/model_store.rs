//! A database that is a model in memory, to compare the results of others with.

use std::cell::RefCell;
use std::collections::HashMap;
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
    families: Vec<(UserComparator, &'static str)>,
    /// The current id of each family; ids are not reused.
    ids: RefCell<HashMap<usize, u32>>,
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
        let families = plan.families.iter().map(|family| {
            let cmp = settings::comparator(family.comparator).expect("a known order");
            (cmp, family.merge_operator)
        });
        let db = ModelDatabase {
            model: RefCell::new(Model::new()),
            families: families.collect(),
            ids: RefCell::default(),
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
        let (cmp, operator) = &self.families[family];
        let mut ids = self.ids.borrow_mut();
        let id = ids.values().max().map_or(1, |last| last + 1);
        ids.insert(family, id);
        self.model
            .borrow_mut()
            .create_family(id, cmp.clone(), settings::merge_operator(operator));
    }

    fn id(&self, family: usize) -> u32 {
        self.ids.borrow()[&family]
    }

    fn now(&self) -> SeqNo {
        self.model.borrow().last_seqno()
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
        let seqno = at.copied().unwrap_or_else(|| self.now());
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
        let seqno = at.copied().unwrap_or_else(|| self.now());
        let lower = view.lower.as_deref().map_or(Bound::Unbounded, Bound::Included);
        let upper = view.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let rows = self
            .model
            .borrow()
            .scan(self.id(view.family), seqno, lower, upper);
        ModelWalk {
            rows: rows.expect("the model is given nothing that cannot be merged"),
            at: None,
            cmp: self.families[view.family].0.clone(),
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
