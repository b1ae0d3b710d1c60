//! Tests with Debian's Prometheus: promtool reads the rules and fires each alert, and a running Prometheus
//! scrapes an open database and answers every query of the dashboard.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::*;

/// Returns true if the machine has the program `tool`; otherwise the test reports that it is skipped.
fn has(tool: &str) -> bool {
    let mut version = Command::new(tool);
    version
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let found = version.status().is_ok_and(|status| status.success());
    if !found {
        testkit::skip(tool);
    }
    found
}

fn promtool(args: &[&str], file: &Path) -> String {
    let output = Command::new("promtool").args(args).arg(file).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{args:?}: {said}");
    said
}

#[test]
fn promtool_takes_the_rules_and_every_alert_fires() {
    if !has("promtool") {
        return;
    }
    let dir = TempDir::new().unwrap();
    let rules = dir.path().join("alerts.yml");
    std::fs::write(&rules, esker_metrics::alert_rules()).unwrap();
    let said = promtool(&["check", "rules"], &rules);
    let alerts = esker_metrics::alert_rules().matches("alert: ").count();
    assert!(said.contains(&format!("{alerts} rules found")), "{said}");
    let tests = dir.path().join("tests.yml");
    std::fs::write(&tests, esker_metrics::alert_tests("alerts.yml")).unwrap();
    let said = promtool(&["test", "rules"], &tests);
    assert!(said.contains("SUCCESS"), "{said}");
}

#[test]
fn promtool_takes_every_query_of_the_dashboard() {
    if !has("promtool") {
        return;
    }
    // A recording rule for each query: promtool parses their expressions.
    let dir = TempDir::new().unwrap();
    let mut rules = "groups:\n  - name: panels\n    rules:\n".to_owned();
    let queries = esker_metrics::panel_queries("1m");
    for (nth, (_, query)) in queries.iter().enumerate() {
        rules.push_str(&format!("      - record: panel:{nth}\n        expr: '{query}'\n"));
    }
    let file = dir.path().join("panels.yml");
    std::fs::write(&file, rules).unwrap();
    let said = promtool(&["check", "rules"], &file);
    assert!(said.contains(&format!("{} rules found", queries.len())), "{said}");
}

/// A running Prometheus, which ends when the value is dropped.
struct Prometheus {
    process: Child,
    address: SocketAddr,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // Prometheus may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Prometheus {
    /// Scrapes `target` each second, with the alert rules.
    fn start(dir: &Path, target: SocketAddr) -> Prometheus {
        // The test chooses a port that is free now, because Prometheus cannot choose a port and report it.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        std::fs::write(dir.join("alerts.yml"), esker_metrics::alert_rules()).unwrap();
        let config = format!(
            "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\nrule_files: [alerts.yml]\nscrape_configs:\n  - job_name: esker\n    static_configs:\n      - targets: ['{target}']\n"
        );
        std::fs::write(dir.join("prometheus.yml"), config).unwrap();
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", dir.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", dir.join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=error")
            .spawn()
            .unwrap();
        Prometheus { process, address }
    }

    /// Returns the `data` of a response of Prometheus's API; `None` while it does not respond.
    fn api(&self, path: &str) -> Option<Value> {
        std::net::TcpStream::connect(self.address).ok()?;
        let (head, body) = get_closing(self.address, path);
        let body = match head.to_lowercase().contains("transfer-encoding: chunked") {
            true => dechunked(&body),
            false => body,
        };
        let answer: Value = serde_json::from_str(&body).ok()?;
        assert_eq!(answer["status"], "success", "{path}: {answer}");
        Some(answer["data"].clone())
    }

    fn query(&self, query: &str) -> Option<Vec<Value>> {
        let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let data = self.api(&format!("/api/v1/query?query={escaped}"))?;
        data["result"].as_array().cloned()
    }
}

fn dechunked(body: &str) -> String {
    let mut rest = body;
    let mut whole = String::new();
    while let Some((len, after)) = rest.split_once("\r\n") {
        let len = usize::from_str_radix(len, 16).unwrap();
        if len == 0 {
            break;
        }
        whole.push_str(&after[..len]);
        rest = &after[len + 2..];
    }
    whole
}

#[test]
#[ignore = "runs Prometheus for half a minute: cargo xtask nightly"]
fn a_running_prometheus_answers_every_panel_and_evaluates_every_alert() {
    if !has("prometheus") {
        return;
    }
    let held = TestDatabase::new();
    let endpoint = held.endpoint();
    let dir = TempDir::new().unwrap();
    let prometheus = Prometheus::start(dir.path(), endpoint.address());
    testkit::wait_until("scrapes", || {
        held.work();
        let scrapes = prometheus
            .query("count_over_time(esker_up[5m])")
            .unwrap_or_default();
        let scrapes = scrapes
            .first()
            .and_then(|series| series["value"][1].as_str()?.parse::<u64>().ok());
        scrapes.is_some_and(|scrapes| scrapes >= 5)
    });
    for (title, query) in esker_metrics::panel_queries("10s") {
        let found = prometheus.query(&query).unwrap();
        assert!(!found.is_empty(), "{title}: {query}");
        for series in found {
            let value: f64 = series["value"][1].as_str().unwrap().parse().unwrap();
            assert!(value >= 0.0 && value.is_finite(), "{title}: {series}");
        }
    }
    let rules = prometheus.api("/api/v1/rules").unwrap();
    let rules = rules["groups"][0]["rules"].as_array().unwrap();
    assert_eq!(
        rules.len(),
        esker_metrics::alert_rules().matches("alert: ").count()
    );
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule}");
        assert_eq!(rule["state"], "inactive", "{rule}");
    }
    held.db.close().unwrap();
    testkit::wait_until("the alert of a closed database", || {
        let rules = prometheus.api("/api/v1/rules").unwrap();
        let rules = rules["groups"][0]["rules"].as_array().unwrap().clone();
        rules
            .iter()
            .any(|rule| rule["name"] == "EskerClosed" && rule["state"] == "pending")
    });
}
