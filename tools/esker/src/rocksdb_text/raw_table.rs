//! All parts of a table: RocksDB's `BlockBasedTable::DumpTable`, which `sst_dump --command=raw` writes to a
//! file.

use std::io::Write;
use std::sync::Arc;

use base::internal_key::{self, ParsedInternalKey};
use base::{Kind, Result};
use sst::Table;
use sst::format::{BLOCK_TRAILER_LEN, BlockHandle, Footer, placeless_checksum};

use crate::rocksdb_text::properties;
use crate::text::Form;

const RULE: &str = "--------------------------------------\n";

/// RocksDB's magic number of block-based tables.
const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;

/// Returns the dump of `table`. With `show_seqno`, entries have their sequence number and type.
///
/// Errors: those of reading the index, and the meta blocks.
pub fn dump(table: &Arc<Table>, show_seqno: bool) -> Result<Vec<u8>> {
    let mut dump = Dump {
        table,
        footer: sst::dump::footer(table),
        show_seqno,
        out: Vec::new(),
    };
    dump.footer();
    dump.metaindex()?;
    dump.section("Table Properties");
    dump.line("  ");
    dump.out
        .extend(properties::text(table.properties(), ": ", "\n  "));
    dump.line("\n");
    dump.index()?;
    dump.range_deletions();
    dump.data_blocks()?;
    Ok(dump.out)
}

struct Dump<'a> {
    table: &'a Arc<Table>,
    footer: Footer,
    show_seqno: bool,
    out: Vec<u8>,
}

fn encoded(handle: BlockHandle) -> String {
    let mut bytes = Vec::new();
    handle.encode(&mut bytes);
    Form::Hex.show(&bytes).to_string()
}

