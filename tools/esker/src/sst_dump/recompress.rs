//! `--command=recompress`: the size of a table, written again with other compressions.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use base::env::{Clock, SystemClock};
use codec::compression::{CompressionOptions, CompressionType};
use sst::{BlockReadOptions, Table, TableReadOptions, TableSummary, TableWriter, TableWriterOptions};
use vfs::{CreateOptions, FileSystem, MemFs, OpenOptions};

use crate::output::{Failure, Out};
use crate::sst_dump::args::Args;

/// The name of the table that is written, in memory.
const NAME: &str = "/recompressed.sst";

/// Prints a line for each compression type and level.
///
/// Errors: those of reading and of writing the table.
pub fn show(table: &Arc<Table>, args: &Args, out: &mut Out) -> Result<(), Failure> {
    let all = CompressionType::ALL
        .into_iter()
        .filter(|ty| ty.is_supported() && *ty != CompressionType::ZstdNotFinal)
        .collect();
    let types = match args.compression_types.is_empty() {
        true => &all,
        false => &args.compression_types,
    };
    for &ty in types {
        if !ty.is_supported() {
            writeln!(out, "Unsupported compression type: {}.", ty.options_name())?;
            continue;
        }
        writeln!(
            out,
            "Compression: {:<24} Block Size: {}  Threads: {}",
            ty.options_name(),
            args.block_size,
            args.compression.parallel_threads
        )?;
        for level in args.levels.0..=args.levels.1 {
            let compression = CompressionOptions {
                level,
                ..args.compression.clone()
            };
            let options = TableWriterOptions {
                compression: ty,
                compression_opts: compression,
                enable_index_compression: args.enable_index_compression,
                block_size: args.block_size,
                // Tables are written in the newest format version, which supports the most compression.
                format_version: 7,
                ..TableWriterOptions::new(table.comparator().clone())
            };
            write!(out, "Cx level: {level}")?;
            line(&measure(table, options, args.verify_compression)?, out)?;
        }
    }
    Ok(())
}

struct Measured {
    summary: TableSummary,
    /// The bytes of the data blocks before compression.
    uncompressed: u64,
    write_micros: u128,
    read_micros: u128,
}

/// Writes the entries of `table` to a table in memory, and reads it. With `verify`, the entries that are
/// read must be those that were written.
fn measure(table: &Arc<Table>, options: TableWriterOptions, verify: bool) -> Result<Measured, Failure> {
    let fs = MemFs::new();
    let clock = SystemClock::new();
    let path = Path::new(NAME);
    fs.create_dir_all(Path::new("/"))?;
    let cmp = options.cmp.clone();
    let begin = clock.now();
    let file = fs.create(path, &CreateOptions::default())?;
    let mut writer = TableWriter::new(file, options)?;
    let mut cursor = table.cursor(BlockReadOptions::default());
    cursor.seek_to_first();
    while cursor.valid() {
        writer.add(cursor.key(), cursor.value())?;
        cursor.next();
    }
    cursor.status()?;
    let summary = writer.finish()?;
    let written = clock.now();
    let file = fs.open_random(path, &OpenOptions::default())?;
    let copy = Table::open(file, TableReadOptions::new(cmp))?;
    let mut read = copy.cursor(BlockReadOptions::default());
    read.seek_to_first();
    cursor.seek_to_first();
    while read.valid() {
        if verify {
            if !cursor.valid() || (cursor.key(), cursor.value()) != (read.key(), read.value()) {
                let text = "a block does not decompress to what was compressed";
                return Err(base::Error::corruption(text).into());
            }
            cursor.next();
        }
        read.next();
    }
    read.status()?;
    let read_micros = (clock.now() - written).as_micros();
    let mut uncompressed = 0;
    for line in sst::dump::index(&copy)? {
        uncompressed += sst::dump::data_block(&copy, line.handle)?.size as u64;
    }
    Ok(Measured {
        summary,
        uncompressed,
        write_micros: (written - begin).as_micros(),
        read_micros,
    })
}

fn line(measured: &Measured, out: &mut Out) -> std::io::Result<()> {
    let properties = &measured.summary.properties;
    let tally = &measured.summary.compressed;
    let blocks = properties
        .num_data_blocks
        .max(tally.blocks + tally.rejected_blocks);
    let rejected = tally.rejected_blocks.min(blocks);
    let otherwise = blocks - tally.blocks.min(blocks) - rejected;
    let percent = |count: u64| match blocks {
        0 => 0.0,
        blocks => count as f64 * 100.0 / blocks as f64,
    };
    let ratio = measured.uncompressed as f64 / properties.data_size.max(1) as f64;
    writeln!(
        out,
        " Cx size: {:>10} Uncx size: {:>10} Ratio: {:>10} Write usec: {:>10}  Read usec: {:>10}  Cx count: {:>6} \
         ({:>5.1}%) Not cx for ratio: {:>6} ({:>5.1}%) Not cx otherwise: {:>6} ({:>5.1}%)",
        properties.data_size,
        measured.uncompressed,
        format!("{ratio:.6}"),
        measured.write_micros,
        measured.read_micros,
        tally.blocks,
        percent(tally.blocks),
        rejected,
        percent(rejected),
        otherwise,
        percent(otherwise)
    )
}
