//! Predictions: a workload under several sets of options.

mod sets;
mod start;
mod trace;

use std::path::Path;

use advise::{Machine, Prediction, Workload, WorkloadBuilder, predict};
use base::{Error, ErrorKind, Progress};
use esker::{ColumnFamilyOptions, DEFAULT_COLUMN_FAMILY, Options, OptionsFile};
use manifest::FamilyState;

use crate::args::AdviseArgs;
use crate::directory;
use crate::output::{Failure, Out};
use crate::report::{Cell, Report};
use sets::Set;
use start::Start;

/// Rows of a replay, at most, unless the user asks for more.
const ROWS: u64 = 10_000_000;

/// Replays a workload under several sets of options, and prints the predicted amounts.
pub fn advise(args: &AdviseArgs, out: &mut Out, progress: &Progress) -> Result<(), Failure> {
    directory::check_is_database(&args.dir)?;
    let state = directory::manifest_state(&directory::current_manifest(&args.dir)?)?;
    let name = args.column_family.as_deref().unwrap_or(DEFAULT_COLUMN_FAMILY);
    let family = state.family(name).ok_or_else(|| {
        Error::new(ErrorKind::NotFound, format!("no column family {name}")).in_file(&args.dir)
    })?;
    if family.comparator.timestamp_size() > 0 {
        let message = format!("column family {name} has timestamps, which no replay models");
        return Err(Error::not_supported(message).in_file(&args.dir).into());
    }
    let options = options_of(&args.dir)?;
    let own = family_options(&options, name).clone();
    // The sets of options are parsed before the tables are read, so that a wrong set costs no time.
    let sets = sets::sets(&own, &args.set)?;
    let start = Start::new(&args.dir, &options, family)?;
    let one_in = args
        .one_in
        .unwrap_or_else(|| start.entries().div_ceil(ROWS))
        .max(1);
    let mut builder = WorkloadBuilder::new(family.comparator.clone(), one_in);
    start.read(&mut builder, progress)?;
    add_operations(args, family, &mut builder)?;
    let workload = builder.finish();
    let machine = Machine {
        compaction_bytes_per_second: args.compaction_bytes_per_second,
        compactions_at_once: compactions_at_once(&options),
        table_bytes_per_raw_byte: start.table_bytes_per_raw_byte(),
        ..Machine::default()
    };
    let mut predictions = Vec::new();
    for set in &sets {
        progress.check()?;
        predictions.push(predict(&workload, &set.options, &machine));
    }
    let report = report(&workload, one_in, &machine, &sets, &predictions);
    match args.json {
        true => report.write_json(out),
        false => report.write_text(out),
    }
}

/// The options of the newest OPTIONS file in `dir`, or the defaults if there is none.
fn options_of(dir: &Path) -> Result<Options, Failure> {
    let file = OptionsFile::newest(&directory::fs(), dir)?;
    Ok(file.map(|(_, file)| file.options().0).unwrap_or_default())
}

fn family_options<'a>(options: &'a Options, name: &str) -> &'a ColumnFamilyOptions {
    let other = options.column_families.get(name);
    other.unwrap_or(&options.column_family)
}

/// RocksDB's division of `max_background_jobs`: a quarter flushes.
fn compactions_at_once(options: &Options) -> usize {
    let jobs = options.max_background_jobs.max(1) as usize;
    (jobs - (jobs / 4).max(1)).max(1)
}

fn add_operations(
    args: &AdviseArgs,
    family: &FamilyState,
    builder: &mut WorkloadBuilder,
) -> Result<(), Failure> {
    if args.workload.as_os_str() != "mixgraph" {
        return trace::read(&args.workload, family.id, builder);
    }
    if !builder.has_keys() {
        let message = "mixgraph reads and writes the keys of the tables, and there is no table";
        return Err(Error::invalid_argument(message).in_file(&args.dir).into());
    }
    builder.mixgraph(args.operations, args.operations_per_second, args.seed);
    Ok(())
}

