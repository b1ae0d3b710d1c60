//! Scrapes of open databases, parsed again.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use esker::{ColumnFamilyOptions, Db, ManualClock, Options};
use esker_metrics::{CONTENT_TYPE, Endpoint, Exporter, http};
use tempfile::TempDir;

use crate::common::*;
use dbtest::delayed::delayed;

#[test]
fn a_scrape_has_what_the_database_says() {
    let held = TestDatabase::new();
    held.work();
    let snapshot = held.db.snapshot();
    let endpoint = held.endpoint();
    let (head, body) = get(endpoint.address(), "/metrics");
    assert!(head.contains(&format!("Content-Type: {CONTENT_TYPE}")), "{head}");
    let scrape = Scrape::parse(&body);
    let value = |name: &str, labels: &[(&str, &str)]| scrape.value(name, labels);
    assert_eq!(value("esker_up", &[("db", "orders")]), 1.0);
    let default = held.db.default_column_family();
    for family in held.db.column_families() {
        for level in held.db.levels(&family) {
            let number = level.level.to_string();
            let labels = [("family", family.name()), ("level", &*number)];
            assert_eq!(value("esker_level_files", &labels), level.files as f64);
            assert_eq!(value("esker_level_bytes", &labels), level.size as f64);
        }
        let keys = held
            .db
            .property_int(&family, "rocksdb.estimate-num-keys")
            .unwrap();
        assert_eq!(
            value("esker_estimated_keys", &[("family", family.name())]),
            keys as f64
        );
    }
    assert_eq!(
        value("esker_latest_sequence_number", &[]),
        held.db.latest_sequence_number() as f64
    );
    let written = held.db.statistics().get(esker::Ticker::BytesWritten);
    assert_eq!(value("esker_written_bytes_total", &[]), written as f64);
    assert!(written > 0);
    assert_eq!(value("esker_pins", &[("kind", "snapshot")]), 1.0);
    assert_eq!(
        value("esker_memory_bytes", &[("part", "memtables")]),
        held.db.memory().memtables as f64
    );
    assert_eq!(
        value("esker_wal_files", &[]),
        held.db.get_sorted_wal_files().unwrap().len() as f64
    );
    let statistics = held.db.options().statistics.clone().unwrap();
    let reads = statistics.get_ticker_count(esker::Ticker::KeysRead);
    assert_eq!(value("esker_stat_number_keys_read_total", &[]), reads as f64);
    let gets = statistics.histogram_data(esker::Histogram::DbGet);
    assert_eq!(value("esker_stat_db_get_micros_count", &[]), gets.count as f64);
    assert_eq!(value("esker_stat_db_get_micros_sum", &[]), gets.sum as f64);
    assert_eq!(
        value("esker_stat_db_get_micros_bucket", &[("le", "+Inf")]),
        gets.count as f64
    );
    assert!(gets.count > 0);
    // The default family has a row that is in no table; every row of the other family is in a table.
    let own = held.db.property_int(&default, "esker.oldest-wal-number").unwrap();
    assert!(own > 0);
    assert_eq!(
        value("esker_oldest_wal_number", &[("family", "default")]),
        own as f64
    );
    assert_eq!(value("esker_oldest_wal_number", &[("family", ODD)]), 0.0);
    assert_eq!(value("esker_oldest_wal_age_seconds", &[("family", ODD)]), 0.0);
    drop(snapshot);
}

#[test]
fn stalls_name_the_option_that_caused_them() {
    let dir = TempDir::new().unwrap();
    let (db, go) = delayed(dir.path());
    let held = TestDatabase::of(dir, db);
    let endpoint = held.endpoint();
    let scrape = Scrape::parse(&get(endpoint.address(), "/metrics").1);
    let labels = [
        ("cause", "l0-file-count-limit"),
        ("condition", "delayed"),
        ("option", "level0_slowdown_writes_trigger"),
    ];
    assert!(scrape.value("esker_stalls_total", &labels) >= 1.0);
    assert!(scrape.value("esker_stall_time_seconds_total", &labels) > 0.0);
    assert!(scrape.value("esker_family_stalls_total", &labels) >= 1.0);
    let limit = [("option", "level0_slowdown_writes_trigger")];
    assert_eq!(scrape.value("esker_option", &limit), 2.0);
    assert_eq!(scrape.value("esker_running_compactions", &[]), 1.0);
    drop(go);
}

