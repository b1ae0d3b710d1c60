//! A database with rows in tables and memtables, its endpoint, and a scrape of it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use esker::{ColumnFamilyOptions, Db, FilterPolicy, Options, Statistics};
use esker_metrics::{Endpoint, Exporter, http};
use tempfile::TempDir;

/// A name of a family that needs every escape.
pub const ODD: &str = "odd \"name\"\\with\nlines";

pub struct TestDatabase {
    _dir: TempDir,
    pub db: Db,
}

impl TestDatabase {
    pub fn new() -> TestDatabase {
        let dir = TempDir::new().unwrap();
        let mut options = Options {
            create_if_missing: true,
            statistics: Some(Statistics::new()),
            ..Options::default()
        };
        // With this option indexes and filters are looked up in the block cache too.
        let table = &mut options.column_family.table;
        table.cache_index_and_filter_blocks = true;
        table.filter_policy = FilterPolicy::Bloom(10.0);
        let db = Db::open(&options, dir.path()).unwrap();
        db.create_column_family(ODD, &ColumnFamilyOptions::default())
            .unwrap();
        TestDatabase { _dir: dir, db }
    }

    /// Returns an open database in `dir`.
    pub fn of(dir: TempDir, db: Db) -> TestDatabase {
        TestDatabase { _dir: dir, db }
    }

    /// Writes, flushes, compacts and reads rows.
    pub fn work(&self) {
        let family = self.db.column_family(ODD).unwrap();
        for round in 0..3u8 {
            for key in 0..200u32 {
                self.db.put(key.to_be_bytes(), [round; 100]).unwrap();
                self.db.put_cf(&family, key.to_be_bytes(), b"v").unwrap();
            }
            self.db.delete(7u32.to_be_bytes()).unwrap();
            let families = [self.db.default_column_family(), family.clone()];
            self.db.flush_cf(&families).unwrap();
        }
        self.db.wait_for_compact().unwrap();
        // Obsolete WALs are deleted in the background.
        self.db.wait_for_purge().unwrap();
        for key in 0..50u32 {
            self.db.get(key.to_be_bytes()).unwrap();
        }
        let mut iter = self.db.iter();
        iter.seek_to_first();
        self.db.put(b"in the memtable", b"v").unwrap();
    }

    pub fn endpoint(&self) -> Endpoint {
        let mut exporter = Exporter::new();
        exporter.add("orders", &self.db);
        Endpoint::start(exporter, http::Config::default()).unwrap()
    }
}

/// Returns the head and the body of the response to a request.
pub fn get(address: SocketAddr, path: &str) -> (String, String) {
    ask(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"),
    )
}

/// Returns the head and the body of the response of a server that keeps connections open unless the request
/// closes them.
pub fn get_closing(address: SocketAddr, path: &str) -> (String, String) {
    ask(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"),
    )
}

fn ask(address: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// A scrape, parsed.
#[derive(Debug, Default)]
pub struct Scrape {
    /// The type of each metric family.
    pub types: BTreeMap<String, String>,
    /// The values by name and labels.
    pub samples: BTreeMap<(String, BTreeMap<String, String>), f64>,
}

impl Scrape {
    /// Parses OpenMetrics text by its specification; panics if the text violates it.
    pub fn parse(text: &str) -> Scrape {
        let text = text.strip_suffix("# EOF\n").expect("the text ends with # EOF");
        let mut scrape = Scrape::default();
        let mut current = String::new();
        for line in text.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                let mut words = comment.splitn(3, ' ');
                let (keyword, name) = (words.next().unwrap(), words.next().unwrap());
                let rest = words.next().unwrap_or_default();
                match keyword {
                    "HELP" => assert!(!rest.is_empty(), "{line}"),
                    "UNIT" => assert!(name.ends_with(&format!("_{rest}")), "{line}"),
                    "TYPE" => {
                        current = name.to_owned();
                        assert!(
                            scrape.types.insert(name.to_owned(), rest.to_owned()).is_none(),
                            "{line}"
                        );
                    }
                    _ => panic!("{line}"),
                }
                continue;
            }
            let (name, labels, value) = sample(line);
            let suffixes: &[&str] = match scrape.types[&current].as_str() {
                "counter" => &["_total"],
                "gauge" => &[""],
                "histogram" => &["_bucket", "_sum", "_count"],
                other => panic!("{other}"),
            };
            let suffix = name.strip_prefix(&current).expect(line);
            assert!(suffixes.contains(&suffix), "{line}");
            let known = scrape.samples.insert((name, labels), value);
            assert!(known.is_none(), "{line}");
        }
        scrape
    }

    /// Returns the value of the only sample of `name` that has these labels besides `db`.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let mut found = self.samples.iter().filter(|((known, of), _)| {
            known == name
                && labels
                    .iter()
                    .all(|(label, value)| of.get(*label).map(String::as_str) == Some(value))
        });
        let (_, value) = found.next().unwrap_or_else(|| panic!("no {name} {labels:?}"));
        assert!(found.next().is_none(), "several {name} {labels:?}");
        *value
    }

    /// Returns the names of all samples.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.samples.keys().map(|(name, _)| name.as_str())
    }
}

fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (name, rest) = line.split_once('{').expect(line);
    let mut labels = BTreeMap::new();
    let mut chars = rest.chars().peekable();
    loop {
        let mut label = String::new();
        while chars.peek() != Some(&'=') {
            label.push(chars.next().expect(line));
        }
        assert_eq!((chars.next(), chars.next()), (Some('='), Some('"')), "{line}");
        let mut value = String::new();
        loop {
            match chars.next().expect(line) {
                '"' => break,
                '\\' => value.push(match chars.next().expect(line) {
                    'n' => '\n',
                    escaped => escaped,
                }),
                plain => value.push(plain),
            }
        }
        assert!(labels.insert(label, value).is_none(), "{line}");
        match chars.next() {
            Some(',') => {}
            Some('}') => break,
            _ => panic!("{line}"),
        }
    }
    let value: String = chars.collect();
    (name.to_owned(), labels, value.trim().parse().expect(line))
}
