//! The commands over rows: scan, get, put, delete, deleterange.

use std::ffi::OsStr;
use std::io::Write;

use base::{Error, ErrorKind, Result};
use esker::{ColumnFamily, Db, DbIterator, ReadOptions, WriteBatch, WriteOptions};

use crate::args::{Database, DeleteArgs, DeleteRangeArgs, GetArgs, Keys, PutArgs, ScanArgs, Writing};
use crate::open;
use crate::output::{Failure, Out};
use crate::text::Form;

/// The length of timestamps that `--timestamp` can express.
const TIMESTAMP_LEN: usize = 8;

impl Keys {
    fn form(&self) -> Form {
        Form::new(self.hex)
    }

    fn parse(&self, text: &OsStr) -> Result<Vec<u8>, Failure> {
        self.form().parse(text).map_err(Failure::Usage)
    }

    /// The timestamp at which `family` is read: the newest unless one is given. `None` in families without
    /// timestamps.
    fn read_timestamp(&self, family: &ColumnFamily) -> Result<Option<Vec<u8>>> {
        Ok(match has_timestamps(family)? {
            true => Some(self.timestamp.unwrap_or(u64::MAX).to_le_bytes().to_vec()),
            false => None,
        })
    }

    /// The timestamp to write to `family` at.
    fn write_timestamp(&self, family: &ColumnFamily) -> Result<Option<[u8; TIMESTAMP_LEN]>> {
        let bad = |what: &str| {
            Err(Error::invalid_argument(format!(
                "column family {} {what}",
                family.name()
            )))
        };
        match (has_timestamps(family)?, self.timestamp) {
            (true, Some(timestamp)) => Ok(Some(timestamp.to_le_bytes())),
            (true, None) => bad("has timestamps: give one with --timestamp"),
            (false, Some(_)) => bad("has no timestamps, but --timestamp is given"),
            (false, None) => Ok(None),
        }
    }
}

fn has_timestamps(family: &ColumnFamily) -> Result<bool> {
    match family.comparator().timestamp_size() {
        0 => Ok(false),
        TIMESTAMP_LEN => Ok(true),
        size => Err(Error::not_supported(format!(
            "column family {} has timestamps of {size} bytes",
            family.name()
        ))),
    }
}

/// Prints rows.
pub fn scan(args: &ScanArgs, out: &mut Out) -> Result<(), Failure> {
    let bound = |text: &Option<_>| text.as_deref().map(|text| args.keys.parse(text)).transpose();
    let (from, to) = (bound(&args.from)?, bound(&args.to)?);
    let opened = open::read_only(&args.database, &args.reading)?;
    let db = &opened.db;
    let families = match args.all_column_families {
        true => db.column_families(),
        false => vec![open::column_family(db, args.keys.column_family.as_deref())?],
    };
    let timestamps = families.iter().map(has_timestamps).collect::<Result<Vec<_>>>()?;
    if args.keys.timestamp.is_some() && !timestamps.contains(&true) {
        return Err(
            Error::invalid_argument("--timestamp is given, but no column family has timestamps").into(),
        );
    }
    let mut left = args.limit.unwrap_or(u64::MAX);
    for family in &families {
        let options = ReadOptions {
            iterate_lower_bound: from.clone(),
            iterate_upper_bound: to.clone(),
            timestamp: args.keys.read_timestamp(family)?,
            fill_cache: false,
            ..ReadOptions::default()
        };
        let mut prefix = Vec::new();
        if args.all_column_families {
            // Names are not encoded in hexadecimal, but must not break a line either.
            Form::Escaped.append(family.name().as_bytes(), &mut prefix);
            prefix.push(b'\t');
        }
        scan_family(db.iter_cf_opt(family, &options), args, &prefix, &mut left, out)?;
    }
    Ok(opened.check()?)
}