#[test]
fn the_oldest_wal_has_the_age_since_it_was_begun_or_found() {
    let dir = TempDir::new().unwrap();
    let clock = Arc::new(ManualClock::default());
    let options = Options {
        create_if_missing: true,
        avoid_flush_during_shutdown: true,
        avoid_flush_during_recovery: true,
        clock: clock.clone(),
        ..Options::default()
    };
    let db = Db::open(&options, dir.path()).unwrap();
    let other = db
        .create_column_family("other", &ColumnFamilyOptions::default())
        .unwrap();
    let age = |db: &Db, family: &str| {
        let family = db.column_family(family).unwrap();
        db.property_int(&family, "esker.oldest-wal-age-micros").unwrap() / 1_000_000
    };
    assert_eq!(
        (age(&db, "default"), age(&db, "other")),
        (0, 0),
        "there are no rows"
    );
    db.put(b"k", b"v").unwrap();
    clock.advance(Duration::from_secs(10));
    assert_eq!((age(&db, "default"), age(&db, "other")), (10, 0));
    // A flush of the other family begins a WAL, and the old one stays for the default family.
    db.put_cf(&other, b"k", b"v").unwrap();
    db.flush_cf(std::slice::from_ref(&other)).unwrap();
    clock.advance(Duration::from_secs(5));
    db.put_cf(&other, b"k", b"v").unwrap();
    assert_eq!((age(&db, "default"), age(&db, "other")), (15, 5));
    db.flush().unwrap();
    assert_eq!(age(&db, "default"), 0);
    db.close().unwrap();
    // After a reopening the creation time of the recovered WAL is unknown.
    clock.advance(Duration::from_secs(100));
    let db = Db::open(&options, dir.path()).unwrap();
    clock.advance(Duration::from_secs(3));
    assert_eq!((age(&db, "default"), age(&db, "other")), (0, 3));
}

#[test]
fn several_databases_share_an_endpoint_and_a_closed_one_is_down() {
    let (first, second) = (TestDatabase::new(), TestDatabase::new());
    let mut exporter = Exporter::new();
    exporter.add("first", &first.db);
    exporter.add("second", &second.db);
    let endpoint = Endpoint::start(exporter, http::Config::default()).unwrap();
    second.db.close().unwrap();
    let scrape = Scrape::parse(&get(endpoint.address(), "/metrics").1);
    assert_eq!(scrape.value("esker_up", &[("db", "first")]), 1.0);
    assert_eq!(scrape.value("esker_up", &[("db", "second")]), 0.0);
    let of_second = scrape
        .samples
        .keys()
        .filter(|(name, labels)| labels["db"] == "second" && !name.starts_with("esker_stat_"));
    let names: Vec<_> = of_second.map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["esker_up"]);
}

#[test]
fn bad_requests_do_not_disturb_scrapes() {
    let _watchdog = testkit::Watchdog::new("bad requests", Duration::from_secs(120), String::new);
    let held = TestDatabase::new();
    let endpoint = held.endpoint();
    let mut rng = testkit::rng();
    let mut held_open = Vec::new();
    for round in 0..60 {
        let mut stream = TcpStream::connect(endpoint.address()).unwrap();
        let bytes = match round % 4 {
            // A request without an end.
            0 => b"GET /metrics HTTP/1.1\r\nHost: loc".to_vec(),
            1 => [b"GET /metrics HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 20_000]].concat(),
            2 => rng.bytes(300),
            _ => b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_vec(),
        };
        // The server may have closed it already.
        let _ = stream.write_all(&bytes);
        if round % 4 == 0 && held_open.len() < 10 {
            held_open.push(stream);
        }
    }
    testkit::wait_until("a scrape", || {
        let mut stream = TcpStream::connect(endpoint.address()).unwrap();
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", endpoint.address());
        let mut answer = String::new();
        stream.write_all(request.as_bytes()).is_ok()
            && std::io::Read::read_to_string(&mut stream, &mut answer).is_ok()
            && answer.ends_with("# EOF\n")
    });
    assert!(get(endpoint.address(), "/other").0.starts_with("HTTP/1.1 404"));
}

#[test]
fn another_address_than_loopback_must_be_asked_for() {
    let open = http::Config {
        address: "0.0.0.0:0".parse().unwrap(),
        ..http::Config::default()
    };
    let refused = Endpoint::start(Exporter::new(), open.clone()).unwrap_err();
    assert!(
        refused.to_string().contains("0.0.0.0 is not a loopback address"),
        "{refused}"
    );
    let asked = http::Config {
        access: http::Access::Anyone,
        ..open
    };
    let endpoint = Endpoint::start(Exporter::new(), asked).unwrap();
    let loopback = std::net::SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, endpoint.address().port()));
    assert_eq!(get(loopback, "/metrics").1, "# EOF\n");
}
