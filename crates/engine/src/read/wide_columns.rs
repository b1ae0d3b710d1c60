//! Wide-column entities: keys whose value is a set of named columns.
//!
//! An entity and a plain value are two forms of one row: a plain value read as an entity is its unnamed
//! column, and an entity read as a plain value is the value of its unnamed column, or empty without one.
//! Writing one replaces the other.

use base::Result;

use crate::files::blob_cache::BlobRead;
use crate::read::get::{Answer, GetContext};
use crate::state::column_family::ColumnFamily;
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;
use crate::state::value::Columns;

impl Db {
    /// Returns the columns of `key` of the default family in the order of their names, or `None`. A plain
    /// value is an unnamed column.
    ///
    /// # Errors
    /// Those of [`get_pinned`](Db::get_pinned).
    pub fn get_entity(&self, key: impl AsRef<[u8]>) -> Result<Option<Columns>> {
        self.get_entity_cf(&self.default_column_family(), key)
    }

    /// Returns the columns of `key` of `family`; see [`get_entity`](Db::get_entity).
    pub fn get_entity_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<Option<Columns>> {
        self.get_entity_cf_opt(family, key, &ReadOptions::default())
    }

    /// Returns the columns of `key` of `family` as `options` ask; see [`get_entity`](Db::get_entity).
    pub fn get_entity_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Option<Columns>> {
        let key = key.as_ref();
        let inner = self.inner();
        inner.check_owns(&family.0)?;
        let _charged = inner.charged_reads(options);
        let (super_version, seqno) = family.0.view(options.snapshot.as_ref());
        if super_version.is_closed() {
            return Err(closing());
        }
        let family = &family.0;
        if inner.traces.query.is_on() {
            inner.trace_get(options, family, key, seqno);
        }
        if family.cmp.user().timestamp_size() > 0 || options.timestamp.is_some() {
            let found = inner.iterator_at(&super_version, seqno, None, options, family, key)?;
            return found.map(|iter| iter.columns_or_value()).transpose();
        }
        let read = BlobRead::from(options);
        let found = inner.observed_get(|| {
            let mut context = GetContext::new(family, key, read)
                .reading(options)
                .answering(Answer::Columns);
            inner.search(&super_version, seqno, options, &mut context)?;
            inner.conclude(context)
        })?;
        found
            .map(|found| family.values.columns_of(key, found, read))
            .transpose()
    }

    /// Returns the columns of many keys of one family, all as of one moment, in the order of `keys`:
    /// RocksDB's `MultiGetEntity`. Each result is that of [`get_entity`](Db::get_entity); the keys are looked
    /// up concurrently.
    pub fn multi_get_entity<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        keys: &[K],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Columns>>> {
        let keys: Vec<(&ColumnFamily, &[u8])> = keys.iter().map(|key| (family, key.as_ref())).collect();
        self.multi_get_entity_families(&keys, options)
    }

    /// Same as [`multi_get_entity`](Db::multi_get_entity), for keys of several families, all as of one
    /// moment.
    pub fn multi_get_entity_families<K: AsRef<[u8]>>(
        &self,
        keys: &[(&ColumnFamily, K)],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Columns>>> {
        let families: Vec<_> = keys.iter().map(|(family, _)| *family).collect();
        let bytes: Vec<&[u8]> = keys.iter().map(|(_, key)| key.as_ref()).collect();
        let found = self
            .inner()
            .multi_get_over(options, &families, &bytes, Answer::Columns);
        let columns = |((family, key), found): ((&ColumnFamily, &[u8]), Result<Option<_>>)| {
            found?
                .map(|found| family.0.values.columns_of(key, found, BlobRead::from(options)))
                .transpose()
        };
        families.into_iter().zip(bytes).zip(found).map(columns).collect()
    }

    /// Returns the columns of `key` in each of `families`, in their order and as of one moment: RocksDB's
    /// `GetEntity` with attribute groups.
    pub fn get_attribute_groups(
        &self,
        key: impl AsRef<[u8]>,
        families: &[&ColumnFamily],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Columns>>> {
        let key = key.as_ref();
        let keys: Vec<(&ColumnFamily, &[u8])> = families.iter().map(|&family| (family, key)).collect();
        self.multi_get_entity_families(&keys, options)
    }

    /// Returns the columns of many keys in each of `families`, by key and then by family, as of one moment:
    /// RocksDB's `MultiGetEntity` with attribute groups.
    pub fn multi_get_attribute_groups<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        families: &[&ColumnFamily],
        options: &ReadOptions,
    ) -> Vec<Vec<Result<Option<Columns>>>> {
        if families.is_empty() {
            return keys.iter().map(|_| Vec::new()).collect();
        }
        let of_key = |key: &'_ K| -> Vec<(ColumnFamily, Vec<u8>)> {
            let with = |&family: &&ColumnFamily| (family.clone(), key.as_ref().to_vec());
            families.iter().map(with).collect()
        };
        let all: Vec<(ColumnFamily, Vec<u8>)> = keys.iter().flat_map(of_key).collect();
        let borrowed: Vec<(&ColumnFamily, &[u8])> =
            all.iter().map(|(family, key)| (family, &key[..])).collect();
        let mut found = self.multi_get_entity_families(&borrowed, options).into_iter();
        let groups = |_| found.by_ref().take(families.len()).collect();
        keys.iter().map(groups).collect()
    }
}
