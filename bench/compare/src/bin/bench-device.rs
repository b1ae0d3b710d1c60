//! No engine: rows one after the other in a file, and for each Get one read of a page. No engine can do
//! better if reads go to the disk.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};

use vfs::{FileSystem, OpenOptions, PosixFs, RandomAccessFile};

use bench_worker::data::KEY_SIZE;
use bench_worker::engine::{Engine, Kind, Row, Scan, Settings, Walked};
use bench_worker::worker;

/// The size of a read in bytes.
const PAGE: u64 = 4096;

/// A file of rows without an index. A Get only reads a page and counts its key as found; scans are empty.
pub struct Device {
    path: PathBuf,
    direct: bool,
    writer: Mutex<Option<BufWriter<File>>>,
    /// The file as it is opened for reads by the first Get, after all writes.
    reader: OnceLock<Arc<dyn RandomAccessFile>>,
}

impl Engine for Device {
    fn open(dir: &Path, settings: &Settings) -> Device {
        Device {
            path: dir.join("rows"),
            direct: settings.direct,
            writer: Mutex::new(None),
            reader: OnceLock::new(),
        }
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        let mut writer = self.writer.lock().expect("a writer");
        let writer =
            writer.get_or_insert_with(|| BufWriter::new(File::create(&self.path).expect("create the file")));
        writer
            .write_all(key)
            .and_then(|()| writer.write_all(value))
            .expect("put");
    }

    fn put_all(&self, rows: &[Row<'_>]) {
        for (key, value) in rows {
            self.put(key, value);
        }
    }

    fn get(&self, key: &[u8]) -> Option<usize> {
        let reader = self.reader.get_or_init(|| {
            let options = OpenOptions {
                direct: self.direct,
                ..OpenOptions::default()
            };
            PosixFs::new()
                .open_random(&self.path, &options)
                .expect("open the file")
        });
        let number = u64::from_be_bytes(key[..8].try_into().expect("a key of ours"));
        let page = number % (reader.len() / PAGE);
        let mut bytes = [0; PAGE as usize];
        reader.read_exact_at(page * PAGE, &mut bytes).expect("read");
        Some(black_box(bytes).len())
    }

    fn multi_get(&self, keys: &[[u8; KEY_SIZE]]) -> u64 {
        keys.iter().filter(|key| self.get(&key[..]).is_some()).count() as u64
    }

    fn delete_range(&self, _: &[u8], _: &[u8]) {}

    fn scan(&self, _: Scan<'_>, _: u64) -> Walked {
        Walked::default()
    }

    fn flush(&self) {
        if let Some(writer) = self.writer.lock().expect("a writer").as_mut() {
            writer.flush().expect("flush");
            writer.get_ref().sync_all().expect("sync");
        }
    }

    fn compact(&self) {}

    fn settle(&self) {}

    fn write_amplification(&self) -> Option<f64> {
        None
    }

    fn live_file_bytes(&self) -> Option<u64> {
        None
    }
}

fn main() -> ExitCode {
    worker::main(|kind| match kind {
        Kind::Device => Some(worker::run::<Device>),
        _ => None,
    })
}
