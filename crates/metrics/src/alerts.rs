//! The alert rules for Prometheus, from one table, and promtool's tests of them.

use std::fmt::Write;

/// An alert.
struct Alert {
    name: &'static str,
    expression: &'static str,
    /// The time for which the expression must hold.
    wait: &'static str,
    severity: &'static str,
    summary: &'static str,
    description: &'static str,
    /// Series for its test, in promtool's notation, in steps of a minute: the alert fires after
    /// [`TEST_MINUTES`].
    series: &'static [(&'static str, &'static str)],
    /// The labels of the alert in that test, besides its severity.
    labels: &'static [(&'static str, &'static str)],
}

/// The minute at which each alert fires in its test. No alert fires at minute 0.
const TEST_MINUTES: u32 = 90;

const DB: &[(&str, &str)] = &[("db", "d")];
const DB_FAMILY: &[(&str, &str)] = &[("db", "d"), ("family", "f")];

const ALERTS: &[Alert] = &[
    Alert {
        name: "EskerWritesStopped",
        expression: "max_over_time(esker_write_stopped[1m]) == 1",
        wait: "1m",
        severity: "critical",
        summary: "Writes to {{ $labels.db }} are stopped",
        description: "Writers wait until flushes or compactions have caught up. The panel of stalls names the option whose limit was reached.",
        series: &[("esker_write_stopped{db=\"d\"}", "1x120")],
        labels: DB,
    },
    Alert {
        name: "EskerStalls",
        expression: "sum by (db, condition, cause, option) (rate(esker_stall_time_seconds_total[5m])) > 0.1",
        wait: "10m",
        severity: "warning",
        summary: "Writers of {{ $labels.db }} wait: {{ $labels.condition }} by {{ $labels.option }}",
        description: "More than a tenth of the time a writer waits, because of {{ $labels.cause }}. Raise max_background_jobs if the disk has room, or {{ $labels.option }} if the peak is short.",
        series: &[(
            "esker_stall_time_seconds_total{db=\"d\", condition=\"delayed\", cause=\"l0-file-count-limit\", option=\"level0_slowdown_writes_trigger\"}",
            "0+30x120",
        )],
        labels: &[
            ("cause", "l0-file-count-limit"),
            ("condition", "delayed"),
            ("db", "d"),
            ("option", "level0_slowdown_writes_trigger"),
        ],
    },
    Alert {
        name: "EskerBackgroundError",
        expression: "esker_background_error == 1",
        wait: "0m",
        severity: "critical",
        summary: "{{ $labels.db }} takes no writes after a failure",
        description: "A background job has failed, see LOG. Remove the reason, then call Db::resume or reopen the database.",
        series: &[("esker_background_error{db=\"d\"}", "0x30 1x90")],
        labels: DB,
    },
    Alert {
        name: "EskerChecksumMismatch",
        expression: "increase(esker_stat_block_checksum_mismatch_count_total[1h]) > 0",
        wait: "0m",
        severity: "critical",
        summary: "{{ $labels.db }} has read a corrupt block",
        description: "A block has another checksum than it was written with. Run esker verify, and restore the file from a backup.",
        series: &[(
            "esker_stat_block_checksum_mismatch_count_total{db=\"d\"}",
            "0x60 1x60",
        )],
        labels: DB,
    },
    Alert {
        name: "EskerOldWal",
        expression: "esker_oldest_wal_age_seconds > 3600 and on (db) esker_wal_file_bytes > 1e9",
        wait: "15m",
        severity: "warning",
        summary: "The family {{ $labels.family }} of {{ $labels.db }} keeps WALs for over an hour",
        description: "Its rows are in no table, so WALs of over 1 GB stay, and an open replays them. Set max_total_wal_size, or flush the family.",
        series: &[
            (
                "esker_oldest_wal_age_seconds{db=\"d\", family=\"f\"}",
                "0+120x120",
            ),
            ("esker_wal_file_bytes{db=\"d\"}", "2000000000x120"),
        ],
        labels: DB_FAMILY,
    },
    Alert {
        name: "EskerOldPin",
        expression: "esker_oldest_pin_age_seconds > 3600",
        wait: "0m",
        severity: "warning",
        summary: "A pin of kind {{ $labels.kind }} of {{ $labels.db }} is over an hour old",
        description: "An iterator, snapshot or backup holds back memory, files or old versions of rows. The property esker.pins names it.",
        series: &[(
            "esker_oldest_pin_age_seconds{db=\"d\", kind=\"snapshot\"}",
            "0+60x120",
        )],
        labels: &[("db", "d"), ("kind", "snapshot")],
    },
    Alert {
        name: "EskerCompactionDebt",
        expression: "esker_pending_compaction_bytes > on (db, family) 0.8 * (max by (db, family) (esker_option{option=\"soft_pending_compaction_bytes_limit\"}) > 0)",
        wait: "15m",
        severity: "warning",
        summary: "Compactions of {{ $labels.family }} in {{ $labels.db }} are behind",
        description: "The debt is close to soft_pending_compaction_bytes_limit, from which on writes are delayed. Raise max_background_jobs or lower the load.",
        series: &[
            (
                "esker_pending_compaction_bytes{db=\"d\", family=\"f\"}",
                "0x30 90x90",
            ),
            (
                "esker_option{db=\"d\", family=\"f\", option=\"soft_pending_compaction_bytes_limit\"}",
                "100x120",
            ),
        ],
        labels: DB_FAMILY,
    },
    Alert {
        name: "EskerL0Files",
        expression: "sum by (db, family) (esker_level_files{level=\"0\"}) >= on (db, family) max by (db, family) (esker_option{option=\"level0_slowdown_writes_trigger\"} > 0)",
        wait: "10m",
        severity: "warning",
        summary: "L0 of {{ $labels.family }} in {{ $labels.db }} has too many files",
        description: "It has reached level0_slowdown_writes_trigger: writes are delayed, and reads look into each file.",
        series: &[
            (
                "esker_level_files{db=\"d\", family=\"f\", level=\"0\"}",
                "0x30 20x90",
            ),
            (
                "esker_option{db=\"d\", family=\"f\", option=\"level0_slowdown_writes_trigger\"}",
                "20x120",
            ),
        ],
        labels: DB_FAMILY,
    },
    Alert {
        name: "EskerClosed",
        expression: "esker_up == 0",
        wait: "5m",
        severity: "warning",
        summary: "{{ $labels.db }} is closed",
        description: "The program runs and exports the database, but has closed it.",
        series: &[("esker_up{db=\"d\"}", "1x30 0x90")],
        labels: DB,
    },
];

