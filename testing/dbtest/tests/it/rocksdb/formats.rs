//! Indexes and filters of every kind: RocksDB finds every row in Esker's tables, and Esker writes the formats
//! that RocksDB's OPTIONS ask for.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use dbtest::by_hand::{flush, rewrite, rewrite_family};
use dbtest::files;
use esker::option_table::OptionTable;
use esker::{
    BlockBasedOptions, ColumnFamilyOptions, CompressionType, Db, IndexType, Options, OptionsFile,
    ReadOptions, WriteBatch,
};
use tempfile::TempDir;
use testkit::{TestRng, oracle};
use vfs::PosixFs;

use crate::fixtures::{hex, unhex};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A random key of letters, with prefixes that many keys share.
fn random_key(rng: &mut TestRng) -> Vec<u8> {
    format!(
        "p{:03}/{:04}{}",
        rng.u32(..40),
        rng.u32(..600),
        "y".repeat(rng.usize(..3))
    )
    .into_bytes()
}

/// Random options of tables and their contents; sizes are small, so that a few hundred rows make many blocks.
fn drawn(rng: &mut TestRng, format_versions: std::ops::RangeInclusive<u32>) -> Options {
    let mut family = ColumnFamilyOptions {
        compression: *rng.pick(&[CompressionType::None, CompressionType::Lz4, CompressionType::Zstd]),
        target_file_size_base: 8 << 10,
        max_bytes_for_level_base: 32 << 10,
        ..ColumnFamilyOptions::default()
    };
    dbtest::settings::draw(rng, &mut family.table);
    family.table.format_version = rng.u32(format_versions);
    // Only RocksDB 11 reads this format.
    family.table.separate_key_value_in_data_block = false;
    family.table.block_size = *rng.pick(&[100, 512]);
    let dictionary: &&str = rng.pick(DICTIONARIES);
    family.set("compression_opts", dictionary).unwrap();
    if !rng.one_in(4) {
        let policy: &&str = rng.pick(FILTERS);
        family.table.set("filter_policy", policy).unwrap();
    }
    if !rng.one_in(4) {
        family.prefix_extractor = base::prefix::builtin("fixed:4");
        family.table.whole_key_filtering = rng.bool();
        if rng.one_in(4) {
            family.table.index_type = IndexType::HashSearch;
        }
    }
    Options {
        create_if_missing: true,
        column_family: family,
        ..Options::default()
    }
}

const DICTIONARIES: &[&str] = &[
    "{}",
    "{max_dict_bytes=400;}",
    "{max_dict_bytes=1000;max_dict_buffer_bytes=2000;checksum=true;}",
    "{max_dict_bytes=1000;zstd_max_train_bytes=9000;level=1;}",
];
const FILTERS: &[&str] = &["bloomfilter:10:false", "ribbonfilter:10:-1", "ribbonfilter:3.5:1"];

/// Fills two levels and L0 of a database.
fn fill(rng: &mut TestRng, db: &Db) -> Rows {
    let mut rows = Rows::new();
    for round in 0..3 {
        for _ in 0..150 {
            let mut batch = WriteBatch::new();
            let (key, value) = (random_key(rng), rng.bytes(20));
            match rng.one_in(6) {
                true => {
                    batch.delete(&key);
                    rows.remove(&key);
                }
                false => {
                    batch.put(&key, &value);
                    rows.insert(key, value);
                }
            }
            db.write(batch).unwrap();
        }
        let family = db.default_column_family();
        flush(db);
        if round == 0 {
            db.compact_range_cf(&family, None, None).unwrap();
        }
    }
    rows
}

/// The position of an iterator after a seek to `target`, in total order or within the prefix.
fn seek(db: &Db, target: &[u8], backwards: bool, within_prefix: bool) -> Option<Vec<u8>> {
    let options = ReadOptions {
        prefix_same_as_start: within_prefix,
        ..ReadOptions::default()
    };
    let mut iter = db.iter_opt(&options);
    match backwards {
        true => iter.seek_for_prev(target),
        false => iter.seek(target),
    }
    iter.status().unwrap();
    iter.valid().then(|| iter.key().to_vec())
}

