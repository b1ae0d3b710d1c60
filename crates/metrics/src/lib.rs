//! Metrics of databases for Prometheus and other readers of OpenMetrics.
//!
//! An [`Exporter`] has databases by name and encodes their statistics, properties and memory, by column
//! family and level. An [`Endpoint`] answers scrapes of it over HTTP, at a loopback address unless another
//! one is configured. Names are stable; `docs/metrics.md` lists each. The engine does not depend on this
//! crate: a database that is not exported has no cost.
//!
//! ```
//! use esker::{Db, Options, Statistics};
//! use esker_metrics::{Endpoint, Exporter, http};
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("db");
//! let options = Options {
//!     create_if_missing: true,
//!     statistics: Some(Statistics::new()),
//!     ..Default::default()
//! };
//! let db = Db::open(&options, &path).unwrap();
//! let mut exporter = Exporter::new();
//! exporter.add("orders", &db);
//! let endpoint = Endpoint::start(exporter, http::Config::default()).unwrap();
//! println!("scrape http://{}/metrics", endpoint.address());
//! ```
//!
//! [`dashboard`] and [`alert_rules`] are the Grafana dashboard and the alert rules that belong to these
//! metrics. With the feature `tracing`, `TracingListener` emits the engine's events as events of the crate
//! `tracing`.
#![forbid(unsafe_code)]

mod alerts;
mod database;
mod document;
mod endpoint;
mod exporter;
mod grafana;
mod statistics;
mod table;
#[cfg(feature = "tracing")]
mod tracing_listener;

pub use alerts::{alert_rules, alert_tests};
pub use document::document;
pub use endpoint::{CONTENT_TYPE, Endpoint};
pub use exporter::Exporter;
pub use grafana::{dashboard, panel_queries};
#[cfg(feature = "tracing")]
pub use tracing_listener::TracingListener;

/// The crate that defines the configuration for [`Endpoint::start`].
pub use http;
