//! The report of a trace: facts and tables, as text or as JSON.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Map, Value, json};

use crate::output::{Failure, Out};
use crate::text::show_size;

/// The width of the bars in characters.
const BAR: usize = 30;

/// The number of rows of a table over time, at most.
const MOMENTS: u64 = 24;

/// A value in a report.
#[derive(Clone, Debug)]
pub enum Cell {
    /// A cell with a text.
    Text(String),
    /// A cell with a number.
    Number(u64),
    /// A number of bytes.
    Bytes(u64),
    /// A number of nanoseconds.
    Nanos(u64),
    /// A number with decimals.
    Decimal(f64),
    /// A ratio, with two decimals.
    Ratio(f64),
    /// A share of a whole, from 0 to 1.
    Share(f64),
}

impl Cell {
    /// The share `part` of `whole`; 0 of nothing.
    pub fn share(part: u64, whole: u64) -> Cell {
        Cell::Share(part as f64 / whole.max(1) as f64)
    }

    /// `sum` over `count` with decimals; 0 of none.
    pub fn mean(sum: u64, count: u64) -> Cell {
        Cell::Decimal(sum as f64 / count.max(1) as f64)
    }

    fn text(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Number(number) => number.to_string(),
            Cell::Bytes(bytes) => show_size(*bytes),
            Cell::Nanos(nanos) if *nanos >= 1_000_000_000 => format!("{:.2} s", *nanos as f64 / 1e9),
            Cell::Nanos(nanos) if *nanos >= 1_000_000 => format!("{:.2} ms", *nanos as f64 / 1e6),
            Cell::Nanos(nanos) if *nanos >= 1_000 => format!("{:.1} us", *nanos as f64 / 1e3),
            Cell::Nanos(nanos) => format!("{nanos} ns"),
            Cell::Decimal(number) => format!("{number:.1}"),
            Cell::Ratio(ratio) => format!("{ratio:.2}"),
            Cell::Share(share) => format!("{:.1}%", share * 100.0),
        }
    }

    fn json(&self) -> Value {
        match self {
            Cell::Text(text) => json!(text),
            Cell::Number(number) | Cell::Bytes(number) | Cell::Nanos(number) => json!(number),
            Cell::Decimal(number) | Cell::Ratio(number) | Cell::Share(number) => json!(number),
        }
    }
}

/// A table of a report.
#[derive(Clone, Debug)]
pub struct Table {
    /// The name of the table, in lower-case words.
    pub name: &'static str,
    /// The columns' names, lower-case words.
    pub columns: Vec<&'static str>,
    /// The rows of the table. Each row has a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// The column, a share or a number, that a bar follows at the end of each row.
    pub bar: Option<usize>,
}

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Single values with their names.
    pub facts: Vec<(&'static str, Cell)>,
    /// The tables of the report.
    pub tables: Vec<Table>,
}

impl Report {
    /// Adds a table, unless it has no rows.
    pub fn table(
        &mut self,
        name: &'static str,
        columns: &[&'static str],
        rows: Vec<Vec<Cell>>,
        bar: Option<usize>,
    ) {
        if !rows.is_empty() {
            self.tables.push(Table {
                name,
                columns: columns.to_vec(),
                rows,
                bar,
            });
        }
    }

    /// Writes the report as text for people.
    pub fn write_text(&self, out: &mut Out) -> Result<(), Failure> {
        let width = self.facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, cell) in &self.facts {
            writeln!(out, "{name:<width$}  {}", cell.text())?;
        }
        for table in &self.tables {
            writeln!(out, "\n{}", table.name)?;
            table.write_text(out)?;
        }
        Ok(())
    }

    /// Writes the report as one JSON object: facts by name, and each table as an array of objects. Sizes are
    /// in bytes, times in nanoseconds.
    pub fn write_json(&self, out: &mut Out) -> Result<(), Failure> {
        let mut all = Map::new();
        for (name, cell) in &self.facts {
            all.insert(key(name), cell.json());
        }
        for table in &self.tables {
            all.insert(key(table.name), table.json());
        }
        writeln!(out, "{:#}", Value::Object(all))?;
        Ok(())
    }
}

/// A name as a key of JSON.
fn key(name: &str) -> String {
    name.replace([' ', '-'], "_")
}

