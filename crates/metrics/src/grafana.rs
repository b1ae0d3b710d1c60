//! The Grafana dashboard, from one table of panels.

use serde_json::{Value, json};

// The units of panels, in Grafana's names.
const BYTES: &str = "bytes";
const BYTES_A_SECOND: &str = "Bps";
const SECONDS: &str = "s";
const PART: &str = "percentunit";
const NUMBER: &str = "short";
const A_SECOND: &str = "ops";

/// A panel: queries, each with the legend of its series.
struct Panel {
    title: &'static str,
    unit: &'static str,
    /// The meaning of the panel, and the reaction to a bad value.
    description: &'static str,
    queries: &'static [(&'static str, &'static str)],
}

/// A row of panels.
struct Row {
    title: &'static str,
    panels: &'static [Panel],
}

const ROWS: &[Row] = &[
    Row {
        title: "Writes",
        panels: &[
            Panel {
                title: "Stalls by the option that caused them",
                unit: PART,
                description: "The part of the time that writers wait, by the option whose limit was reached. 100% is one writer that waits all the time.",
                queries: &[(
                    "sum by (db, condition, option) (rate(esker_stall_time_seconds_total{db=~\"$db\"}[$__rate_interval])) > 0 or sum by (db) (rate(esker_stall_seconds_total{db=~\"$db\"}[$__rate_interval]))",
                    "{{db}} {{condition}} {{option}}",
                )],
            },
            Panel {
                title: "Write amplification",
                unit: NUMBER,
                description: "Bytes that flushes and compactions write for each byte of a write batch, now.",
                queries: &[(
                    "sum by (db) (rate(esker_flush_written_bytes_total{db=~\"$db\"}[$__rate_interval]) + rate(esker_compaction_written_bytes_total{db=~\"$db\"}[$__rate_interval])) / sum by (db) (rate(esker_written_bytes_total{db=~\"$db\"}[$__rate_interval]) > 0)",
                    "{{db}}",
                )],
            },
            Panel {
                title: "Bytes written",
                unit: BYTES_A_SECOND,
                description: "Write batches, WALs, flushes and compactions.",
                queries: &[
                    (
                        "rate(esker_written_bytes_total{db=~\"$db\"}[$__rate_interval])",
                        "{{db}} batches",
                    ),
                    (
                        "rate(esker_wal_written_bytes_total{db=~\"$db\"}[$__rate_interval])",
                        "{{db}} WAL",
                    ),
                    (
                        "rate(esker_flush_written_bytes_total{db=~\"$db\"}[$__rate_interval])",
                        "{{db}} flushes",
                    ),
                    (
                        "rate(esker_compaction_written_bytes_total{db=~\"$db\"}[$__rate_interval])",
                        "{{db}} compactions",
                    ),
                ],
            },
            Panel {
                title: "WAL age by family",
                unit: SECONDS,
                description: "The age of the oldest WAL that a family keeps, because rows in it are in no table. One idle family keeps the WALs of all: set max_total_wal_size.",
                queries: &[("esker_oldest_wal_age_seconds{db=~\"$db\"}", "{{db}} {{family}}")],
            },
            Panel {
                title: "WALs",
                unit: BYTES,
                description: "The size of all WALs. An open of the database replays them.",
                queries: &[("esker_wal_file_bytes{db=~\"$db\"}", "{{db}}")],
            },
            Panel {
                title: "Memtables",
                unit: BYTES,
                description: "Memory of memtables that are not flushed.",
                queries: &[("esker_memtables_bytes{db=~\"$db\"}", "{{db}} {{family}}")],
            },
        ],
    },
    Row {
        title: "Levels and compactions",
        panels: &[
            Panel {
                title: "Compaction debt",
                unit: BYTES,
                description: "The estimated work of compactions. At soft_pending_compaction_bytes_limit writes are delayed, at hard_pending_compaction_bytes_limit they stop.",
                queries: &[
                    ("esker_pending_compaction_bytes{db=~\"$db\"}", "{{db}} {{family}}"),
                    (
                        "esker_option{db=~\"$db\", option=\"soft_pending_compaction_bytes_limit\"} > 0",
                        "{{db}} {{family}} soft limit",
                    ),
                ],
            },
            Panel {
                title: "Files of L0",
                unit: NUMBER,
                description: "At level0_slowdown_writes_trigger writes are delayed, at level0_stop_writes_trigger they stop.",
                queries: &[
                    ("esker_level_files{db=~\"$db\", level=\"0\"}", "{{db}} {{family}}"),
                    (
                        "esker_option{db=~\"$db\", option=\"level0_slowdown_writes_trigger\"}",
                        "{{db}} {{family}} slowdown",
                    ),
                ],
            },
            Panel {
                title: "Levels",
                unit: BYTES,
                description: "The size of each level.",
                queries: &[(
                    "sum by (db, level) (esker_level_bytes{db=~\"$db\"}) > 0",
                    "{{db}} L{{level}}",
                )],
            },
            Panel {
                title: "Tombstones by level",
                unit: PART,
                description: "The part of the entries that are deletions, of tables that have been opened. Scans over many of them are slow.",
                queries: &[(
                    "sum by (db, level) (esker_level_deletions{db=~\"$db\"}) / (sum by (db, level) (esker_level_entries{db=~\"$db\"}) > 0)",
                    "{{db}} L{{level}}",
                )],
            },
            Panel {
                title: "Running jobs",
                unit: NUMBER,
                description: "Flushes and compactions.",
                queries: &[
                    ("esker_running_flushes{db=~\"$db\"}", "{{db}} flushes"),
                    ("esker_running_compactions{db=~\"$db\"}", "{{db}} compactions"),
                ],
            },
            Panel {
                title: "Space of tables",
                unit: BYTES,
                description: "Tables in use and tables that readers hold, beside the estimate of live data.",
                queries: &[
                    ("sum by (db) (esker_total_sst_bytes{db=~\"$db\"})", "{{db}} total"),
                    (
                        "sum by (db) (esker_live_data_bytes{db=~\"$db\"})",
                        "{{db}} live data",
                    ),
                ],
            },
        ],
    },
    Row {
        title: "Reads and memory",
        panels: &[
            Panel {
                title: "Block cache hit rate by kind of block",
                unit: PART,
                description: "Hits of all lookups. Needs Options::statistics.",
                queries: &[
                    (
                        "rate(esker_stat_block_cache_data_hit_total{db=~\"$db\"}[$__rate_interval]) / (rate(esker_stat_block_cache_data_hit_total{db=~\"$db\"}[$__rate_interval]) + rate(esker_stat_block_cache_data_miss_total{db=~\"$db\"}[$__rate_interval]) > 0)",
                        "{{db}} data",
                    ),
                    (
                        "rate(esker_stat_block_cache_index_hit_total{db=~\"$db\"}[$__rate_interval]) / (rate(esker_stat_block_cache_index_hit_total{db=~\"$db\"}[$__rate_interval]) + rate(esker_stat_block_cache_index_miss_total{db=~\"$db\"}[$__rate_interval]) > 0)",
                        "{{db}} index",
                    ),
                    (
                        "rate(esker_stat_block_cache_filter_hit_total{db=~\"$db\"}[$__rate_interval]) / (rate(esker_stat_block_cache_filter_hit_total{db=~\"$db\"}[$__rate_interval]) + rate(esker_stat_block_cache_filter_miss_total{db=~\"$db\"}[$__rate_interval]) > 0)",
                        "{{db}} filter",
                    ),
                ],
            },
            Panel {
                title: "Block cache by kind of block",
                unit: BYTES,
                description: "Entries of the block caches. A cache that databases share is reported by each.",
                queries: &[
                    (
                        "sum by (db, role) (esker_block_cache_bytes{db=~\"$db\"})",
                        "{{db}} {{role}}",
                    ),
                    (
                        "sum by (db) (esker_block_cache_capacity_bytes{db=~\"$db\"})",
                        "{{db}} capacity",
                    ),
                ],
            },
            Panel {
                title: "Gets and writes",
                unit: A_SECOND,
                description: "Keys read and written. Needs Options::statistics.",
                queries: &[
                    (
                        "rate(esker_stat_number_keys_read_total{db=~\"$db\"}[$__rate_interval])",
                        "{{db}} gets",
                    ),
                    (
                        "rate(esker_stat_number_keys_written_total{db=~\"$db\"}[$__rate_interval])",
                        "{{db}} writes",
                    ),
                    (
                        "rate(esker_stat_number_db_seek_total{db=~\"$db\"}[$__rate_interval])",
                        "{{db}} seeks",
                    ),
                ],
            },
            Panel {
                title: "Latency, 99th percentile",
                unit: "µs",
                description: "The latency of gets and writes. Needs Options::statistics.",
                queries: &[
                    (
                        "histogram_quantile(0.99, sum by (db, le) (rate(esker_stat_db_get_micros_bucket{db=~\"$db\"}[$__rate_interval])))",
                        "{{db}} get",
                    ),
                    (
                        "histogram_quantile(0.99, sum by (db, le) (rate(esker_stat_db_write_micros_bucket{db=~\"$db\"}[$__rate_interval])))",
                        "{{db}} write",
                    ),
                ],
            },
            Panel {
                title: "Memory",
                unit: BYTES,
                description: "Memory by purpose, without block caches.",
                queries: &[("esker_memory_bytes{db=~\"$db\"}", "{{db}} {{part}}")],
            },
            Panel {
                title: "Pins: age of the oldest",
                unit: SECONDS,
                description: "Iterators and snapshots that are kept open hold back memory, files and old versions of rows.",
                queries: &[("esker_oldest_pin_age_seconds{db=~\"$db\"}", "{{db}} {{kind}}")],
            },
            Panel {
                title: "Pinned",
                unit: BYTES,
                description: "Memtables and files that only a pin keeps.",
                queries: &[("esker_pinned_bytes{db=~\"$db\"}", "{{db}} {{kind}}")],
            },
        ],
    },
];