impl Dump<'_> {
    fn line(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn section(&mut self, title: &str) {
        self.line(&format!("{title}:\n{RULE}"));
    }

    fn footer(&mut self) {
        self.section("Footer Details");
        let footer = self.footer;
        let none = BlockHandle { offset: 0, size: 0 };
        for (name, handle) in [
            ("metaindex", footer.metaindex),
            ("index", footer.index.unwrap_or(none)),
        ] {
            self.line(&format!(
                "  {name} handle: {} offset: {} size: {}\n",
                encoded(handle),
                handle.offset,
                handle.size
            ));
        }
        self.line(&format!(
            "  table_magic_number: {MAGIC}\n  format version: {}\n\n",
            footer.format_version
        ));
        self.section("Block Checksum Type Legend");
        self.line("  0 = kNoChecksum\n  1 = kCRC32c\n  2 = kxxHash\n  3 = kxxHash64\n  4 = kXXH3\n");
        let checksum = footer.checksum as u8;
        self.line(&format!("  (This file uses checksum type: {checksum})\n\n"));
    }

    /// The checksum of a block, and how it is stored.
    fn block(&mut self, name: &str, handle: BlockHandle) {
        let mut trailer = [0; BLOCK_TRAILER_LEN];
        let at = handle.offset.saturating_add(handle.size);
        let text = match self.table.file().read_exact_at(at, &mut trailer) {
            Ok(()) => {
                let context = self.footer.base_context_checksum;
                let checksum = placeless_checksum(&trailer, context, handle.offset);
                format!(
                    "  {name} checksum type: {}  checksum value: {checksum:#x}  offset: {}  size: {}  \
                     compression type: {}\n",
                    self.footer.checksum as u8, handle.offset, handle.size, trailer[0]
                )
            }
            Err(error) => format!("  ERROR: Failed to read {name} checksum info - {error}\n"),
        };
        self.line(&text);
    }

    fn metaindex(&mut self) -> Result<()> {
        self.section("Metaindex Details");
        self.block("Metaindex block", self.footer.metaindex);
        for (name, handle) in sst::dump::metaindex(self.table).to_vec() {
            let name = String::from_utf8_lossy(&name).into_owned();
            let kind = match &*name {
                "rocksdb.properties" => "Properties",
                "rocksdb.compression_dict" => "Compression dictionary",
                "rocksdb.range_del" => "Range deletion",
                _ if name.contains("filter.rocksdb.") => "Filter",
                _ => continue,
            };
            self.line(&format!("  {kind} block handle: {}\n", encoded(handle)));
            self.block(&format!("{kind} block"), handle);
        }
        self.line("\n");
        Ok(())
    }

    fn index(&mut self) -> Result<()> {
        self.section("Index Details");
        let handle = sst::dump::index_handle(self.table);
        self.block("Index block", handle);
        self.line("  Block key hex dump: Data block handle\n  Block key ascii\n\n");
        let user_keys = self.table.properties().index_key_is_user_key;
        for line in sst::dump::index(self.table)? {
            let key = match user_keys {
                true => &line.separator[..],
                false => internal_key::user_key(&line.separator),
            };
            self.line(&format!(
                "  HEX    {}: {} offset {} size {}\n",
                Form::Hex.show(key),
                encoded(line.handle),
                line.handle.offset,
                line.handle.size
            ));
            self.line("  ASCII  ");
            for &byte in key {
                self.out.extend_from_slice(&[byte, b' ']);
            }
            self.line("\n  ------\n");
        }
        self.line("\n");
        Ok(())
    }

    fn range_deletions(&mut self) {
        let tombstones = self.table.range_tombstones().clone();
        if tombstones.is_empty() {
            return;
        }
        self.section("Range deletions");
        for fragment in tombstones.iter() {
            for &seqno in fragment.seqnos {
                let key = internal_key::encode(fragment.start, seqno, Kind::RangeDeletion);
                self.entry(&key, fragment.end);
            }
        }
        self.line("\n");
    }

    fn data_blocks(&mut self) -> Result<()> {
        let mut sizes = Vec::new();
        for (number, line) in sst::dump::index(self.table)?.into_iter().enumerate() {
            let handle = line.handle;
            sizes.push(handle.size);
            self.line(&format!("Data Block # {} @ {}\n", number + 1, encoded(handle)));
            self.block("Data block", handle);
            self.line(RULE);
            match sst::dump::data_block(self.table, handle) {
                Ok(block) => block
                    .entries
                    .iter()
                    .for_each(|(key, value)| self.entry(key, value)),
                Err(error) if error.is_corruption() => self.line("Error reading the block - Skipped \n"),
                Err(error) => return Err(error),
            }
            self.line("\n");
        }
        if let (Some(least), Some(most)) = (sizes.iter().min(), sizes.iter().max()) {
            let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
            self.line(&format!(
                "Data Block Summary:\n{RULE}  # data blocks: {}\n  min data block size: {least}\n  max data \
                 block size: {most}\n  avg data block size: {mean:.6}\n",
                sizes.len()
            ));
        }
        Ok(())
    }

    fn entry(&mut self, key: &[u8], value: &[u8]) {
        let Ok(parsed) = ParsedInternalKey::parse(key) else {
            return self.line("Error parsing internal key - Skipped \n");
        };
        let user_key = Form::Hex.show(parsed.user_key);
        let middle = match self.show_seqno {
            true => format!("  seq: {}  type: {} : ", parsed.seqno, parsed.kind as u8),
            false => ": ".to_owned(),
        };
        self.line(&format!("  HEX    {user_key}{middle}{}\n", Form::Hex.show(value)));
        self.line("  ASCII  ");
        self.spaced(parsed.user_key);
        self.line(": ");
        self.spaced(value);
        self.line("\n  ------\n");
    }

    /// Each byte and a space; a zero byte as `\0`.
    fn spaced(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                0 => self.line("\\0"),
                byte => self.out.push(byte),
            }
            self.out.push(b' ');
        }
    }
}

/// The names in the metaindex with their handles, as `sst_dump --list_meta_blocks` prints them.
pub fn meta_blocks(table: &Table, out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(b"Meta Blocks:\n------------------------------\n")?;
    for (name, handle) in sst::dump::metaindex(table) {
        out.write_all(b"  ")?;
        out.write_all(name)?;
        writeln!(out, ": {} {}", handle.offset, handle.size)?;
    }
    Ok(())
}