fn check_ours(rng: &mut TestRng, db: &Db, rows: &Rows, has_prefixes: bool, said: &str) {
    for (key, value) in rows {
        let got = db.get(key).unwrap();
        assert_eq!(got.as_deref(), Some(&value[..]), "{said}: {}", key.escape_ascii());
    }
    for _ in 0..200 {
        let target = random_key(rng);
        let got = db.get(&target).unwrap();
        assert_eq!(
            got.as_deref(),
            rows.get(&target).map(|value| &value[..]),
            "{said}"
        );
        let next = rows.range(target.clone()..).next().map(|row| row.0.clone());
        let before = rows.range(..=target.clone()).next_back().map(|row| row.0.clone());
        assert_eq!(seek(db, &target, false, false), next, "{said}");
        assert_eq!(seek(db, &target, true, false), before, "{said}");
        if has_prefixes {
            let within = |key: Option<Vec<u8>>| key.filter(|key| key[..4] == target[..4]);
            let found = within(seek(db, &target, false, true));
            assert_eq!(found, within(next), "{said}: {}", target.escape_ascii());
            let found = within(seek(db, &target, true, true));
            assert_eq!(
                found,
                within(before),
                "{said}: back from {}",
                target.escape_ascii()
            );
        }
    }
}

/// Reads lines of `DIR PREFIXES KEY...`: gets every key, and seeks it within its prefix. Prints the directory
/// and the results.
const READER: &str = r#"
import sys
from rocksdict import Rdict, Options, AccessType, BlockBasedOptions, SliceTransform, ReadOptions
for line in sys.stdin:
    path, prefixes, *keys = line.split()
    options = Options(raw_mode=True)
    table = BlockBasedOptions()
    table.set_bloom_filter(10, False)
    options.set_block_based_table_factory(table)
    if prefixes == "true":
        options.set_prefix_extractor(SliceTransform.create_fixed_prefix(4))
    db = Rdict(path, options, access_type=AccessType.read_only())
    read = ReadOptions()
    if prefixes == "true":
        read.set_prefix_same_as_start(True)
    print("=" + path)
    print("rows", sum(1 for _ in db.items()))
    for key in keys:
        key = bytes.fromhex(key)
        value = db.get(key)
        seek = db.iter(read)
        seek.seek(key[:-1])
        found = seek.key().hex().upper() if seek.valid() else "none"
        print(key.hex().upper(), "none" if value is None else value.hex().upper(), found)
    db.close()
"#;

#[test]
fn every_row_is_found_by_us_and_by_rocksdb() {
    let mut rng = testkit::rng();
    let mut written = Vec::new();
    for round in 0..24 {
        let dir = TempDir::new().unwrap();
        let options = drawn(&mut rng, 2..=6);
        let table = &options.column_family.table;
        let said = format!(
            "round {round}, prefixes {}: {}",
            options.column_family.prefix_extractor.is_some(),
            dbtest::settings::differing(table)
        );
        let has_prefixes = options.column_family.prefix_extractor.is_some();
        let db = Db::open(&options, dir.path()).unwrap();
        let rows = fill(&mut rng, &db);
        check_ours(&mut rng, &db, &rows, has_prefixes, &said);
        assert_eq!(files::check(&db).unwrap(), "", "{said}");
        drop(db);
        // The tables are read under other options, without the extractor or with another one.
        let mut others = drawn(&mut rng, 2..=7);
        others.column_family.prefix_extractor = rng.bool().then(|| base::prefix::builtin("fixed:2").unwrap());
        others.column_family.table.index_type = IndexType::BinarySearch;
        let db = Db::open(&others, dir.path()).unwrap();
        check_ours(&mut rng, &db, &rows, false, &format!("{said}, read otherwise"));
        drop(db);
        written.push((dir, rows, has_prefixes, said));
    }
    let Some(mut python) = oracle::rocksdict() else {
        return;
    };
    let mut child = python
        .args(["-c", READER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: Vec<String> = written
        .iter()
        .map(|(dir, rows, has_prefixes, _)| {
            let keys: Vec<String> = rows.keys().map(|key| hex(key)).collect();
            format!("{} {has_prefixes} {}", dir.path().display(), keys.join(" "))
        })
        .collect();
    let feeder = std::thread::spawn(move || lines.iter().try_for_each(|line| writeln!(input, "{line}")));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut databases = printed.split('=').skip(1);
    for (dir, rows, has_prefixes, said) in &written {
        let mut lines = databases.next().unwrap().lines();
        assert_eq!(Path::new(lines.next().unwrap()), dir.path());
        assert_eq!(lines.next().unwrap(), format!("rows {}", rows.len()), "{said}");
        for (line, (key, value)) in lines.zip(rows) {
            let mut fields = line.split(' ');
            assert_eq!(unhex(fields.next().unwrap()), *key, "{said}");
            assert_eq!(
                fields.next().unwrap(),
                hex(value),
                "{said}: {}",
                key.escape_ascii()
            );
            let target = &key[..key.len() - 1];
            let next = rows.range(target.to_vec()..).next().map(|row| row.0);
            if *has_prefixes {
                assert_eq!(
                    fields.next().unwrap(),
                    hex(next.unwrap()),
                    "{said}: from {}",
                    target.escape_ascii()
                );
            }
        }
    }
}

/// The properties of the tables of a closed database.
fn properties(dir: &Path) -> Vec<sst::TableProperties> {
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "sst"))
        .map(|path| {
            let file = vfs::FileSystem::open_random(&PosixFs::new(), &path, &Default::default()).unwrap();
            sst::Table::read_properties(file).unwrap()
        })
        .collect()
}

