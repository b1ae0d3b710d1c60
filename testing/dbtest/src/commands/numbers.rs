//! Numbers of the database: properties, tickers and sizes, compared with each other.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use esker::{
    ColumnFamily, Histogram, ReadOptions, Result, SizeApproximationOptions, StallCause, StallCondition,
    Ticker,
};
use testkit::datadriven::TestCase;
use vfs::FileSystem;

use super::session::Session;
use super::text::{bytes, flag, misuse};

impl Session {
    /// Evaluates lines: `NAME = EXPRESSION` names a number, `A < B` and other comparisons print whether they
    /// hold, and an expression alone prints its value.
    ///
    /// With `until` the command waits until all comparisons hold: background threads hold memtables for a
    /// while.
    ///
    /// The terms:
    ///
    /// * an integer, a named number, a property, a ticker, or `aggregated:PROPERTY`
    /// * `in:PROPERTY:TEXT`: the number at the end of the property's line with that text
    /// * `histogram:NAME:count`, `histogram:NAME:sum`
    /// * `delayed:CAUSE`, `stopped:CAUSE`: the waits of writers, and with `:micros` their time
    /// * `seqno`; `rows`, `rows:SNAPSHOT`; `reads:KEY` and `file:KEY`: the sampled reads, and the number,
    ///   of the file with that smallest key; `blob_file`: the number of the oldest blob file
    /// * `files`, `files:LEVEL`, `bytes`, `bytes:LEVEL`, and `all-files`, `all-bytes` of all families
    /// * `size:BEGIN:END`, `blobs:BEGIN:END`, `all:BEGIN:END`: the approximate sizes of tables, blob files, both
    /// * `digest:DIR:ENDING`: equal if no name and no byte of such files changes
    /// * `manager`: the memory of the write buffer manager; `held`: the threads at the gate
    pub(super) fn numbers(&mut self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let family = match flag(case, "closed") {
            true => None,
            false => Some(self.family(case)?),
        };
        if flag(case, "until") {
            let input = case.input.clone();
            testkit::wait_until(&format!("it holds: {input}"), || {
                let mut found = String::new();
                let outcome = self.evaluate(family.as_ref(), &input, &mut found);
                outcome.is_ok() && !found.contains(": false, ")
            });
        }
        self.evaluate(family.as_ref(), &case.input, out)
    }