fn report(
    workload: &Workload,
    one_in: u64,
    machine: &Machine,
    sets: &[Set],
    predictions: &[Prediction],
) -> Report {
    let mut report = Report::default();
    report.facts.extend([
        ("rows at the beginning", Cell::Number(workload.rows() * one_in)),
        ("operations", Cell::Number(workload.operations() * one_in)),
        ("one key of", Cell::Number(one_in)),
        (
            "bytes of tables for a raw byte",
            Cell::Ratio(machine.table_bytes_per_raw_byte),
        ),
        (
            "compactions at once",
            Cell::Number(machine.compactions_at_once as u64),
        ),
    ]);
    if workload.passed_over() > 0 {
        let passed_over = Cell::Number(workload.passed_over());
        report.facts.push(("operations without a model", passed_over));
    }
    let there = |amount: &&Amount| predictions.iter().any(amount.is_there);
    let amounts: Vec<&Amount> = AMOUNTS.iter().filter(there).collect();
    let row = |(set, prediction): (&Set, &Prediction)| {
        let cells = amounts.iter().map(|amount| amount.cell(prediction));
        std::iter::once(Cell::Text(set.name.clone()))
            .chain(cells)
            .collect()
    };
    let rows = sets.iter().zip(predictions).map(row).collect();
    let names = amounts.iter().map(|amount| amount.name);
    let columns: Vec<_> = std::iter::once("options").chain(names).collect();
    report.table("amplification", &columns, rows, None);
    let least = amounts
        .iter()
        .filter_map(|amount| least(amount, sets, predictions));
    report.table("least", &["of", "options", "change"], least.collect(), None);
    report
}

/// An amount of a prediction.
struct Amount {
    name: &'static str,
    of: fn(&Prediction) -> f64,
    /// The amount is a share of the time, and not a ratio.
    is_share: bool,
    /// False if the workload has none of the operations that the amount is about.
    is_there: fn(&Prediction) -> bool,
}

impl Amount {
    const fn ratio(
        name: &'static str,
        of: fn(&Prediction) -> f64,
        is_there: fn(&Prediction) -> bool,
    ) -> Amount {
        Amount {
            name,
            of,
            is_share: false,
            is_there,
        }
    }

    fn cell(&self, prediction: &Prediction) -> Cell {
        let amount = (self.of)(prediction);
        if self.is_share {
            Cell::Share(amount)
        } else {
            Cell::Ratio(amount)
        }
    }
}

const AMOUNTS: [Amount; 7] = [
    Amount::ratio("write", Prediction::write_amplification, |_| true),
    Amount::ratio("space", Prediction::space_amplification, |_| true),
    Amount::ratio("peak space", Prediction::peak_space_amplification, |_| true),
    Amount::ratio("tables per get", Prediction::tables_per_get, |it| it.gets > 0),
    Amount::ratio("blocks per get", Prediction::blocks_per_get, |it| it.gets > 0),
    Amount::ratio("runs per seek", Prediction::runs_per_seek, |it| it.seeks > 0),
    Amount {
        name: "stalled",
        of: Prediction::stalled_share,
        is_share: true,
        is_there: |_| true,
    },
];

/// The set with the least of an amount; `None` if that is the first set, or one that has no less.
fn least(amount: &Amount, sets: &[Set], predictions: &[Prediction]) -> Option<Vec<Cell>> {
    let own = (amount.of)(predictions.first()?);
    let amounts = predictions.iter().map(amount.of);
    let (set, least) = sets.iter().zip(amounts).min_by(|a, b| a.1.total_cmp(&b.1))?;
    (least < own).then(|| {
        vec![
            Cell::Text(amount.name.to_owned()),
            Cell::Text(set.name.clone()),
            Cell::Share(least / own - 1.0),
        ]
    })
}