/// The width of the dashboard in Grafana's columns, and the size of a panel.
const COLUMNS: usize = 24;
const WIDTH: usize = 8;
const HEIGHT: usize = 8;

/// Returns the dashboard as JSON, for an import into Grafana. The import asks for the data source.
pub fn dashboard() -> String {
    let mut panels = Vec::new();
    let mut y = 0;
    for row in ROWS {
        let place = json!({ "h": 1, "w": COLUMNS, "x": 0, "y": y });
        let id = panels.len() + 1;
        panels.push(json!({
            "collapsed": false, "gridPos": place, "id": id, "panels": [], "title": row.title, "type": "row",
        }));
        y += 1;
        for (nth, panel) in row.panels.iter().enumerate() {
            let (x, y) = (nth * WIDTH % COLUMNS, y + nth * WIDTH / COLUMNS * HEIGHT);
            let id = panels.len() + 1;
            panels.push(timeseries(panel, id, x, y));
        }
        y += (row.panels.len() * WIDTH).div_ceil(COLUMNS) * HEIGHT;
    }
    let dashboard = json!({
        "__inputs": [{
            "name": "DS_PROMETHEUS", "label": "Prometheus", "type": "datasource", "pluginId": "prometheus",
            "pluginName": "Prometheus",
        }],
        "annotations": { "list": [] },
        "editable": true,
        "graphTooltip": 1,
        "panels": panels,
        "refresh": "10s",
        "schemaVersion": 39,
        "tags": ["esker"],
        "templating": { "list": [{
            "name": "db", "label": "Database", "type": "query", "datasource": source(),
            "query": { "query": "label_values(esker_up, db)", "refId": "db" },
            "definition": "label_values(esker_up, db)",
            "includeAll": true, "multi": true, "allValue": ".*", "refresh": 2, "sort": 1,
            "current": { "selected": true, "text": ["All"], "value": ["$__all"] },
        }] },
        "time": { "from": "now-1h", "to": "now" },
        "timezone": "browser",
        "title": "Esker",
        "uid": "esker-databases",
        "version": 1,
    });
    // This cannot fail, because a JSON value of strings and numbers can always be written.
    let text = serde_json::to_string_pretty(&dashboard).unwrap_or_default();
    format!("{text}\n")
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${DS_PROMETHEUS}" })
}