    fn evaluate(&mut self, family: Option<&ColumnFamily>, input: &str, out: &mut String) -> Result<()> {
        for line in input.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [name, "=", ref rest @ ..] = words[..] {
                let value = self.sum(family, rest)?;
                self.numbers.insert(name.to_owned(), value);
                continue;
            }
            let at = words
                .iter()
                .position(|word| ["==", "!=", "<", "<=", ">", ">="].contains(word));
            let Some(at) = at else {
                out.push_str(&format!("{line}: {}\n", self.sum(family, &words)?));
                continue;
            };
            let (left, right) = (
                self.sum(family, &words[..at])?,
                self.sum(family, &words[at + 1..])?,
            );
            let holds = match words[at] {
                "==" => left == right,
                "!=" => left != right,
                "<" => left < right,
                "<=" => left <= right,
                ">" => left > right,
                _ => left >= right,
            };
            out.push_str(&match holds {
                true => format!("{line}: true\n"),
                false => format!("{line}: false, {left} and {right}\n"),
            });
        }
        Ok(())
    }

    fn sum(&self, family: Option<&ColumnFamily>, words: &[&str]) -> Result<i128> {
        let [first, rest @ ..] = words else {
            return Err(misuse("an expression is missing"));
        };
        let mut sum = self.term(family, first)?;
        for pair in rest.chunks(2) {
            match *pair {
                ["+", term] => sum += self.term(family, term)?,
                ["-", term] => sum -= self.term(family, term)?,
                ["*", term] => sum *= self.term(family, term)?,
                _ => return Err(misuse(format!("no expression: {}", words.join(" ")))),
            }
        }
        Ok(sum)
    }

    /// A number that depends on the names and the bytes of the files of a directory with an ending.
    fn digest(&self, files: &str) -> Result<i128> {
        let (dir, ending) = files.split_once(':').ok_or_else(|| misuse("digest:DIR:ENDING"))?;
        let (dir, mut hasher) = (Path::new("/").join(dir), DefaultHasher::new());
        let names = self.fs.list(&dir)?.into_iter();
        for name in names.filter(|name| name.ends_with(ending)) {
            (&name, self.fs.read_file(&dir.join(&name))?).hash(&mut hasher);
        }
        Ok(hasher.finish().into())
    }

    fn term(&self, family: Option<&ColumnFamily>, word: &str) -> Result<i128> {
        if let Ok(number) = word.parse() {
            return Ok(number);
        }
        if let Some(number) = self.numbers.get(word) {
            return Ok(*number);
        }
        let unknown = || misuse(format!("no number {word}"));
        let (kind, rest) = word.split_once(':').unwrap_or((word, ""));
        if kind == "digest" {
            return self.digest(rest);
        }
        let db = self.db()?;
        let at_level = |level: usize| rest.is_empty() || rest == level.to_string();
        let files = db.live_files();
        let files = files.iter().filter(|file| {
            family.is_none_or(|family| file.column_family == family.name()) && at_level(file.level)
        });
        Ok(match kind {
            "in" => {
                let (name, text) = rest.split_once(':').ok_or_else(unknown)?;
                let text_of = |family| db.property(family, name);
                let property = family.and_then(text_of).ok_or_else(unknown)?;
                let line = property.split(['\n', ',']).find(|line| line.contains(text));
                let digits = line.and_then(|line| line.rsplit(|c: char| !c.is_ascii_digit()).next());
                digits
                    .and_then(|digits| digits.parse().ok())
                    .ok_or_else(unknown)?
            }
            "held" => self.gate.waiting() as i128,
            "rows" => {
                let options = ReadOptions {
                    snapshot: match rest {
                        "" => None,
                        name => Some(self.snapshot(name)?.clone()),
                    },
                    ..ReadOptions::default()
                };
                let mut iter = db.iter_cf_opt(family.ok_or_else(unknown)?, &options);
                let mut rows = 0;
                iter.seek_to_first();
                while iter.valid() {
                    rows += 1;
                    iter.next();
                }
                iter.status()?;
                rows
            }
            "all-files" => db.live_files().len() as i128,
            "all-bytes" => db.live_files().iter().map(|file| i128::from(file.size)).sum(),
            "size" | "blobs" | "all" => {
                let (begin, end) = rest.split_once(':').ok_or_else(unknown)?;
                let options = SizeApproximationOptions {
                    include_memtables: kind == "all",
                    include_files: kind != "blobs",
                    include_blob_files: kind != "size",
                };
                let ranges = [(begin.as_bytes(), end.as_bytes())];
                let sizes = db.approximate_sizes_with(family.ok_or_else(unknown)?, &ranges, &options)?;
                sizes[0].into()
            }
            "seqno" => i128::from(db.latest_sequence_number()),
            "files" => files.count() as i128,
            "file" => {
                let (key, file) = (bytes(rest)?, db.live_files().into_iter());
                let mut file = file.filter(|file| file.smallest_key == key);
                file.next().ok_or_else(unknown)?.number.into()
            }
            "blob_file" => {
                let files = db.blob_files(family.ok_or_else(unknown)?);
                files.first().ok_or_else(unknown)?.number.into()
            }
            "bytes" => files.map(|file| i128::from(file.size)).sum(),
            "reads" => {
                let files = db.live_files();
                let file = files.iter().find(|file| file.smallest_key == rest.as_bytes());
                i128::from(file.ok_or_else(unknown)?.num_reads_sampled)
            }
            "manager" => {
                let manager = self.options.write_buffer_manager.as_ref();
                manager.ok_or_else(unknown)?.memory_usage().into()
            }
            "histogram" => {
                let (name, of) = rest.rsplit_once(':').ok_or_else(unknown)?;
                let histogram = Histogram::of_name(name).ok_or_else(unknown)?;
                let statistics = self.options.statistics.as_ref().ok_or_else(unknown)?;
                let data = statistics.histogram_data(histogram);
                i128::from(if of == "sum" { data.sum } else { data.count })
            }
            "aggregated" => db.aggregated_property_int(rest).ok_or_else(unknown)?.into(),
            "delayed" | "stopped" => {
                let (cause, micros) = match rest.strip_suffix(":micros") {
                    Some(cause) => (cause, true),
                    None => (rest, false),
                };
                let found = StallCause::ALL
                    .into_iter()
                    .find(|found| found.to_string() == cause);
                let cause = found.ok_or_else(unknown)?;
                let total = db.statistics().stall(match kind {
                    "delayed" => StallCondition::Delayed { cause },
                    _ => StallCondition::Stopped { cause },
                });
                i128::from(if micros { total.micros } else { total.count })
            }
            _ => {
                let property = family.and_then(|family| db.property_int(family, word));
                let ticker = || Ticker::of_name(word).map(|ticker| db.statistics().get(ticker));
                property.or_else(ticker).ok_or_else(unknown)?.into()
            }
        })
    }
}
