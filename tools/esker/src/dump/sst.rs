//! Dumps a table: footer, properties, index, blocks, entries.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use base::filename::FileKind;
use base::internal_key::{self, TRAILER_LEN};
use base::{Error, InternalComparator, Kind, MAX_SEQNO, Result, UserComparator};
use blob::BlobIndex;
use codec::compression::CompressionType;
use sst::format::{FOOTER_LEN, Footer};
use sst::{BlockReadOptions, Table, TableProperties, TableReadOptions};

use crate::args::SstArgs;
use crate::directory;
use crate::output::{Failure, Out};
use crate::text::{Form, count, show_internal_key, show_size};

/// Dumps tables.
pub fn dump(args: &SstArgs, out: &mut Out) -> Result<(), Failure> {
    let form = Form::new(args.hex);
    let bound = |text: &Option<OsString>| {
        let parsed = text.as_deref().map(|text| form.parse(text)).transpose();
        parsed.map_err(Failure::Usage)
    };
    let range = Range {
        from: bound(&args.from)?,
        to: bound(&args.to)?,
        limit: args.limit.unwrap_or(u64::MAX),
    };
    let paths = args
        .source
        .paths("table", |kind| matches!(kind, FileKind::Table(_)))?;
    super::each(&paths, |path| {
        writeln!(out, "{}", path.display())?;
        dump_file(path, args, &range, out)
    })
}

/// The range of entries to show.
struct Range {
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    limit: u64,
}

fn dump_file(path: &Path, args: &SstArgs, range: &Range, out: &mut Out) -> Result<(), Failure> {
    let form = Form::new(args.hex);
    let nothing_asked = !(args.footer || args.properties || args.index || args.blocks || args.entries);
    let asked = |flag: bool| flag || args.all;
    if asked(args.footer || nothing_asked) {
        // If a table cannot be opened, its footer may still be readable, and is shown.
        footer(path, out)?;
    }
    let table = open(path)?;
    if asked(args.footer || nothing_asked) {
        for (name, handle) in sst::dump::metaindex(&table) {
            let name = Form::Escaped.show(name).to_string();
            writeln!(out, "  {name:<44} at {}, {} bytes", handle.offset, handle.size)?;
        }
    }
    if asked(args.properties || nothing_asked) {
        properties(&table, out)?;
    }
    if asked(args.index) {
        index(&table, form, out)?;
    }
    let mut first_bad = Ok(());
    if asked(args.blocks) {
        first_bad = blocks(&table, out)?;
    }
    if asked(args.entries) {
        entries(&table, form, range, out)?;
    }
    Ok(first_bad?)
}

/// Opens a table with the comparator that its properties name, or bytewise if that is not built in.
pub fn open(path: &Path) -> Result<Arc<Table>> {
    let mut options = TableReadOptions::new(InternalComparator::new(UserComparator::Bytewise));
    if let Some(FileKind::Table(number)) = super::kind(path) {
        options.file_number = number;
    }
    let table = Table::open(directory::open(path)?, options.clone())?;
    match UserComparator::builtin(&table.properties().comparator_name()) {
        None | Some(UserComparator::Bytewise) => Ok(table),
        Some(order) => {
            options.cmp = InternalComparator::new(order);
            Table::open(directory::open(path)?, options)
        }
    }
}

fn footer(path: &Path, out: &mut Out) -> Result<(), Failure> {
    let file = directory::open(path)?;
    let at = file.len().saturating_sub(FOOTER_LEN as u64);
    let mut bytes = vec![0; (file.len() - at) as usize];
    file.read_exact_at(at, &mut bytes)?;
    let footer = Footer::decode(&bytes, at).map_err(|error| error.in_file(path))?;
    writeln!(out, "footer at {at}, file of {} bytes", file.len())?;
    writeln!(
        out,
        "  format version {}, checksum {}",
        footer.format_version,
        footer.checksum.name()
    )?;
    if footer.base_context_checksum != 0 {
        writeln!(
            out,
            "  base context checksum {:#010x}",
            footer.base_context_checksum
        )?;
    }
    let handle = footer.metaindex;
    writeln!(
        out,
        "  {:<44} at {}, {} bytes",
        "metaindex", handle.offset, handle.size
    )?;
    if let Some(handle) = footer.index {
        writeln!(
            out,
            "  {:<44} at {}, {} bytes",
            "index", handle.offset, handle.size
        )?;
    }
    Ok(())
}

fn properties(table: &Table, out: &mut Out) -> Result<(), Failure> {
    writeln!(out, "properties")?;
    for (name, value) in sst::dump::properties(table)? {
        let name_text = Form::Escaped.show(&name).to_string();
        writeln!(out, "  {name_text:<52} {}", TableProperties::show(&name, &value))?;
    }
    Ok(())
}