fn timeseries(panel: &Panel, id: usize, x: usize, y: usize) -> Value {
    let queries = panel.queries.iter().zip('A'..);
    let targets: Vec<Value> = queries
        .map(|((query, legend), letter)| {
            json!({
                "datasource": source(), "editorMode": "code", "expr": query, "legendFormat": legend, "range": true,
                "refId": letter.to_string(),
            })
        })
        .collect();
    json!({
        "datasource": source(),
        "description": panel.description,
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit, "min": 0,
                "custom": { "fillOpacity": 10, "lineWidth": 1, "showPoints": "never", "spanNulls": false },
            },
            "overrides": [],
        },
        "gridPos": { "h": HEIGHT, "w": WIDTH, "x": x, "y": y },
        "id": id,
        "options": {
            "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true },
            "tooltip": { "mode": "multi", "sort": "desc" },
        },
        "targets": targets,
        "title": panel.title,
        "type": "timeseries",
    })
}

/// Returns the title and the query of each series of the dashboard, with Grafana's variables replaced: all
/// databases, and the range `interval`, such as `1m`.
pub fn panel_queries(interval: &str) -> Vec<(&'static str, String)> {
    let panels = ROWS.iter().flat_map(|row| row.panels);
    let queries = panels.flat_map(|panel| panel.queries.iter().map(|(query, _)| (panel.title, *query)));
    queries
        .map(|(title, query)| {
            let query = query.replace("$__rate_interval", interval).replace("$db", ".*");
            (title, query)
        })
        .collect()
}
