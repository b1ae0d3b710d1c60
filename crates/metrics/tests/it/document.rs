//! The files generated from the tables of metrics, panels and alerts, and every name that they use.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::common::*;

/// Compares a generated file; `REWRITE=1` writes it.
fn is_generated(path: &Path, text: &str) {
    if std::env::var_os("REWRITE").is_some() {
        std::fs::write(path, text).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == text,
        "{} is not up to date: REWRITE=1 cargo test -p esker-metrics --all-features files",
        path.display()
    );
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

#[test]
fn files_are_generated() {
    is_generated(&root().join("grafana/esker.json"), &esker_metrics::dashboard());
    is_generated(
        &root().join("prometheus/alerts.yml"),
        &esker_metrics::alert_rules(),
    );
    let page = root().join("../../docs/metrics.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let mark = "<!-- below: written by REWRITE=1 cargo test -p esker-metrics files_are_generated -->\n\n";
    let (written, _) = text.split_once(mark).expect("docs/metrics.md has its mark");
    is_generated(&page, &format!("{written}{mark}{}", esker_metrics::document()));
}

/// Returns the names in `text` that could be metrics.
fn names_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|word| word.starts_with("esker_") && *word != "esker_metrics")
        .collect()
}

#[test]
fn documented_metrics_exist_and_existing_ones_are_documented() {
    let held = TestDatabase::new();
    held.work();
    let scrape = Scrape::parse(&get(held.endpoint().address(), "/metrics").1);
    let page = esker_metrics::document();
    let documented: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let found: BTreeSet<&str> = scrape
        .names()
        .map(|name| {
            let whole = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix));
            whole
                .filter(|name| scrape.types.get(*name).is_some_and(|kind| kind == "histogram"))
                .unwrap_or(name)
        })
        .collect();
    assert_eq!(found, documented);
    // The prose of the page, the panels and the alerts use no other name of a metric.
    let samples: BTreeSet<&str> = scrape.names().collect();
    let prose = std::fs::read_to_string(root().join("../../docs/metrics.md")).unwrap();
    let queries: String = esker_metrics::panel_queries("1m")
        .iter()
        .map(|(_, query)| format!("{query} "))
        .collect();
    for text in [
        prose,
        queries,
        esker_metrics::alert_rules(),
        esker_metrics::alert_tests(""),
    ] {
        for name in names_in(&text) {
            let known = samples.contains(name) || documented.contains(name);
            assert!(known || name == "esker_stat_", "{name}");
        }
    }
}
