//! Consistent reads of several families: iterators over them, and lookups in them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{Error, Result, SeqNo, sync};

use crate::files::pinned_value::PinnedValue;
use crate::read::db_iterator::DbIterator;
use crate::read::get::Answer;
use crate::read::multi_cf_iterator::MultiCfIterator;
use crate::read::observed::Found;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::db_inner::DbInner;
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;
use crate::state::snapshot::Snapshot;
use crate::state::super_version::SuperVersion;

/// The number of attempts to get unchanged super versions before the database mutex is taken.
const ATTEMPTS: usize = 3;

impl Db {
    /// Returns an iterator over each of `families`, in their order, all consistent with one moment: a write
    /// of another thread is visible in all of them or in none. See [`iter_cf`](Db::iter_cf) for the rest.
    /// After a [refresh](DbIterator::refresh) an iterator reads as of a moment of its own, and so does a
    /// [tailing](ReadOptions::tailing) one from its next seek on.
    ///
    /// # Errors
    /// `InvalidArgument` for a family of another database. Read errors are in the
    /// [`status`](DbIterator::status) of the iterators.
    pub fn new_iterators(
        &self,
        families: &[&ColumnFamily],
        options: &ReadOptions,
    ) -> Result<Vec<DbIterator>> {
        let inner = self.inner();
        let (super_versions, seqno) = inner.view_of_families(options.snapshot.as_ref(), families)?;
        let over = |(family, super_version): (&&ColumnFamily, Arc<SuperVersion>)| {
            let mut iter = inner.iterator_over(super_version, seqno, None, &family.0, options);
            iter.keep_open(self);
            iter
        };
        Ok(families.iter().zip(super_versions).map(over).collect())
    }

    /// Returns one iterator over the keys of all `families`, as of one moment: it shows each key once, with
    /// the columns that the families have for it. It covers RocksDB's `NewCoalescingIterator` and
    /// `NewAttributeGroupIterator`: see [`MultiCfIterator`].
    ///
    /// # Errors
    /// `InvalidArgument` if there is no family, or if families belong to another database or have different
    /// orders.
    pub fn multi_cf_iterator(
        &self,
        families: &[&ColumnFamily],
        options: &ReadOptions,
    ) -> Result<MultiCfIterator> {
        let Some(first) = families.first() else {
            return Err(Error::invalid_argument("No Column Family was provided"));
        };
        let name = first.comparator().name();
        if families.iter().any(|family| family.comparator().name() != name) {
            return Err(Error::invalid_argument(
                "Different comparators are being used across CFs",
            ));
        }
        let iterators = self.new_iterators(families, options)?;
        let families = families.iter().map(|&family| family.clone());
        Ok(MultiCfIterator::new(families.zip(iterators).collect()))
    }

    /// Returns the values of keys of several families, all as of one moment, in the order of `keys`. See
    /// [`multi_get_pinned`](Db::multi_get_pinned), which looks up the keys of one family concurrently.
    pub fn multi_get_families<K: AsRef<[u8]>>(
        &self,
        keys: &[(&ColumnFamily, K)],
        options: &ReadOptions,
    ) -> Vec<Result<Option<PinnedValue>>> {
        let families: Vec<_> = keys.iter().map(|(family, _)| *family).collect();
        let bytes: Vec<&[u8]> = keys.iter().map(|(_, key)| key.as_ref()).collect();
        self.inner()
            .multi_get_over(options, &families, &bytes, Answer::DeferredBlob)
    }
}

impl DbInner {
    /// Super versions of `families` with everything visible at the sequence number that is returned with
    /// them: that of `snapshot`, or the newest.
    pub(crate) fn view_of_families(
        &self,
        snapshot: Option<&Snapshot>,
        families: &[&ColumnFamily],
    ) -> Result<(Vec<Arc<SuperVersion>>, SeqNo)> {
        for family in families {
            self.check_owns(&family.0)?;
        }
        let held = |snapshot: &Snapshot| {
            let of = |family: &&ColumnFamily| {
                arc_swap::Guard::into_inner(family.0.super_version_of(Some(snapshot)))
            };
            (families.iter().map(of).collect(), snapshot.sequence_number())
        };
        let (super_versions, seqno): (Vec<Arc<SuperVersion>>, SeqNo) = match (snapshot, &self.secondary) {
            (Some(snapshot), _) => held(snapshot),
            // A secondary installs the super versions of its families one by one, and publishes them
            // together.
            (None, Some(secondary)) => held(&self.snapshots.take_view(secondary.view(), None)),
            (None, None) => self.newest_view_of(families),
        };
        match super_versions
            .iter()
            .any(|super_version| super_version.is_closed())
        {
            true => Err(closing()),
            false => Ok((super_versions, seqno)),
        }
    }

    fn newest_view_of(&self, families: &[&ColumnFamily]) -> (Vec<Arc<SuperVersion>>, SeqNo) {
        let load = || -> (Vec<Arc<SuperVersion>>, SeqNo) {
            let of = |family: &&ColumnFamily| family.0.super_version.load_full();
            let super_versions = families.iter().map(of).collect();
            sync::point("super version");
            (super_versions, self.published.load(Ordering::Acquire))
        };
        for _ in 0..ATTEMPTS {
            let view = load();
            // If a memtable was switched after these super versions were loaded, rows up to that sequence
            // number may be in memtables that they do not have.
            let is_newest = |(family, super_version): (&&ColumnFamily, &Arc<SuperVersion>)| {
                Arc::ptr_eq(super_version, &family.0.super_version.load())
            };
            if families.iter().zip(&view.0).all(is_newest) {
                return view;
            }
        }
        // Super versions are only installed under the database mutex.
        let _state = self.state.lock();
        load()
    }

    /// Looks up `answer` for keys of several families in one view, family by family; `keys` has one key for
    /// each of `families`.
    pub(crate) fn multi_get_over(
        &self,
        options: &ReadOptions,
        families: &[&ColumnFamily],
        keys: &[&[u8]],
        answer: Answer,
    ) -> Vec<Found> {
        let mut distinct: Vec<&ColumnFamily> = Vec::new();
        let mut places: Vec<Vec<usize>> = Vec::new();
        for (place, family) in families.iter().enumerate() {
            let known = distinct.iter().position(|known| Arc::ptr_eq(&known.0, &family.0));
            let at = known.unwrap_or_else(|| {
                distinct.push(family);
                places.push(Vec::new());
                distinct.len() - 1
            });
            places[at].push(place);
        }
        let (super_versions, seqno) = match self.view_of_families(options.snapshot.as_ref(), &distinct) {
            Ok(view) => view,
            Err(error) => return keys.iter().map(|_| Err(error.clone())).collect(),
        };
        if self.traces.query.is_on() {
            let ids = families.iter().map(|family| family.0.id);
            self.trace_multi_get(options, ids.zip(keys.iter().copied()));
        }
        let look = || {
            let mut found: Vec<Found> = Vec::new();
            found.resize_with(keys.len(), || Ok(None));
            for ((family, places), super_version) in distinct.iter().zip(&places).zip(&super_versions) {
                let keys: Vec<&[u8]> = places.iter().map(|&place| keys[place]).collect();
                let family: &Arc<Family> = &family.0;
                let values = self.multi_get_from(super_version, seqno, options, family, &keys, answer);
                for (&place, value) in places.iter().zip(values) {
                    found[place] = value;
                }
            }
            found
        };
        self.observed_multi_get(look)
    }
}