impl Table {
    fn json(&self) -> Value {
        let row = |cells: &Vec<Cell>| {
            let pairs = self.columns.iter().zip(cells);
            Value::Object(pairs.map(|(name, cell)| (key(name), cell.json())).collect())
        };
        Value::Array(self.rows.iter().map(row).collect())
    }

    fn write_text(&self, out: &mut Out) -> Result<(), Failure> {
        let texts: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(Cell::text).collect())
            .collect();
        let width = |column: usize| {
            let cells = texts.iter().map(|row| row[column].chars().count());
            cells.chain([self.columns[column].len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let left: Vec<bool> = (0..self.columns.len())
            .map(|column| matches!(self.rows[0][column], Cell::Text(_)))
            .collect();
        let line = |cells: Vec<&str>| {
            let padded = cells.iter().zip(&widths).zip(&left);
            let padded = padded.map(|((cell, &width), left)| match left {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            });
            padded.collect::<Vec<_>>().join("  ")
        };
        writeln!(out, "  {}", line(self.columns.clone()).trim_end())?;
        let most = self.bar.map_or(0.0, |column| {
            self.rows.iter().map(|row| row[column].size()).fold(0.0, f64::max)
        });
        for (row, texts) in self.rows.iter().zip(&texts) {
            let mut text = line(texts.iter().map(String::as_str).collect());
            if let Some(column) = self.bar
                && most > 0.0
            {
                let len = (row[column].size() / most * BAR as f64).round() as usize;
                text.push_str("  ");
                text.push_str(&"█".repeat(len));
            }
            writeln!(out, "  {}", text.trim_end())?;
        }
        Ok(())
    }
}

impl Cell {
    /// The number that determines the length of the cell's bar.
    fn size(&self) -> f64 {
        match self {
            Cell::Text(_) => 0.0,
            Cell::Number(number) | Cell::Bytes(number) | Cell::Nanos(number) => *number as f64,
            Cell::Decimal(number) | Cell::Ratio(number) | Cell::Share(number) => *number,
        }
    }
}

/// Counts of values by power of two.
#[derive(Clone, Debug, Default)]
pub struct Powers {
    /// The counts by the exponent of the smallest power of two above the value, which is 0 for the value 0.
    counts: BTreeMap<u32, u64>,
}

impl Powers {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        *self.counts.entry(u64::BITS - value.leading_zeros()).or_default() += 1;
    }

    /// Rows of the largest value, the count, its share, and the share of all up to it.
    pub fn rows(&self, cell: impl Fn(u64) -> Cell) -> Vec<Vec<Cell>> {
        let all: u64 = self.counts.values().sum();
        let mut up_to = 0;
        let mut rows = Vec::new();
        for (&exponent, &count) in &self.counts {
            up_to += count;
            let largest = match exponent {
                u64::BITS => u64::MAX,
                _ => (1 << exponent) - 1,
            };
            rows.push(vec![
                cell(largest),
                Cell::Number(count),
                Cell::share(count, all),
                Cell::share(up_to, all),
            ]);
        }
        rows
    }
}

/// The columns of [`Powers::rows`], after that of the value.
pub const POWERS: [&str; 3] = ["count", "share", "up to"];

/// Counts in intervals of time.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The operations by second since the first moment that was counted.
    seconds: BTreeMap<u64, u64>,
}

impl Timeline {
    /// Counts something `micros` after the beginning.
    pub fn add(&mut self, micros: u64) {
        *self.seconds.entry(micros / 1_000_000).or_default() += 1;
    }

    /// The largest count of one second.
    pub fn peak(&self) -> u64 {
        self.seconds.values().copied().max().unwrap_or(0)
    }

    /// Adds the table of operations a second.
    pub fn report(&self, report: &mut Report) {
        let Some((&last, _)) = self.seconds.last_key_value() else {
            return;
        };
        let step = (last + 1).div_ceil(MOMENTS);
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for (second, count) in &self.seconds {
            *counts.entry(second / step).or_default() += count;
        }
        let row = |moment: u64| {
            let count = counts.get(&moment).copied().unwrap_or(0);
            let from = moment * step;
            let length = step.min(last + 1 - from);
            vec![Cell::Number(from), Cell::mean(count, length)]
        };
        let rows = (0..=last / step).map(row).collect();
        report.table("operations a second", &["from second", "a second"], rows, Some(1));
    }
}
