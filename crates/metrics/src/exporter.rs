//! The encoding of all databases as OpenMetrics text.

use std::fmt;

use base::{Error, Result};
use esker::{Db, Histogram, Ticker};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::{Registry, Unit as ClientUnit};

use crate::database::{self, Sampled, Value};
use crate::statistics;
use crate::table::{Kind, METRICS, Metric, PREFIX, Unit};

/// Databases, each under a name that is the label `db` of its metrics.
///
/// An exporter keeps its databases open, as every handle does; an explicit [`Db::close`] closes them, and
/// then `esker_up` is 0.
#[derive(Debug, Default)]
pub struct Exporter {
    databases: Vec<(String, Db)>,
}

impl Exporter {
    /// Returns an exporter without databases.
    pub fn new() -> Exporter {
        Exporter::default()
    }

    /// Adds a database under `name`. A database that had the same name is replaced.
    pub fn add(&mut self, name: &str, db: &Db) {
        self.remove(name);
        self.databases.push((name.to_owned(), db.clone()));
    }

    /// Removes a database.
    pub fn remove(&mut self, name: &str) {
        self.databases.retain(|(known, _)| known != name);
    }

    /// Encodes all metrics as OpenMetrics text. Costs a pass over the tables, the cache entries and the open
    /// iterators of each database; takes no lock for longer than a copy.
    ///
    /// # Errors
    /// An error of the formatter, which does not occur; the databases cause none.
    pub fn encode(&self) -> Result<String> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Scrape {
            databases: self.databases.clone(),
        }));
        let mut text = String::new();
        let encoded = encode(&mut text, &registry);
        encoded.map_err(|_| Error::invalid_argument("the metrics cannot be encoded"))?;
        Ok(text)
    }
}

/// One scrape.
struct Scrape {
    databases: Vec<(String, Db)>,
}

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.databases.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let databases = self.databases.iter();
        let sampled: Vec<_> = databases
            .map(|(name, db)| (name.as_str(), Sampled::new(db)))
            .collect();
        for metric in METRICS {
            encode_metric(&mut encoder, metric, &sampled)?;
        }
        for &ticker in Ticker::ALL {
            encode_ticker(&mut encoder, ticker, &sampled)?;
        }
        for &histogram in Histogram::ALL {
            encode_histogram(&mut encoder, histogram, &sampled)?;
        }
        Ok(())
    }
}

type Databases<'a> = [(&'a str, Sampled<'a>)];

fn encode_metric(
    encoder: &mut DescriptorEncoder<'_>,
    metric: &Metric,
    databases: &Databases<'_>,
) -> fmt::Result {
    let samples: Vec<_> = databases
        .iter()
        .flat_map(|(name, sampled)| {
            let samples = metric.samples(sampled).0.into_iter();
            samples.map(move |(labels, value)| (with_db(name, labels), value))
        })
        .collect();
    if samples.is_empty() {
        return Ok(());
    }
    let name = format!("{PREFIX}{}", metric.name);
    let unit = match metric.unit {
        Unit::None => None,
        Unit::Bytes => Some(ClientUnit::Bytes),
        Unit::Seconds => Some(ClientUnit::Seconds),
    };
    let kind = match metric.kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
    };
    let mut described = encoder.encode_descriptor(&name, metric.help, unit.as_ref(), kind)?;
    for (labels, value) in samples {
        let mut sample = described.encode_family(&labels)?;
        match (metric.kind, value) {
            (Kind::Counter, Value::Int(value)) => sample.encode_counter(&value, NONE)?,
            (Kind::Counter, Value::Float(value)) => sample.encode_counter(&value, NONE)?,
            (Kind::Gauge, Value::Int(value)) => sample.encode_gauge(&value)?,
            (Kind::Gauge, Value::Float(value)) => sample.encode_gauge(&value)?,
        }
    }
    Ok(())
}

const NONE: Option<&Exemplar<NoLabelSet, f64>> = None;

fn with_db(name: &str, labels: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    let db = std::iter::once(("db", name.to_owned()));
    db.chain(labels).collect()
}

fn encode_ticker(
    encoder: &mut DescriptorEncoder<'_>,
    ticker: Ticker,
    databases: &Databases<'_>,
) -> fmt::Result {
    let counts = databases.iter();
    let counts = counts.filter_map(|(name, sampled)| Some((name, database::ticker(sampled.db, ticker)?)));
    let counts: Vec<_> = counts.collect();
    if counts.is_empty() {
        return Ok(());
    }
    let (name, help) = described(ticker.name(), "Ticker");
    let mut described = encoder.encode_descriptor(&name, &help, None, MetricType::Counter)?;
    for (db, count) in counts {
        described
            .encode_family(&[("db", *db)])?
            .encode_counter(&count, NONE)?;
    }
    Ok(())
}

fn encode_histogram(
    encoder: &mut DescriptorEncoder<'_>,
    histogram: Histogram,
    databases: &Databases<'_>,
) -> fmt::Result {
    let counted = databases.iter().filter_map(|(name, sampled)| {
        let statistics = sampled.db.options().statistics.as_ref()?;
        Some((name, statistics::buckets(statistics, histogram)))
    });
    let counted: Vec<_> = counted.collect();
    if counted.is_empty() {
        return Ok(());
    }
    let (name, help) = described(histogram.name(), "Histogram");
    let mut described = encoder.encode_descriptor(&name, &help, None, MetricType::Histogram)?;
    for (db, counted) in counted {
        described
            .encode_family(&[("db", *db)])?
            .encode_histogram::<NoLabelSet>(counted.sum as f64, counted.count, &counted.buckets, None)?;
    }
    Ok(())
}

/// Returns the name and the help of a metric of `Statistics`.
fn described(name: &str, what: &str) -> (String, String) {
    (statistics::metric_name(name), format!("{what} {name}"))
}
