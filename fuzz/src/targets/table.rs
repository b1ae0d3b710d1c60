//! Tables and their parts.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use base::{InternalComparator, Kind, UserComparator, internal_key};
use sst::filter::FilterReader;
use sst::format::{FOOTER_LEN, Footer};
use sst::index::{IndexBuilder, IndexCoding, decode_block};
use sst::{
    Block, BlockReadOptions, LookupKey, Table, TableProperties, TableReadOptions, TableWriter,
    TableWriterOptions,
};
use vfs::{CreateOptions, FileSystem, MemFs, OpenOptions};

use super::{exercise, file_of};

fn bytewise() -> InternalComparator {
    InternalComparator::new(UserComparator::Bytewise)
}

/// Bits of the first byte of [`table`].
const VERIFY: u8 = 1;
const GLOBAL_SEQNO: u8 = 2;
const CACHE: u8 = 4;

/// A whole table file: opened, verified, scanned and looked up in.
pub fn table(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else {
        return;
    };
    let options = TableReadOptions {
        verify_checksums: how & VERIFY != 0,
        largest_seqno: (how & GLOBAL_SEQNO != 0).then_some(1_000),
        cache: (how & CACHE != 0).then(|| sst::BlockCache::lru(cache::CacheOptions::default())),
        ..TableReadOptions::new(bytewise())
    };
    let Ok(table) = Table::open(file_of(bytes), options) else {
        return;
    };
    look_into(&table, how & VERIFY != 0);
}

fn look_into(table: &Arc<Table>, verify_checksums: bool) {
    let _ = table.verify(0, &mut |_| {});
    let read = BlockReadOptions {
        verify_checksums,
        ..BlockReadOptions::default()
    };
    exercise(&mut table.cursor(read));
    for user_key in [&b"c"[..], b"key00007", b"", &[0xff; 40]] {
        let key = LookupKey::new(user_key, base::MAX_SEQNO, &UserComparator::Bytewise);
        let _ = table.get(&key, &read, &mut |_: &[u8], value: sst::Value<'_>| {
            let _ = value.bytes().len();
            ControlFlow::Continue(())
        });
        let _ = table.approximate_offset_of(key.internal_key());
    }
    let _ = table.range_tombstones().len();
    let _ = (sst::dump::properties(table), sst::dump::index(table));
}

/// The bytes of a data block besides the value: the entry's header, its internal key and one restart point,
/// with two bytes for the length of the value.
const BLOCK_OVERHEAD: usize = 4 + 9 + 8;
/// The value's length takes two bytes in this range.
const VALUE_LENGTHS: std::ops::Range<usize> = 128..16_384;

/// The input is a data block in a table that is otherwise intact.
pub fn data_block(data: &[u8]) {
    let len = data.len().clamp(
        VALUE_LENGTHS.start + BLOCK_OVERHEAD,
        VALUE_LENGTHS.end + BLOCK_OVERHEAD - 1,
    );
    let mut bytes = table_with_block_of(len);
    // An input that is shorter than the block is put at its end, where the restart points are; a longer one
    // is cut.
    let input = &data[..data.len().min(len)];
    bytes[len - input.len()..len].copy_from_slice(input);
    let options = TableReadOptions::new(bytewise());
    let table = Table::open(file_of(&bytes), options).expect("only the data block is damaged");
    look_into(&table, false);
}

/// Creates a table whose only data block, at its start, has `len` bytes.
fn table_with_block_of(len: usize) -> Vec<u8> {
    let fs = MemFs::new();
    let path = Path::new("/table");
    let file = fs
        .create(path, &CreateOptions::default())
        .expect("a file in memory");
    let options = TableWriterOptions {
        compression: codec::compression::CompressionType::None,
        block_size: len.max(32),
        ..TableWriterOptions::new(bytewise())
    };
    let mut writer = TableWriter::new(file, options).expect("options that are right");
    let value = vec![b'v'; len - BLOCK_OVERHEAD];
    writer
        .add(&internal_key::encode(b"k", 1, Kind::Value), &value)
        .expect("one entry");
    writer.finish().expect("a file in memory");
    let file = fs.open_random(path, &OpenOptions::default()).expect("the table");
    let mut bytes = vec![0; file.len() as usize];
    file.read_exact_at(0, &mut bytes).expect("a file in memory");
    bytes
}

/// An index block, in each of the encodings.
pub fn index_block(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else {
        return;
    };
    let Ok(block) = Block::parse(bytes.to_vec()) else {
        return;
    };
    let coding = IndexCoding {
        user_keys: how & 1 != 0,
        delta: how & 2 != 0,
        first_keys: how & 4 != 0,
    };
    let mut entries = 0usize;
    let _ = decode_block(&block, coding, |entry| {
        entries += 1;
        let _ = (entry.separator.len(), entry.first_key.map(<[u8]>::len));
        Ok(())
    });
    assert!(entries <= bytes.len(), "more entries than bytes");
    let mut builder = IndexBuilder::new(coding.user_keys, 1 << 20);
    if builder.add_block(&block, coding).is_ok() {
        let index = builder.build(&UserComparator::Bytewise);
        assert_eq!(index.len(), entries);
        assert!((0..index.len()).all(|at| index.handle(at).end().is_some_and(|end| end <= 1 << 20)));
    }
}

/// A filter block of any kind.
pub fn filter(data: &[u8]) {
    let Ok(filter) = FilterReader::new(data) else {
        return;
    };
    for number in 0..32u64 {
        let hash = codec::hash::xxph3_64(&number.to_le_bytes());
        filter.prefetch(hash);
        let _ = filter.may_match(hash, || hash as u32);
    }
    assert!(
        filter.memory_usage() <= 2 * data.len() + 4_096,
        "{} bytes of {}",
        filter.memory_usage(),
        data.len()
    );
}

/// The entries of a properties block: a length-prefixed name and a length-prefixed value each.
pub fn properties(data: &[u8]) {
    let mut reader = base::coding::Reader::new(data);
    let mut entries = Vec::new();
    while let (Ok(name), Ok(value)) = (reader.length_prefixed("name"), reader.length_prefixed("value")) {
        entries.push((name, value));
    }
    if let Ok(properties) = TableProperties::from_entries(entries) {
        let written = properties.entries();
        let again = written
            .iter()
            .map(|(name, value)| (name.as_slice(), value.as_slice()));
        let again = TableProperties::from_entries(again).expect("what was written is read");
        assert_eq!(again.entries(), written);
    }
}

/// A footer.
pub fn footer(data: &[u8]) {
    let Some((&offset, tail)) = data.split_first() else {
        return;
    };
    static MOST: OnceLock<usize> = OnceLock::new();
    if tail.len() > *MOST.get_or_init(|| FOOTER_LEN) {
        return;
    }
    let _ = Footer::decode(tail, u64::from(offset) << 4);
}
