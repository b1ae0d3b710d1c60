//! Opens the database of a command: for reading, for writing, as a secondary or follower, with
//! transactions, or with a time to live.

use std::collections::BTreeMap;

use base::UserComparator;
use esker::{
    ColumnFamily, Db, DbWithTtl, FamilyTtl, Options, ReadOptions, TtlOptions, WriteBatch, WriteOptions,
};
use txn::{TransactionDB, TransactionDBOptions, TxnDBWritePolicy};

use crate::ldb::line::Line;
use crate::ldb::options;
use crate::ldb::outcome::Failed;

/// An open database, and the family that the command line names.
pub struct Session {
    pub db: Db,
    pub family: ColumnFamily,
    /// The database with a time to live, with `--ttl`.
    pub ttl: Option<DbWithTtl>,
    /// The database of transactions, with `--use_txn`.
    transactions: Option<TransactionDB>,
}

/// Opens the database for reading.
pub fn read_only(line: &Line) -> Result<Session, Failed> {
    open(line, options::prepare(line)?, true)
}

/// Opens the database for writing; `create_if_missing` creates it.
pub fn writable(line: &Line, create_if_missing: bool) -> Result<Session, Failed> {
    let mut options = options::prepare(line)?;
    options.create_if_missing = create_if_missing;
    with_options(line, options)
}

/// Opens the database for writing with the given options.
pub fn with_options(line: &Line, options: Options) -> Result<Session, Failed> {
    open(line, options, false)
}

fn open(line: &Line, mut options: Options, read_only: bool) -> Result<Session, Failed> {
    let path = line.path("db").or_else(|| line.path("path")).unwrap_or_default();
    let (secondary, leader) = (line.path("secondary_path"), line.path("leader_path"));
    let other = secondary.is_some() || leader.is_some();
    let (mut ttl, mut transactions) = (None, None);
    let db = if line.flag("use_txn") {
        check_transactions(line, read_only, other)?;
        let with = TransactionDBOptions {
            write_policy: write_policy(line),
            ..TransactionDBOptions::default()
        };
        let opened = TransactionDB::open(&options, &with, path)?;
        transactions.insert(opened).db().clone()
    } else if line.flag("ttl") {
        if other {
            let text = "Open as secondary or follower is not supported for TTL DB yet.";
            return Err(Failed::said(text));
        }
        let with = TtlOptions {
            default: FamilyTtl::RocksDb(0),
            families: BTreeMap::new(),
            read_only,
        };
        ttl.insert(DbWithTtl::open_with(&options, path, &with)?)
            .db()
            .clone()
    } else {
        match (secondary, leader) {
            (Some(_), Some(_)) => {
                return Err(Failed::said("Cannot provide both secondary and leader paths"));
            }
            (Some(own), None) => Db::open_as_secondary(&options, path, own)?,
            (None, Some(leader)) => Db::open_as_follower(&options, path, leader)?,
            (None, None) if read_only => {
                // A reader sees committed rows alone.
                options.allow_2pc = true;
                Db::open_read_only(&options, path)?
            }
            (None, None) => Db::open(&options, path)?,
        }
    };
    let name = line.column_family();
    let family = db
        .column_family(&name)
        .ok_or_else(|| Failed::said(format!("Non-existing column family {name}")))?;
    Ok(Session {
        db,
        family,
        ttl,
        transactions,
    })
}

fn check_transactions(line: &Line, read_only: bool, other: bool) -> Result<(), Failed> {
    let text = match () {
        () if line.flag("ttl") => "Cannot use both --ttl and --use_txn flags together",
        () if other => "TransactionDB does not support secondary or follower mode",
        () if read_only => "TransactionDB does not support read-only mode",
        () => return Ok(()),
    };
    Err(Failed::said(text))
}

fn write_policy(line: &Line) -> TxnDBWritePolicy {
    let number = match line.int("txn_write_policy") {
        Ok(number) => number.unwrap_or(0),
        Err(_) => {
            let text = line.text("txn_write_policy").unwrap_or_default();
            eprintln!("Invalid txn_write_policy value: {text}");
            0
        }
    };
    match number {
        0 => TxnDBWritePolicy::WriteCommitted,
        1 => TxnDBWritePolicy::WritePrepared,
        2 => TxnDBWritePolicy::WriteUnprepared,
        _ => {
            eprintln!("Invalid txn_write_policy: {number}. Must be 0, 1, or 2.");
            TxnDBWritePolicy::WriteCommitted
        }
    }
}

/// A timestamp as `ldb` takes it: a number.
pub fn timestamp(text: &str) -> Result<[u8; 8], Failed> {
    let digits: String = text
        .trim_start()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let invalid = |_| Failed::said("Invalid argument: user provided timestamp is not a valid uint64 value.");
    digits.parse::<u64>().map(u64::to_le_bytes).map_err(invalid)
}

impl Session {
    /// Writes a batch of rows of the family.
    pub fn write(&self, batch: WriteBatch) -> base::Result<()> {
        self.write_opt(&WriteOptions::default(), batch)
    }

    /// Same as [`write`](Self::write), with options.
    pub fn write_opt(&self, options: &WriteOptions, batch: WriteBatch) -> base::Result<()> {
        match (&self.transactions, &self.ttl) {
            (Some(transactions), _) => transactions.write_opt(batch, options),
            (None, Some(ttl)) => ttl.write_opt(&batch, options),
            (None, None) => self.db.write_opt(batch, options),
        }
    }

    /// The value of a key, without its time.
    pub fn get(&self, options: &ReadOptions, key: &[u8]) -> base::Result<Option<Vec<u8>>> {
        match &self.ttl {
            Some(ttl) => ttl.get_cf_opt(&self.family, key, options),
            None => {
                let value = self.db.get_pinned_cf_opt(&self.family, key, options)?;
                Ok(value.map(|value| value.to_vec()))
            }
        }
    }

    /// The orders of all families, by id.
    pub fn comparators(&self) -> BTreeMap<u32, UserComparator> {
        let order = |family: ColumnFamily| (family.id(), family.comparator().clone());
        self.db.column_families().into_iter().map(order).collect()
    }

    /// Options to read the family at `--read_timestamp`.
    ///
    /// Errors: a timestamp is missing, or given for a family without timestamps.
    pub fn read_options(&self, line: &Line) -> Result<ReadOptions, Failed> {
        let has = self.family.comparator().timestamp_size() > 0;
        let given = line.text("read_timestamp");
        let timestamp = match (has, given) {
            (false, None) => None,
            (true, None) => {
                return Err(Failed::said(
                    "Invalid argument: column family enables user-defined timestamp while --read_timestamp is \
                     not provided.",
                ));
            }
            (false, Some(_)) => {
                return Err(Failed::said(
                    "Invalid argument: column family does not enable user-defined timestamps while \
                     --read_timestamp is provided.",
                ));
            }
            (true, Some(text)) => Some(timestamp(&text)?.to_vec()),
        };
        Ok(ReadOptions {
            timestamp,
            ..ReadOptions::default()
        })
    }

    /// Closes the database.
    pub fn close(self) -> Result<(), Failed> {
        Ok(self.db.close()?)
    }
}
