//! The tables that the page opens: their remembered counts of entries, and one table in detail.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use base::internal_key::{self, TRAILER_LEN};
use base::sync::Mutex;
use base::{Error, ErrorKind, InternalComparator, Kind, Result, UserComparator, filename};
use serde_json::{Value, json};
use sst::{BlockReadOptions, Table, TableProperties, TableReadOptions};
use vfs::{FileSystem, OpenOptions};

use crate::text::Form;
use crate::text::shown;

/// The maximum number of tables that one request opens; the next request continues.
const OPENED_AT_ONCE: usize = 64;

/// The number of tables whose counts are remembered. Beyond it they are forgotten and read again.
const REMEMBERED: usize = 100_000;

/// The counts of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    /// The number of entries, including deletions.
    pub entries: u64,
    /// The number of deletions, including range deletions.
    pub deletions: u64,
}

pub(crate) struct Tables {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    /// The counts by table number; `None` if the table could not be read.
    known: Mutex<HashMap<u64, Option<Counts>>>,
    /// The paths of tables in other directories, which only the program knows.
    paths: Mutex<HashMap<u64, PathBuf>>,
}

impl Tables {
    pub fn new(fs: Arc<dyn FileSystem>, dir: PathBuf) -> Tables {
        Tables {
            fs,
            dir,
            known: Mutex::default(),
            paths: Mutex::default(),
        }
    }

    /// Remembers the paths of tables.
    pub fn have_paths(&self, paths: HashMap<u64, PathBuf>) {
        *self.paths.lock() = paths;
    }

    /// Returns the number of tables that a request may open.
    pub fn budget(&self) -> usize {
        OPENED_AT_ONCE
    }

    /// Returns the counts of a table, which is opened once for them if the budget permits.
    pub fn counts(&self, number: u64, budget: &mut usize) -> Option<Counts> {
        if let Some(known) = self.known.lock().get(&number) {
            return *known;
        }
        *budget = budget.checked_sub(1)?;
        let counts = self.open(number).ok().map(|table| {
            let properties = table.properties();
            Counts {
                entries: properties.num_entries,
                deletions: properties.num_deletions + properties.num_range_deletions,
            }
        });
        let mut known = self.known.lock();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(number, counts);
        counts
    }

    /// Opens the table with this number, with the comparator that its properties name, or bytewise if that
    /// comparator is not built in.
    fn open(&self, number: u64) -> Result<Arc<Table>> {
        let path = self.paths.lock().get(&number).cloned();
        let path = path.unwrap_or_else(|| filename::table(&self.dir, number));
        let file = || self.fs.open_random(&path, &OpenOptions::default());
        let mut options = TableReadOptions::new(InternalComparator::new(UserComparator::Bytewise));
        options.file_number = number;
        let table = Table::open(file()?, options.clone())?;
        match UserComparator::builtin(&table.properties().comparator_name()) {
            None | Some(UserComparator::Bytewise) => Ok(table),
            Some(order) => {
                options.cmp = InternalComparator::new(order);
                Table::open(file()?, options)
            }
        }
    }

    /// Returns the properties and the first `keys` keys of a table.
    pub fn describe(&self, number: u64, keys: u64) -> Result<Value> {
        let table = self.open(number).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::new(
                ErrorKind::NotFound,
                format!("table {number:06} was deleted, or is in another directory"),
            ),
            _ => error,
        })?;
        let properties = sst::dump::properties(&table)?;
        let properties: Vec<Value> = properties
            .iter()
            .map(|(name, value)| {
                let shown_name = Form::Escaped.show(name).to_string();
                json!([shown_name, TableProperties::show(name, value)])
            })
            .collect();
        Ok(json!({
            "number": number,
            "path": table.path(),
            "properties": properties,
            "range_deletions": table.range_tombstones().iter().count(),
            "keys": first_keys(&table, keys)?,
        }))
    }
}

fn first_keys(table: &Arc<Table>, limit: u64) -> Result<Vec<Value>> {
    let order = table.comparator().user().clone();
    let mut cursor = table.cursor(BlockReadOptions {
        fill_cache: false,
        ..BlockReadOptions::default()
    });
    cursor.seek_to_first();
    let mut keys = Vec::new();
    while cursor.valid() && (keys.len() as u64) < limit {
        let key = cursor.key();
        if key.len() < TRAILER_LEN {
            let error = Error::corruption(format!("internal key of {} bytes", key.len()));
            return Err(error.in_file(table.path()));
        }
        let kind = internal_key::kind_byte(key);
        let name = Kind::from_byte(kind).map_or_else(|| format!("{kind:#04x}"), |kind| format!("{kind:?}"));
        keys.push(json!({
            "key": shown(order.strip_timestamp(internal_key::user_key(key))),
            "seqno": internal_key::seqno(key),
            "kind": name,
            "value": shown(cursor.value()),
            "bytes": cursor.value().len(),
        }));
        cursor.next();
    }
    cursor.status()?;
    Ok(keys)
}
