//! Requests to a page, and databases to show.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

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