fn index(table: &Table, form: Form, out: &mut Out) -> Result<(), Failure> {
    let lines = sst::dump::index(table)?;
    writeln!(
        out,
        "index: {}, {}",
        table.properties().index_type.name(),
        count(lines.len() as u64, "data block")
    )?;
    let partitioned = lines.last().is_some_and(|line| line.partition > 0);
    let user_keys = table.properties().index_key_is_user_key;
    for line in lines {
        let partition = if partitioned {
            format!("  partition {}", line.partition)
        } else {
            String::new()
        };
        let separator = match user_keys {
            true => form.show(&line.separator).to_string(),
            false => show_internal_key(form, &line.separator),
        };
        let first = line.first_key.map_or_else(String::new, |key| {
            format!("  first {}", show_internal_key(form, &key))
        });
        let handle = line.handle;
        writeln!(
            out,
            "  at {}, {} bytes{partition}  up to {separator}{first}",
            handle.offset, handle.size
        )?;
    }
    Ok(())
}

/// Shows the storage of data blocks. Continues after a bad one, and returns the first error at the end.
fn blocks(table: &Table, out: &mut Out) -> Result<Result<()>, Failure> {
    let mut first_bad = Ok(());
    writeln!(out, "data blocks")?;
    for line in sst::dump::index(table)? {
        let handle = line.handle;
        match sst::dump::data_block(table, handle) {
            Ok(block) => {
                let compression = CompressionType::from_byte(block.compression_type).map_or_else(
                    || format!("type {:#04x}", block.compression_type),
                    |ty| ty.property_name().to_owned(),
                );
                writeln!(
                    out,
                    "  at {}, {} bytes stored, {compression}, {} bytes, {}, {}",
                    handle.offset,
                    block.stored_size,
                    block.size,
                    count(block.num_restarts as u64, "restart point"),
                    count(block.entries.len() as u64, "entry"),
                )?;
            }
            Err(error) => {
                writeln!(
                    out,
                    "  at {}, {} bytes stored: {error}",
                    handle.offset, handle.size
                )?;
                first_bad = first_bad.and(Err(error));
            }
        }
    }
    Ok(first_bad)
}

/// Shows range deletions and entries within `range`.
fn entries(table: &Arc<Table>, form: Form, range: &Range, out: &mut Out) -> Result<(), Failure> {
    let order = table.comparator().user().clone();
    let tombstones = table.range_tombstones();
    if !tombstones.is_empty() {
        writeln!(out, "range deletions, in fragments")?;
    }
    for fragment in tombstones.iter() {
        let seqnos: Vec<String> = fragment.seqnos.iter().map(u64::to_string).collect();
        writeln!(
            out,
            "  {} .. {} @ {}",
            form.show(fragment.start),
            form.show(fragment.end),
            seqnos.join(" ")
        )?;
    }
    writeln!(out, "entries")?;
    let mut cursor = table.cursor(BlockReadOptions::default());
    match &range.from {
        Some(from) => {
            // The seek is at the newest timestamp, if keys have timestamps, and so before all versions of the
            // key.
            let newest = vec![0xff; order.timestamp_size()];
            let mut target = Vec::new();
            internal_key::set_seek_target(&mut target, &[from, &newest[..]].concat(), MAX_SEQNO);
            cursor.seek(&target);
        }
        None => cursor.seek_to_first(),
    }
    let mut shown = 0;
    while cursor.valid() && shown < range.limit {
        let key = cursor.key();
        if key.len() < TRAILER_LEN {
            return Err(Error::corruption(format!("internal key of {} bytes", key.len()))
                .in_file(table.path())
                .into());
        }
        let user_key = internal_key::user_key(key);
        let is_behind = |to: &Vec<u8>| {
            order
                .compare_without_timestamp(order.strip_timestamp(user_key), to)
                .is_ge()
        };
        if range.to.as_ref().is_some_and(is_behind) {
            break;
        }
        let value = show_value(form, internal_key::kind_byte(key), cursor.value());
        writeln!(out, "  {} = {value}", show_internal_key(form, key))?;
        shown += 1;
        cursor.next();
    }
    cursor.status()?;
    writeln!(out, "{}", count(shown, "entry"))?;
    Ok(())
}

fn show_value(form: Form, kind: u8, value: &[u8]) -> String {
    if kind == Kind::BlobIndex as u8
        && let Ok(BlobIndex::Blob { location, .. }) = BlobIndex::decode(value)
    {
        let size = show_size(location.size);
        return format!(
            "blob file {:06} at {}, {size} stored",
            location.file_number, location.offset
        );
    }
    form.show(value).to_string()
}
