//! Metrics of open databases over a real socket, the files generated from their table, and tests of them with
//! Prometheus.

mod common;
mod document;
mod prometheus;
mod scrape;
#[cfg(feature = "tracing")]
mod tracing;
