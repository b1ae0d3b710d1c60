//! The rounds: every workload over every engine, in turns, and their report.

use std::path::{Path, PathBuf};

use paired::{Comparison, MARGIN, Verdict, median};

use bench_worker::engine::Kind;
use bench_worker::worker::{self, Common, Sample, Task};
use bench_worker::workload::Workload;

/// An engine that takes part; another entrant may be the same engine.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// The unique name in the report.
    pub name: String,
    pub engine: Kind,
    /// The planted slow-down of this engine, as a share of the time of its operations.
    pub slow_down: f64,
}

/// The entrants of a list such as `esker,rocksdb-tuned`; the last one is slowed down.
pub fn entrants(list: &str, slow_down: f64) -> Result<Vec<Entrant>, String> {
    let mut entrants: Vec<Entrant> = Vec::new();
    for word in list.split(',').filter(|word| !word.is_empty()) {
        let engine: Kind = word.parse()?;
        let same = entrants.iter().filter(|other| other.engine == engine).count();
        entrants.push(Entrant {
            name: if same > 0 {
                format!("{engine}#{}", same + 1)
            } else {
                engine.to_string()
            },
            engine,
            slow_down: 0.0,
        });
    }
    let last = entrants.last_mut().ok_or("no engines")?;
    if slow_down > 0.0 {
        last.slow_down = slow_down;
        last.name = format!("{}+{:.0}%", last.name, slow_down * 100.0);
    }
    Ok(entrants)
}

/// Measures entrants against each other.
pub struct Arena<'a> {
    pub entrants: &'a [Entrant],
    pub common: &'a Common,
    pub rounds: usize,
    /// The directory of the databases.
    pub dir: PathBuf,
}

/// The samples of a workload: by compared engine, then by round.
pub type Samples = Vec<Vec<Sample>>;

impl Arena<'_> {
    /// Loads the databases that reading workloads need, each in a process of its own.
    pub fn load(&self) -> Result<(), String> {
        for (at, entrant) in self.entrants.iter().enumerate() {
            let dir = self.dir.join(format!("{at}-read"));
            remove(&dir)?;
            worker::spawn(&self.task(entrant, Workload::Load, dir, 0))?;
        }
        Ok(())
    }

    /// Runs all rounds of a workload. Fails if the entrants found different numbers of entries.
    pub fn run(&self, benchmark: Workload) -> Result<Samples, String> {
        let count = self.entrants.len();
        let mut samples = vec![Vec::with_capacity(self.rounds); count];
        for round in 0..self.rounds {
            let mut found = None;
            for turn in 0..count {
                // The order is A B, B A, A B; with more than two entrants each is first, second ... in turn.
                let at = (round + turn) % count;
                let entrant = &self.entrants[at];
                let loaded = self.dir.join(format!("{at}-read"));
                let sample = if benchmark.is_read() && !benchmark.changes_what_it_reads() {
                    worker::spawn(&self.task(entrant, benchmark, loaded, round))?
                } else {
                    let dir = self.dir.join(format!("{at}-fill"));
                    remove(&dir)?;
                    if benchmark.is_read() {
                        copy(&loaded, &dir)?;
                    }
                    let sample = worker::spawn(&self.task(entrant, benchmark, dir.clone(), round))?;
                    remove(&dir)?;
                    sample
                };
                if *found.get_or_insert(sample.found) != sample.found {
                    return Err(format!(
                        "{benchmark}: {} found {} entries, another engine {}",
                        entrant.name,
                        sample.found,
                        found.unwrap_or(0)
                    ));
                }
                samples[at].push(sample);
            }
        }
        Ok(samples)
    }

    fn task(&self, entrant: &Entrant, benchmark: Workload, dir: PathBuf, round: usize) -> Task {
        Task {
            engine: entrant.engine,
            benchmark,
            dir,
            seed: 1_000 + round as u64,
            slow_down: entrant.slow_down,
            common: self.common.clone(),
        }
    }
}

fn remove(dir: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", dir.display()))
        }
        _ => Ok(()),
    }
}

/// Copies a directory and its subdirectories.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", from.display());
    std::fs::create_dir_all(to).map_err(told)?;
    for entry in std::fs::read_dir(from).map_err(told)? {
        let entry = entry.map_err(told)?;
        let to = to.join(entry.file_name());
        if entry.file_type().map_err(told)?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), &to).map_err(told)?;
        }
    }
    Ok(())
}

/// The factor by which the first compared engine is faster than another one.
pub fn comparison(first: &[Sample], other: &[Sample]) -> Option<Comparison> {
    let ratios: Vec<f64> = first
        .iter()
        .zip(other)
        .map(|(first, other)| other.nanos / first.nanos)
        .collect();
    Comparison::new(&ratios, MARGIN)
}

/// The verdict on the first compared engine against the second.
pub fn verdict(samples: &Samples) -> Option<Verdict> {
    Some(comparison(samples.first()?, samples.get(1)?)?.verdict)
}

/// The median of a figure over the rounds that have the figure.
fn of(samples: &[Sample], figure: fn(&Sample) -> f64) -> Option<f64> {
    let figures: Vec<f64> = samples
        .iter()
        .map(figure)
        .filter(|number| !number.is_nan())
        .collect();
    (!figures.is_empty()).then(|| median(&figures))
}