#[test]
fn tables_with_nothing_below_them_go_without_filters_for_who_asks_for_hits() {
    for optimize_filters_for_hits in [false, true] {
        let dir = TempDir::new().unwrap();
        let mut options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        let family = &mut options.column_family;
        family.optimize_filters_for_hits = optimize_filters_for_hits;
        family.disable_auto_compactions = true;
        family.table.set("filter_policy", "ribbonfilter:10:0").unwrap();
        let db = Db::open(&options, dir.path()).unwrap();
        let rows = |range: std::ops::Range<u32>| {
            for i in range {
                db.put(format!("key{i}").as_bytes(), b"value").unwrap();
            }
            flush(&db);
        };
        rows(0..1000);
        let family = db.default_column_family();
        rewrite_family(&db, &family);
        rows(300..400);
        drop(db);
        let mut tables = properties(dir.path());
        tables.sort_by_key(|properties| properties.num_entries);
        assert_eq!(tables.len(), 2);
        assert_eq!((tables[0].num_entries, tables[0].num_filter_entries), (100, 100));
        let bottommost = if optimize_filters_for_hits { 0 } else { 1000 };
        assert_eq!(
            (tables[1].num_entries, tables[1].num_filter_entries),
            (1000, bottommost)
        );
        // The limit is below the size of a Bloom filter, which would have 1250 bytes.
        assert!(tables[1].filter_size < 1000);
        let db = Db::open(&options, dir.path()).unwrap();
        assert_eq!(db.get(b"key7").unwrap().as_deref(), Some(&b"value"[..]));
        assert_eq!(db.get(b"key7x").unwrap(), None);
    }
}

/// Writes rows that have much in common across blocks, and little within a block.
fn alike(db: &Db) {
    for i in 0..2000u32 {
        let words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"];
        let value = format!("{}-{}-{i}", words[i as usize % 6], words[i as usize / 6 % 6]).repeat(3);
        db.put(format!("key{i:06}").as_bytes(), value.as_bytes()).unwrap();
    }
    flush(db);
}

