//! Metrics of live databases over a real socket, the files generated from their table, and Prometheus as a
//! judge of them.

mod common;
mod document;
mod prometheus;
mod scrape;
#[cfg(feature = "tracing")]
mod tracing;