/// Returns `text` as a string of YAML.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns the alert rules as YAML, for `rule_files` of Prometheus.
pub fn alert_rules() -> String {
    let mut text = "groups:\n  - name: esker\n    rules:\n".to_owned();
    for alert in ALERTS {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "      - alert: {}\n        expr: {}\n        for: {}\n        labels:\n          severity: {}\n        annotations:\n          summary: {}\n          description: {}\n",
            alert.name,
            quoted(alert.expression),
            alert.wait,
            alert.severity,
            quoted(alert.summary),
            quoted(alert.description),
        );
    }
    text
}

/// Returns a test file for `promtool test rules`. `rules` is the path of the alert rules. Each alert fires on
/// its series, and none fires before.
pub fn alert_tests(rules: &str) -> String {
    let mut text = format!(
        "rule_files:\n  - {}\nevaluation_interval: 1m\ntests:\n",
        quoted(rules)
    );
    for alert in ALERTS {
        text.push_str("  - interval: 1m\n    input_series:\n");
        for (series, values) in alert.series {
            let _ = write!(
                text,
                "      - series: {}\n        values: {}\n",
                quoted(series),
                quoted(values)
            );
        }
        let severity = [("severity", alert.severity)];
        let labels = alert.labels.iter().chain(&severity);
        let labels: Vec<String> = labels
            .map(|(name, value)| format!("{name}: {}", quoted(value)))
            .collect();
        let filled = |template: &str| {
            let labels = alert.labels.iter();
            labels.fold(template.to_owned(), |text, (name, value)| {
                text.replace(&format!("{{{{ $labels.{name} }}}}"), value)
            })
        };
        let _ = write!(
            text,
            "    alert_rule_test:\n      - eval_time: 0m\n        alertname: {0}\n      - eval_time: {1}m\n        alertname: {0}\n        exp_alerts:\n          - exp_labels: {{{2}}}\n            exp_annotations:\n              summary: {3}\n              description: {4}\n",
            alert.name,
            TEST_MINUTES,
            labels.join(", "),
            quoted(&filled(alert.summary)),
            quoted(&filled(alert.description)),
        );
    }
    text
}
