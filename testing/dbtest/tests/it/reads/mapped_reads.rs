//! Bytes that a Get reads from disk through a map: only the needed pages, by the kernel's own count.

use std::path::Path;
use std::process::Command;

use dbtest::by_hand::flush;
use esker::{CompressionType, Db, Options};
use testkit::rng;

const KEYS: u64 = 16_000;
const GETS: u64 = 64;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

fn value(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(125)
}

/// The bytes that this thread has read from storage, including page faults.
fn fetched() -> Option<u64> {
    let io = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    let line = io.lines().find_map(|line| line.strip_prefix("read_bytes:"))?;
    line.trim().parse().ok()
}

/// Drops the tables in `dir` from the page cache.
fn forget(dir: &Path) -> bool {
    let tables = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut tables = tables.filter(|path| path.extension().is_some_and(|extension| extension == "sst"));
    tables.all(|path| {
        let of = format!("of={}", path.display());
        let dd = Command::new("dd")
            .args([
                "if=/dev/null",
                &of,
                "oflag=nocache",
                "conv=notrunc,fdatasync",
                "count=0",
                "status=none",
            ])
            .status();
        dd.is_ok_and(|status| status.success())
    })
}

/// The average bytes read for a random Get; `None` if nothing is read or the system does not count reads.
fn bytes_per_get(dir: &Path, options: &Options) -> Option<u64> {
    let db = Db::open(options, dir).unwrap();
    // Opens the table and reads its index.
    db.get(key(0)).unwrap();
    db.close().unwrap();
    drop(db);
    if !forget(dir) {
        return None;
    }
    let db = Db::open(options, dir).unwrap();
    db.get(key(0)).unwrap();
    let mut rng = rng::rng();
    let before = fetched()?;
    for _ in 0..GETS {
        let number = rng.u64(..KEYS);
        assert_eq!(db.get(key(number)).unwrap(), Some(value(number)));
    }
    let bytes = fetched()? - before;
    db.close().unwrap();
    (bytes > 0).then_some(bytes / GETS)
}

/// RocksDB's maps let the kernel read ahead, a hundred times as much as a Get needs.
#[test]
fn a_get_through_a_map_fetches_what_it_needs() {
    // The directory is not in /tmp, which often is not on a disk.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut options = Options {
        create_if_missing: true,
        allow_mmap_reads: true,
        ..Options::default()
    };
    options.column_family.compression = CompressionType::None;
    options.column_family.table.block_size = 4000;
    let db = Db::open(&options, dir.path()).unwrap();
    for number in 0..KEYS {
        db.put(key(number), value(number)).unwrap();
    }
    flush(&db);
    db.close().unwrap();
    drop(db);
    options.advise_random_on_open = false;
    let Some(unadvised) = bytes_per_get(dir.path(), &options) else {
        testkit::skip("storage below, and a kernel that counts what is fetched from it");
        return;
    };
    options.advise_random_on_open = true;
    let advised = bytes_per_get(dir.path(), &options).expect("fetched from the disk, as it was before");
    // A Get reads 2 to 8 KiB on average, because a block of 4 KiB spans two pages.
    println!("{advised} bytes a Get, {unadvised} if the kernel guesses");
    assert!((2048..=8192).contains(&advised), "{advised} bytes a Get");
    assert!(unadvised > 2 * advised, "{unadvised} and {advised} bytes a Get");
}
