//! The tables of `docs/metrics.md`, generated from the encoded rows.

use std::fmt::Write;

use esker::{Histogram, Ticker};

use crate::statistics;
use crate::table::METRICS;

/// Returns the names of all metrics as tables of Markdown.
pub fn document() -> String {
    let mut text = "| name | type | labels | meaning |\n|---|---|---|---|\n".to_owned();
    for metric in METRICS {
        let labels = std::iter::once("db").chain(metric.labels.iter().copied());
        let labels: Vec<String> = labels.map(|label| format!("`{label}`")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            metric.sample_name(),
            metric.kind.name(),
            labels.join(", "),
            metric.help
        );
    }
    text.push_str(
        "\nWith `Options::statistics`, a counter for each ticker:\n\n| name | ticker |\n|---|---|\n",
    );
    for ticker in Ticker::ALL {
        let name = statistics::metric_name(ticker.name());
        let _ = writeln!(text, "| `{name}_total` | `{}` |", ticker.name());
    }
    text.push_str("\nAnd a histogram for each histogram:\n\n| name | histogram |\n|---|---|\n");
    for histogram in Histogram::ALL {
        let name = statistics::metric_name(histogram.name());
        let _ = writeln!(text, "| `{name}` | `{}` |", histogram.name());
    }
    text
}