/// A heading and the value below it; a dash without a value.
type Column = (&'static str, fn(&Sample) -> f64);
const COLUMNS: [Column; 3] = [
    ("disk/put", |sample| sample.storage_amplification),
    ("W-amp", |sample| sample.write_amplification),
    ("S-amp", |sample| sample.space_amplification),
];

/// The table of a workload: a row for each entrant, the ratio of each to the first; and the first against the
/// better of RocksDB's settings, if both are there.
pub fn report(benchmark: &str, entrants: &[Entrant], samples: &Samples) -> String {
    let mut text = format!(
        "{benchmark:<26} {:>10} {:>10} {:>8}",
        "ns/op", "CPU ns/op", "RSS MiB"
    );
    for (heading, _) in COLUMNS {
        text.push_str(&format!(" {heading:>8}"));
    }
    text.push_str("   ratio to the first (95% interval)\n");
    for (entrant, own) in entrants.iter().zip(samples) {
        text.push_str(&format!(
            "  {:<24} {:>10.1} {:>10.1} {:>8.0}",
            entrant.name,
            of(own, |sample| sample.nanos).unwrap_or(0.0),
            of(own, |sample| sample.cpu_nanos).unwrap_or(0.0),
            of(own, |sample| sample.peak_rss).unwrap_or(0.0) / 1_048_576.0,
        ));
        for (_, figure) in COLUMNS {
            let figure = of(own, figure).map_or_else(|| "-".to_owned(), |number| format!("{number:.2}"));
            text.push_str(&format!(" {figure:>8}"));
        }
        if !std::ptr::eq(own, &samples[0])
            && let Some(comparison) = comparison(&samples[0], own)
        {
            let words = comparison.words(&entrants[0].name, &entrant.name);
            text.push_str(&format!("   {comparison}  {words}"));
        }
        text.push('\n');
    }
    text.push_str(&against_rocksdb(entrants, samples).unwrap_or_default());
    text
}

/// One line of text: the factor by which the first engine is faster than RocksDB with the faster of its
/// settings, and the amplification of each.
fn against_rocksdb(entrants: &[Entrant], samples: &Samples) -> Option<String> {
    let first = samples.first()?;
    let is_rocksdb = |at: &usize| matches!(entrants[*at].engine, Kind::RocksDbTuned | Kind::RocksDbDefault);
    let theirs: Vec<usize> = (1..entrants.len()).filter(is_rocksdb).collect();
    let median_of = |at: &usize| of(&samples[*at], |sample| sample.nanos).unwrap_or(f64::INFINITY);
    let best = *theirs
        .iter()
        .min_by(|a, b| median_of(a).total_cmp(&median_of(b)))
        .filter(|_| theirs.len() > 1)?;
    let ratio = |figure: fn(&Sample) -> f64| Some(of(&samples[best], figure)? / of(first, figure)?);
    let mut text = format!(
        "  RocksDB at its best ({}): {:.2} times the time, {:.2} times the CPU",
        entrants[best].name,
        ratio(|sample| sample.nanos)?,
        ratio(|sample| sample.cpu_nanos)?
    );
    for (heading, figure) in COLUMNS {
        if let Some(ratio) = ratio(figure) {
            text.push_str(&format!(", {ratio:.2} times the {heading}"));
        }
    }
    text.push('\n');
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_engines() {
        let list = entrants("esker,rocksdb-tuned,esker", 0.1).unwrap();
        let names: Vec<&str> = list.iter().map(|entrant| entrant.name.as_str()).collect();
        assert_eq!(names, ["esker", "rocksdb-tuned", "esker#2+10%"]);
        assert_eq!(list[0].slow_down, 0.0);
        assert!(entrants("", 0.0).is_err());
        assert!(entrants("leveldb", 0.0).unwrap_err().contains("rocksdb-default"));
    }

    #[test]
    fn a_table_names_the_faster_one() {
        let list = entrants("esker,fjall", 0.0).unwrap();
        let row = |nanos: f64| {
            let sample = Sample {
                nanos,
                write_amplification: f64::NAN,
                ..Sample::default()
            };
            vec![sample; 8]
        };
        let text = report("readrandom", &list, &vec![row(100.0), row(250.0)]);
        assert!(
            text.contains("2.50 (2.50..2.50)  esker is better by 150%"),
            "{text}"
        );
        let text = report("readrandom", &list, &vec![row(100.0), row(100.0)]);
        assert!(text.contains("no difference"), "{text}");
    }

    #[test]
    fn the_better_settings_of_rocksdb_count() {
        let list = entrants("esker,rocksdb-tuned,rocksdb-default", 0.0).unwrap();
        let row = |nanos: f64, write: f64, space: f64| {
            let sample = Sample {
                nanos,
                cpu_nanos: nanos * 2.0,
                storage_amplification: f64::NAN,
                write_amplification: write,
                space_amplification: space,
                ..Sample::default()
            };
            vec![sample; 3]
        };
        let rows = vec![row(100.0, 2.0, 1.1), row(300.0, 9.0, 9.0), row(250.0, 3.0, 1.1)];
        let text = report("fillseq@2", &list, &rows);
        assert!(text.starts_with("fillseq@2 "), "{text}");
        assert!(
            text.ends_with(
                "RocksDB at its best (rocksdb-default): 2.50 times the time, 2.50 times the CPU, 1.50 times the W-amp, \
                 1.00 times the S-amp\n"
            ),
            "{text}"
        );
    }
}
