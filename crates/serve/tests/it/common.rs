//! Requests to a page, and databases to show.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use esker::{Db, Event, EventListener, FlushOptions, Options, StallCause, StallCondition};
use esker_serve::http::Config;
use esker_serve::{Directory, Page};
use serde_json::Value;
use tempfile::TempDir;

/// Sends `request` and returns the response.
pub fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Returns the status and the body of the response to a request for `path`.
pub fn get(page: &Page, path: &str) -> (u16, String) {
    let address = page.address();
    let answer = ask(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"),
    );
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// Returns the JSON at `path`.
pub fn json(page: &Page, path: &str) -> Value {
    let (status, body) = get(page, path);
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// Copies a database that RocksDB wrote.
pub fn copy(name: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    for entry in std::fs::read_dir(fixtures().join(name)).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    dir
}

/// The directory of the databases that RocksDB wrote.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rocksdb-11.9")
}

pub fn page_of(dir: &Path) -> Page {
    let directory = Directory {
        dir: dir.to_path_buf(),
        ..Directory::default()
    };
    Page::of_directory(&directory, Config::default()).unwrap()
}

/// Returns the tables in a response of `/api/levels`: family, level, number.
pub fn tables(levels: &Value) -> Vec<(String, u64, u64)> {
    let mut tables = Vec::new();
    for family in levels["families"].as_array().unwrap() {
        for level in family["levels"].as_array().unwrap() {
            for table in level["tables"].as_array().unwrap() {
                tables.push((
                    family["name"].as_str().unwrap().to_owned(),
                    level["level"].as_u64().unwrap(),
                    table["number"].as_u64().unwrap(),
                ));
            }
        }
    }
    tables
}

/// A gate that holds every compaction until the sender is dropped.
struct Gate(Mutex<Receiver<()>>);

impl EventListener for Gate {
    fn on_event(&self, event: &Event) {
        if let Event::CompactionBegun { .. } = event {
            // It ends with the sender.
            let _ = self.0.lock().unwrap().recv();
        }
    }
}

/// Returns a database whose writers have been delayed by the files of L0. Its compactions wait while the
/// sender exists.
pub fn delayed(dir: &Path) -> (Db, Sender<()>) {
    let (go, gate) = channel();
    let mut options = Options {
        create_if_missing: true,
        delayed_write_rate: 1 << 20,
        listeners: vec![Arc::new(Gate(Mutex::new(gate)))],
        ..Options::default()
    };
    options.column_family.level0_file_num_compaction_trigger = 2;
    options.column_family.level0_slowdown_writes_trigger = 2;
    options.column_family.level0_stop_writes_trigger = 100;
    let db = Db::open(&options, dir).unwrap();
    for _ in 0..2 {
        db.put(b"a", b"1").unwrap();
        db.put(b"z", b"1").unwrap();
        db.flush(&FlushOptions::default()).unwrap();
    }
    let condition = StallCondition::Delayed {
        cause: StallCause::L0FileCountLimit,
    };
    testkit::wait_until("a delayed write", || {
        db.put(b"k", &[1; 100_000]).unwrap();
        db.statistics().stall(condition).count > 0
    });
    (db, go)
}
