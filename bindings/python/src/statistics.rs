//! The statistics of databases.

use std::sync::Arc;

use esker::{Histogram, StatsLevel, Ticker};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

/// The tickers and histograms of the databases that share it, for the option `statistics`.
#[pyclass(frozen, module = "esker")]
pub struct Statistics {
    statistics: Arc<esker::Statistics>,
}

impl Statistics {
    /// Returns the statistics of an option's value: an object, `True` for a new one, `None` or `False` for
    /// none.
    pub fn of(value: &Bound<'_, PyAny>) -> PyResult<Option<Arc<esker::Statistics>>> {
        if value.is_none() {
            return Ok(None);
        }
        if let Ok(flag) = value.cast::<PyBool>() {
            return Ok(flag.is_true().then(esker::Statistics::new));
        }
        Ok(Some(value.cast::<Statistics>()?.get().statistics.clone()))
    }

    pub fn around(statistics: Arc<esker::Statistics>) -> Statistics {
        Statistics { statistics }
    }
}

#[pymethods]
impl Statistics {
    /// Creates statistics. `stats_level` is RocksDB's number of the level of detail, 0 to 5.
    #[new]
    #[pyo3(signature = (stats_level = None))]
    fn new(stats_level: Option<i32>) -> PyResult<Statistics> {
        let statistics = match stats_level {
            None => esker::Statistics::new(),
            Some(number) => {
                let level = StatsLevel::of_number(number);
                let level = level.ok_or_else(|| PyValueError::new_err(format!("unknown level {number}")))?;
                esker::Statistics::of_level(level)
            }
        };
        Ok(Statistics { statistics })
    }

    /// Returns every ticker by RocksDB's name.
    fn tickers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for &ticker in Ticker::ALL {
            dict.set_item(ticker.name(), self.statistics.get_ticker_count(ticker))?;
        }
        Ok(dict)
    }

    /// Returns every histogram by RocksDB's name, as a dict of its figures.
    fn histograms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for &histogram in Histogram::ALL {
            let data = self.statistics.histogram_data(histogram);
            let figures = PyDict::new(py);
            figures.set_item("count", data.count)?;
            figures.set_item("sum", data.sum)?;
            figures.set_item("min", data.min)?;
            figures.set_item("max", data.max)?;
            figures.set_item("average", data.average)?;
            figures.set_item("standard_deviation", data.standard_deviation)?;
            figures.set_item("median", data.median)?;
            figures.set_item("percentile95", data.percentile95)?;
            figures.set_item("percentile99", data.percentile99)?;
            dict.set_item(histogram.name(), figures)?;
        }
        Ok(dict)
    }

    /// Resets all tickers and histograms to 0.
    fn reset(&self) {
        self.statistics.reset();
    }

    fn __str__(&self) -> String {
        self.statistics.to_string()
    }
}