fn scan_family(
    mut iter: DbIterator,
    args: &ScanArgs,
    prefix: &[u8],
    left: &mut u64,
    out: &mut Out,
) -> Result<(), Failure> {
    let form = args.keys.form();
    let mut row = Vec::new();
    if args.reverse {
        iter.seek_to_last();
    } else {
        iter.seek_to_first();
    }
    while iter.valid() && *left > 0 {
        row.clear();
        row.extend_from_slice(prefix);
        form.append(iter.key(), &mut row);
        row.push(b'\t');
        form.append(iter.value(), &mut row);
        if let Some(columns) = iter.columns()? {
            row.extend_from_slice(b"\tcolumns");
            for (name, value) in columns {
                row.push(b'\t');
                form.append(&name, &mut row);
                row.push(b'=');
                form.append(&value, &mut row);
            }
        }
        row.push(b'\n');
        out.write_all(&row)?;
        *left -= 1;
        if args.reverse {
            iter.prev();
        } else {
            iter.next();
        }
    }
    Ok(iter.status()?)
}

/// Prints a value.
pub fn get(args: &GetArgs, out: &mut Out) -> Result<(), Failure> {
    let key = args.keys.parse(&args.key)?;
    let opened = open::read_only(&args.database, &args.reading)?;
    let db = &opened.db;
    let family = open::column_family(db, args.keys.column_family.as_deref())?;
    if args.keys.timestamp.is_some() && !has_timestamps(&family)? {
        return Err(
            Error::invalid_argument(format!("column family {} has no timestamps", family.name())).into(),
        );
    }
    let options = ReadOptions {
        timestamp: args.keys.read_timestamp(&family)?,
        ..ReadOptions::default()
    };
    let Some(value) = db.get_pinned_cf_opt(&family, &key, &options)? else {
        opened.check()?;
        let message = format!(
            "no key {} in column family {}",
            args.keys.form().show(&key),
            family.name()
        );
        return Err(Error::new(ErrorKind::NotFound, message)
            .in_file(&args.database.db)
            .into());
    };
    let mut line = Vec::new();
    args.keys.form().append(&value, &mut line);
    line.push(b'\n');
    out.write_all(&line)?;
    Ok(opened.check()?)
}

/// Opens the database, applies the batch that `fill` fills, and closes it.
fn write(
    database: &Database,
    create_if_missing: bool,
    keys: &Keys,
    writing: &Writing,
    fill: impl FnOnce(&mut WriteBatch, &ColumnFamily, Option<&[u8]>),
) -> Result<(), Failure> {
    let db: Db = open::writable(database, create_if_missing)?;
    let family = open::column_family(&db, keys.column_family.as_deref())?;
    let timestamp = keys.write_timestamp(&family)?;
    let mut batch = WriteBatch::new();
    fill(
        &mut batch,
        &family,
        timestamp.as_ref().map(|timestamp| &timestamp[..]),
    );
    let options = WriteOptions {
        sync: writing.sync,
        ..WriteOptions::default()
    };
    db.write_opt(batch, &options)?;
    Ok(db.close()?)
}

/// Sets a key.
pub fn put(args: &PutArgs) -> Result<(), Failure> {
    let (key, value) = (args.keys.parse(&args.key)?, args.keys.parse(&args.value)?);
    let fill = |batch: &mut WriteBatch, family: &ColumnFamily, timestamp: Option<&[u8]>| match timestamp {
        Some(timestamp) => batch.put_at(family, &key, timestamp, &value),
        None => batch.put_cf(family, &key, &value),
    };
    write(
        &args.database,
        args.create_if_missing,
        &args.keys,
        &args.writing,
        fill,
    )
}

/// Deletes a key.
pub fn delete(args: &DeleteArgs) -> Result<(), Failure> {
    let key = args.keys.parse(&args.key)?;
    let fill = |batch: &mut WriteBatch, family: &ColumnFamily, timestamp: Option<&[u8]>| match timestamp {
        Some(timestamp) => batch.delete_at(family, &key, timestamp),
        None => batch.delete_cf(family, &key),
    };
    write(&args.database, false, &args.keys, &args.writing, fill)
}

/// Deletes a range of keys.
pub fn delete_range(args: &DeleteRangeArgs) -> Result<(), Failure> {
    let (begin, end) = (args.keys.parse(&args.begin)?, args.keys.parse(&args.end)?);
    let fill = |batch: &mut WriteBatch, family: &ColumnFamily, timestamp: Option<&[u8]>| match timestamp {
        Some(timestamp) => batch.delete_range_at(family, &begin, &end, timestamp),
        None => batch.delete_range_cf(family, &begin, &end),
    };
    write(&args.database, false, &args.keys, &args.writing, fill)
}