#[test]
fn dictionaries_are_made_where_they_are_asked_for_and_are_used() {
    let write = |opts: &str, bottommost: &str| {
        let dir = TempDir::new().unwrap();
        let mut options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        let family = &mut options.column_family;
        family.compression = CompressionType::Zstd;
        family.table.block_size = 256;
        family.set("compression_opts", opts).unwrap();
        family.set("bottommost_compression_opts", bottommost).unwrap();
        let db = Db::open(&options, dir.path()).unwrap();
        alike(&db);
        let flushed = properties(dir.path())[0].data_size;
        rewrite(&db);
        // The database is reopened, so that the rows are read from disk and not from memory.
        drop(db);
        let db = Db::open(&options, dir.path()).unwrap();
        assert_eq!(db.get(b"key000007").unwrap().unwrap(), b"bravo-bravo-7".repeat(3));
        let mut iter = db.iter();
        iter.seek_to_first();
        let mut rows = 0;
        while iter.valid() {
            rows += 1;
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(rows, 2000);
        drop(iter);
        drop(db);
        let (_, file) = OptionsFile::newest(&PosixFs::new(), dir.path()).unwrap().unwrap();
        let read = file.options().0.column_family;
        assert_eq!(read.compression_opts, options.column_family.compression_opts);
        assert_eq!(
            read.bottommost_compression_opts,
            options.column_family.bottommost_compression_opts
        );
        if let Some(mut tool) = oracle::ldb() {
            let db = format!("--db={}", dir.path().display());
            // The OPTIONS file names an option that RocksDB 7.8 does not have, so its users must remove the
            // file.
            if opts.contains("checksum") {
                testkit::judges::forget_options(dir.path());
            }
            let output = tool.args([&db, "scan"]).output().unwrap();
            assert!(output.status.success());
            assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2000);
        }
        let compacted = properties(dir.path());
        assert_eq!(compacted.len(), 1);
        (flushed, compacted[0].data_size)
    };
    let dictionary = "{max_dict_bytes=4096;}";
    let plain = write("{}", "{}");
    let all = write(dictionary, "{}");
    assert!(
        all.0 < plain.0 * 9 / 10 && all.1 < plain.1 * 9 / 10,
        "{all:?} and {plain:?}"
    );
    let trained = write("{max_dict_bytes=4096;zstd_max_train_bytes=60000;}", "{}");
    assert!(trained.1 < plain.1 * 9 / 10, "{trained:?} and {plain:?}");
    let bottommost = write("{}", "{enabled=true;max_dict_bytes=4096;}");
    assert!(
        bottommost.0 == plain.0 && bottommost.1 < plain.1 * 9 / 10,
        "{bottommost:?}"
    );
    // The dictionary options have no effect while dictionaries are not enabled.
    assert_eq!(write("{}", dictionary), plain);
    let checked = write("{checksum=true;}", "{}");
    assert!(checked.1 > plain.1, "four bytes more a frame");
    for refused in [
        "{zstd_max_train_bytes=100;}",
        "{max_dict_bytes=9;zstd_max_train_bytes=100;use_zstd_dict_trainer=false;}",
    ] {
        let mut options = Options::default();
        options.column_family.set("compression_opts", refused).unwrap();
        assert!(
            Db::open(&options, TempDir::new().unwrap().path()).is_err(),
            "{refused}"
        );
    }
}

/// Creates a database with partitions and prefixes, and leaves a row in it.
const MAKER: &str = r#"
import sys
from rocksdict import Rdict, Options, BlockBasedOptions, BlockBasedIndexType, SliceTransform
options = Options(raw_mode=True)
options.create_if_missing(True)
table = BlockBasedOptions()
table.set_bloom_filter(10, False)
table.set_index_type(BlockBasedIndexType.two_level_index_search())
table.set_partition_filters(True)
table.set_metadata_block_size(200)
table.set_block_size(256)
table.set_format_version(5)
options.set_block_based_table_factory(table)
options.set_prefix_extractor(SliceTransform.create_fixed_prefix(4))
db = Rdict(sys.argv[1], options)
db[b"p001/a row"] = b"of RocksDB"
db.close()
"#;

#[test]
fn what_rocksdb_left_in_its_options_is_written() {
    let Some(mut python) = oracle::rocksdict() else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let status = python.args(["-c", MAKER]).arg(dir.path()).status().unwrap();
    assert!(status.success());
    let (_, file) = OptionsFile::newest(&PosixFs::new(), dir.path()).unwrap().unwrap();
    let (mut options, _) = file.options();
    let table = &mut options.column_family.table;
    assert_eq!(table.index_type, IndexType::TwoLevel);
    assert!(table.partition_filters);
    assert_eq!(table.metadata_block_size, 200);
    // A policy created through RocksDB's C interface is identified by its name alone.
    table.set("filter_policy", FILTERS[0]).unwrap();
    let mut rng = testkit::rng();
    let db = Db::open(&options, dir.path()).unwrap();
    let mut rows = fill(&mut rng, &db);
    rows.insert(b"p001/a row".to_vec(), b"of RocksDB".to_vec());
    check_ours(&mut rng, &db, &rows, true, "after RocksDB");
    db.compact_range(None, None).unwrap();
    drop(db);
    let tables = properties(dir.path());
    assert_eq!(tables.len(), 1);
    for properties in tables {
        assert_eq!(properties.index_type, IndexType::TwoLevel);
        assert!(
            properties.index_partitions > Some(1),
            "{:?}",
            properties.index_partitions
        );
        assert!(properties.num_filter_entries > properties.num_entries);
        assert_eq!(properties.prefix_extractor_name, b"rocksdb.FixedPrefix.4");
    }
    // The OPTIONS file still has the options that RocksDB wrote.
    let (_, file) = OptionsFile::newest(&PosixFs::new(), dir.path()).unwrap().unwrap();
    assert_eq!(
        file.options().0.column_family.table.index_type,
        IndexType::TwoLevel
    );
    assert!(BlockBasedOptions::default().index_type != IndexType::TwoLevel);
}
