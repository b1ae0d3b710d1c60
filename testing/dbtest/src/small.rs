//! A small database with all kinds of contents, which tests damage byte by byte.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base::{InternalComparator, Kind, Result, UserComparator, filename, internal_key};
use blob::{BlobWriter, BlobWriterOptions};
use esker::{
    Cache, CacheOptions, ColumnFamilyOptions, CompressionOptions, CompressionType, Db,
    FileChecksumGenFactory, FilterPolicy, Options, WriteBatch, WriteOptions,
};
use sst::{TableWriter, TableWriterOptions};
use vfs::{FileSystem, MemFs};

/// The rows by family.
pub type Rows = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// The path of the database.
pub const DIR: &str = "/db";

/// The name of the second family.
pub const OTHER: &str = "other";

/// The image of a closed database with rows in its WAL.
pub struct SmallDatabase {
    /// The name and bytes of every file.
    pub files: Vec<(String, Vec<u8>)>,
    /// The rows after each number of writes of the WAL; the last element has all rows of the database.
    pub states: Vec<Rows>,
}

/// Reads every row. Panics if reads forwards, backwards and by Get differ.
pub fn rows(db: &Db) -> Result<Rows> {
    crate::crash::dump(db)
}

/// The options of the database, over `fs`.
pub fn options(fs: Arc<dyn FileSystem>, checksums: FileChecksumGenFactory) -> Options {
    let mut family = ColumnFamilyOptions {
        compression: CompressionType::Zstd,
        compression_opts: CompressionOptions {
            max_dict_bytes: 512,
            ..CompressionOptions::default()
        },
        disable_auto_compactions: true,
        merge_operator: base::merge::builtin("StringAppendOperator"),
        ..ColumnFamilyOptions::default()
    };
    // The block cache is small, because tests open the database often.
    family.table.block_cache = Some(Cache::lru(CacheOptions {
        capacity: 1 << 20,
        ..CacheOptions::default()
    }));
    family.table.block_size = 128;
    family.table.filter_policy = FilterPolicy::Bloom(10.0);
    let mut other = family.clone();
    other.compression = CompressionType::None;
    other.compression_opts = CompressionOptions::default();
    other.table.format_version = 6;
    other.table.filter_policy = FilterPolicy::None;
    Options {
        create_if_missing: true,
        create_missing_column_families: true,
        // The rows stay in the WAL.
        avoid_flush_during_recovery: true,
        file_checksum_gen_factory: checksums,
        column_family: family,
        column_families: BTreeMap::from([(OTHER.to_owned(), other)]),
        fs,
        ..Options::default()
    }
}

fn key(i: u32) -> Vec<u8> {
    format!("key{i:03}").into_bytes()
}

fn value(i: u32, round: u32) -> Vec<u8> {
    format!("value {i:03} of round {round}, and of {}", i * 7919 % 1000).into_bytes()
}

/// Writes a blob file and a table with values in it, in RocksDB's format. A repair makes a database of them.
fn write_blobs(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    fs.create_dir_all(dir)?;
    let (table_number, blob_number) = (10, 9);
    let blob = fs.create(&filename::blob(dir, blob_number), &Default::default())?;
    let mut blobs = BlobWriter::new(
        blob,
        BlobWriterOptions {
            file_number: blob_number,
            column_family_id: 0,
            compression: CompressionType::None,
            compression_options: CompressionOptions::default(),
        },
    )?;
    let cmp = InternalComparator::new(UserComparator::Bytewise);
    let table = fs.create(&filename::table(dir, table_number), &Default::default())?;
    let options = TableWriterOptions {
        cf_id: 0,
        cf_name: b"default".to_vec(),
        compression: CompressionType::None,
        file_number: table_number,
        ..TableWriterOptions::new(cmp)
    };
    let mut writer = TableWriter::new(table, options)?;
    let mut index = Vec::new();
    for i in 0..6 {
        let key = format!("blob{i}").into_bytes();
        index.clear();
        blobs.add(&key, &value(i, 0))?.encode(&mut index);
        let internal = internal_key::encode(&key, u64::from(i) + 1, Kind::BlobIndex);
        writer.add(&internal, &index)?;
    }
    blobs.finish()?;
    writer.finish()?;
    fs.sync_dir(dir)
}

impl SmallDatabase {
    /// Creates the database. With `checksums`, the MANIFEST has checksums of whole files.
    pub fn make(checksums: FileChecksumGenFactory) -> Result<SmallDatabase> {
        let fs = MemFs::new();
        let dir = Path::new(DIR);
        write_blobs(&fs, dir)?;
        let options = options(Arc::new(fs.clone()), checksums);
        Db::repair(&options, dir)?;
        let db = Db::open(&options, dir)?;
        fill(&db)?;
        let mut states = vec![rows(&db)?];
        let write = WriteOptions::default();
        let other = db.column_family(OTHER).expect("it was created");
        for step in 0..6 {
            let mut batch = WriteBatch::new();
            match step {
                0 => batch.put(&key(50), &value(50, 9)),
                1 => batch.delete(&key(3)),
                2 => batch.merge(&key(8), b"in the WAL"),
                3 => {
                    batch.put_cf(&other, &key(60), &value(60, 9));
                    batch.put(&key(61), &value(61, 9));
                }
                4 => batch.delete_range(&key(20), &key(23)),
                _ => batch.put(b"blob3", b"no longer a blob"),
            }
            db.write_opt(batch, &write)?;
            states.push(rows(&db)?);
        }
        db.close()?;
        drop((other, db));
        let mut files = Vec::new();
        for name in fs.list(dir)? {
            // The repair keeps replaced files in a directory; the info log is not part of the database.
            if name != "lost" && name != "LOCK" && name != "LOG" {
                files.push((name.clone(), fs.read_file(&dir.join(&name))?));
            }
        }
        Ok(SmallDatabase { files, states })
    }

    /// Writes the files of the database to `dir`.
    pub fn put(&self, fs: &dyn FileSystem, dir: &Path) -> Result<()> {
        fs.create_dir_all(dir)?;
        self.files
            .iter()
            .try_for_each(|(name, bytes)| fs.write_file(&dir.join(name), bytes))
    }

    /// The rows of the database.
    pub fn rows(&self) -> &Rows {
        self.states.last().expect("a state")
    }
}

/// Creates tables in L0 and below, with values, deletions, merge operands and range tombstones.
fn fill(db: &Db) -> Result<()> {
    let default = db.default_column_family();
    let other = db.column_family(OTHER).expect("it was created");
    let write = WriteOptions::default();
    for i in 0..24 {
        db.put(key(i), value(i, 1))?;
        if i % 3 == 0 {
            db.put_cf_opt(&other, key(i), value(i, 1), &write)?;
        }
    }
    for family in [&default, &other] {
        db.compact_range_cf(family, None, None)?;
    }
    db.delete(key(5))?;
    db.single_delete_cf_opt(&default, key(6), &write)?;
    db.delete_range_cf_opt(&default, key(10), key(14), &write)?;
    db.delete_range_cf_opt(&other, key(9), key(13), &write)?;
    db.merge_cf_opt(&default, key(8), b"merged", &write)?;
    db.put(key(7), value(7, 2))?;
    db.flush_cf(&[default.clone(), other.clone()])?;
    for i in 30..36 {
        db.put(key(i), value(i, 3))?;
    }
    db.merge_cf_opt(&default, key(8), b"twice", &write)?;
    db.flush()
}
