//! `esker serve`: the printed address answers, and the directory stays as it was.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::common::*;

/// A running `esker serve`, which is ended when this value is dropped.
struct Serving {
    process: Child,
    url: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        // The server may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn serving(dir: &Path, args: &[&str]) -> Serving {
    let mut command = command();
    command.arg("serve").arg(dir).args(args).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut url = String::new();
    BufReader::new(process.stdout.take().unwrap())
        .read_line(&mut url)
        .unwrap();
    Serving {
        process,
        url: url.trim().to_owned(),
    }
}

fn get(url: &str, path: &str, headers: &str) -> String {
    let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_printed_address_answers_and_nothing_changes() {
    let held = copy("cfs_fv7_lz4");
    let before = listing(held.path());
    let serving = serving(held.path(), &["--addr", "127.0.0.1:0"]);
    let page = get(&serving.url, "/", "");
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("<title>Esker</title>"),
        "{page}"
    );
    for path in ["/api/state", "/api/levels", "/api/edits", "/api/options"] {
        let answer = get(&serving.url, path, "");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{path}: {answer}");
    }
    drop(serving);
    assert_eq!(listing(held.path()), before);
}

#[test]
fn an_open_address_has_a_token() {
    let held = copy("cfs_fv7_lz4");
    let open = serving(held.path(), &["--addr", "0.0.0.0:0"]);
    let (address, token) = open.url.split_once("/#token=").unwrap();
    assert!(get(address, "/", "").starts_with("HTTP/1.1 200"));
    assert!(get(address, "/api/state", "").starts_with("HTTP/1.1 401"));
    let with = format!("Authorization: Bearer {token}\r\n");
    assert!(get(address, "/api/state", &with).starts_with("HTTP/1.1 200"));
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("token");
    std::fs::write(&file, "0123456789abcdef\n").unwrap();
    let named = serving(
        held.path(),
        &["--addr", "127.0.0.1:0", "--token_file", file.to_str().unwrap()],
    );
    assert!(named.url.ends_with("/#token=0123456789abcdef"), "{}", named.url);
}

#[test]
fn a_directory_without_a_database_is_an_error() {
    let dir = TempDir::new().unwrap();
    let mut command: Command = command();
    command.arg("serve").arg(dir.path());
    let said = run(command).bad();
    assert!(said.contains("not a database: CURRENT is missing"), "{said}");
}
