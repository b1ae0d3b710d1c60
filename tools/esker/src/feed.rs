//! Prints what was written to a database as JSON lines, in order, and follows it.

use std::io::Write;
use std::time::Duration;

use base::Result;
use base::entity::{ColumnValue, Entity};
use esker::{BeforeImage, Feed, FeedBatch, FeedEvent, FeedOptions, FeedRow, Operation, Options};
use parking_lot::{Condvar, Mutex};

use crate::args::FeedArgs;
use crate::directory;
use crate::open;
use crate::output::{Failure, Out};

/// The time between two looks for new rows.
const INTERVAL: Duration = Duration::from_millis(100);
/// The maximum number of events that are printed before the cursor is acknowledged.
const ACKNOWLEDGED_TOGETHER: u32 = 1000;

/// Prints a change feed.
pub fn feed(args: &FeedArgs, out: &mut Out) -> Result<(), Failure> {
    directory::check_is_database(&args.db)?;
    let options = Options {
        wal_dir: open::wal_dir_text(args.wal_dir.as_deref())?,
        ..Options::default()
    };
    let mut feed_options = FeedOptions {
        cursor: args.cursor.clone(),
        since: args.since,
        column_families: args.column_family.iter().cloned().collect(),
        ..FeedOptions::default()
    };
    if let Some(bytes) = args.retain_bytes {
        feed_options.retain_bytes = bytes;
    }
    let mut feed = Feed::open(&options, &args.db, &feed_options)?;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let (nothing, never) = (Mutex::new(()), Condvar::new());
    loop {
        print_to_the_end(&mut feed, &mut left, out)?;
        if left == 0 || !args.follow {
            return Ok(());
        }
        never.wait_for(&mut nothing.lock(), INTERVAL);
    }
}

/// Prints the events there are. They are acknowledged once the reader of the output has taken them.
fn print_to_the_end(feed: &mut Feed, left: &mut u64, out: &mut Out) -> Result<(), Failure> {
    let mut since_acknowledged = 0;
    while *left > 0 {
        let Some(event) = feed.next()? else {
            break;
        };
        match event {
            FeedEvent::Gap { from, to } => writeln!(out, "{{\"gap\":{{\"from\":{from},\"to\":{to}}}}}")?,
            FeedEvent::Batch(batch) => print_batch(&batch, out)?,
        }
        *left -= 1;
        since_acknowledged += 1;
        if since_acknowledged == ACKNOWLEDGED_TOGETHER {
            acknowledge(feed, out)?;
            since_acknowledged = 0;
        }
    }
    acknowledge(feed, out)
}

fn acknowledge(feed: &mut Feed, out: &mut Out) -> Result<(), Failure> {
    out.finish()?;
    if feed.acknowledged().is_some() {
        feed.acknowledge(feed.position())?;
    }
    Ok(())
}

fn print_batch(batch: &FeedBatch, out: &mut Out) -> Result<(), Failure> {
    for row in batch.rows() {
        let line = json(batch, &row?)?;
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// A row as a JSON object. Rows of one batch have the same `batch`, its first sequence number.
fn json(batch: &FeedBatch, row: &FeedRow<'_>) -> Result<String> {
    let mut line = format!(
        "{{\"sequence\":{},\"batch\":{},\"family\":",
        row.sequence,
        batch.sequence()
    );
    match row.family {
        Some(name) => quote(name, &mut line),
        None => line.push_str("null"),
    }
    line.push_str(&format!(",\"family_id\":{}", row.family_id));
    let (operation, fields): (&str, &[(&str, &[u8])]) = match &row.operation {
        Operation::Put { key, value, .. } => ("put", &[("key", key), ("value", value)]),
        Operation::TimedPut { key, value, .. } => {
            ("put", &[("key", key), ("value", &value[..value.len() - 8])])
        }
        Operation::Delete { key, .. } => ("delete", &[("key", key)]),
        Operation::SingleDelete { key, .. } => ("single_delete", &[("key", key)]),
        Operation::Merge { key, operand, .. } => ("merge", &[("key", key), ("value", operand)]),
        Operation::DeleteRange { begin, end, .. } => ("delete_range", &[("key", begin), ("end", end)]),
        Operation::BlobIndex { key, index, .. } => ("blob_index", &[("key", key), ("value", index)]),
        Operation::Entity { key, .. } => ("put_entity", &[("key", key)]),
        _ => ("other", &[]),
    };
    line.push_str(&format!(",\"operation\":\"{operation}\""));
    for (name, bytes) in fields {
        line.push(',');
        append_bytes(name, bytes, &mut line);
    }
    if let Operation::Entity { entity, .. } = &row.operation {
        append_columns("columns", entity, &mut line)?;
    }
    match row.before {
        BeforeImage::Unknown => {}
        BeforeImage::Absent => line.push_str(",\"before\":null"),
        BeforeImage::Value(value) => {
            line.push(',');
            append_bytes("before", value, &mut line);
        }
        BeforeImage::Entity(entity) => append_columns("before_columns", entity, &mut line)?,
    }
    line.push('}');
    Ok(line)
}

/// Appends the columns of an entity under `field`.
fn append_columns(field: &str, entity: &[u8], line: &mut String) -> Result<()> {
    line.push_str(&format!(",\"{field}\":["));
    let decoded = Entity::decode(entity)?;
    for (at, (name, value)) in decoded.columns(entity).enumerate() {
        line.push_str(if at > 0 { ",{" } else { "{" });
        append_bytes("name", name, line);
        line.push(',');
        match value {
            ColumnValue::Inline(range) => append_bytes("value", &entity[range.clone()], line),
            ColumnValue::Blob(range) => append_bytes("blob_index", &entity[range.clone()], line),
        }
        line.push('}');
    }
    line.push(']');
    Ok(())
}

/// Appends `"name":"text"`, or `"name_hex":"digits"` for bytes that are not UTF-8.
fn append_bytes(name: &str, bytes: &[u8], line: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            line.push_str(&format!("\"{name}\":"));
            quote(text, line);
        }
        Err(_) => {
            line.push_str(&format!("\"{name}_hex\":\""));
            bytes
                .iter()
                .for_each(|byte| line.push_str(&format!("{byte:02X}")));
            line.push('"');
        }
    }
}

fn quote(text: &str, line: &mut String) {
    line.push('"');
    for c in text.chars() {
        match c {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            c if c < ' ' => line.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => line.push(c),
        }
    }
    line.push('"');
}
