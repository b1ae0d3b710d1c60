//! Changes of options while the database is open.

use base::{Error, Result};

use crate::log::listeners::report_without_effect;
use crate::log::log_line;
use crate::options::check::check_options;
use crate::options::check::of_family;
use crate::options::check::wrong_with;
use crate::options::option_errors::OptionErrors;
use crate::options::table::{OptionRow, OptionTable};
use crate::options::{BlockBasedOptions, ColumnFamilyOptions, Options};
use crate::state::column_family::ColumnFamily;
use crate::state::db_inner::DbInner;
use crate::state::handle::Db;

impl Db {
    /// Changes options of `family` and of its tables, each by RocksDB's name and text, as in an OPTIONS file.
    /// A field of a composite option is set by `{size_ratio=3;}` or by
    /// `compaction_options_universal.size_ratio`; options of tables may also be inside
    /// `block_based_table_factory={...}`. The changes take effect at once: memtable sizes from the next
    /// memtable on, table formats for tables begun from now on. They are written to an OPTIONS file before
    /// the call returns.
    ///
    /// # Errors
    /// `InvalidArgument`, naming every impossible change and every contradiction: then nothing has changed.
    /// Options that cannot be changed while the database is open are impossible. An I/O error if the OPTIONS
    /// file could not be written; the changes are in effect nevertheless.
    pub fn set_options(&self, family: &ColumnFamily, changes: &[(&str, &str)]) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        inner.check_owns(&family.0)?;
        family.0.check_writable()?;
        let before = family.0.current();
        let result = inner.set_options(family, changes);
        inner.log_changes(
            &format!("SetOptions() on column family [{}]", family.name()),
            changes,
            &result,
        );
        result?;
        report_without_effect(
            family.name(),
            &family.0.current(),
            Some(&before),
            &inner.listeners,
        );
        inner.notify_stalls();
        inner.write_options_file()
    }

    /// Changes options of the database; see [`set_options`](Self::set_options).
    ///
    /// # Errors
    /// The errors of [`set_options`](Self::set_options).
    pub fn set_db_options(&self, changes: &[(&str, &str)]) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        let result = inner.set_db_options(changes);
        inner.log_changes("SetDBOptions()", changes, &result);
        let jobs = result?;
        if let Some(jobs) = jobs {
            self.0.inner.set_workers(jobs);
        }
        self.0
            .inner
            .set_verify_rate(inner.current.load().verify_rate_bytes_per_sec)?;
        inner.write_options_file()
    }

    /// The current options of the database: those of the open, with later changes.
    /// [`ColumnFamily::current_options`] has those of a family.
    pub fn current_options(&self) -> Options {
        Options::clone(&self.inner().current.load())
    }

    /// Enables automatic compactions of `families`, as `disable_auto_compactions=false` does.
    ///
    /// # Errors
    /// The errors of [`set_options`](Self::set_options).
    pub fn enable_auto_compaction(&self, families: &[ColumnFamily]) -> Result<()> {
        self.inner().check_open()?;
        families
            .iter()
            .try_for_each(|family| self.set_options(family, &[("disable_auto_compactions", "false")]))
    }
}

/// Sets `name` in `options`, if the option exists. False if it does not.
fn set<S: OptionTable + Clone>(wrong: &mut OptionErrors, options: &mut S, name: &str, value: &str) -> bool {
    // `options.field=value` means `options={field=value;}`.
    let (name, value) = match name.split_once('.') {
        Some((whole, field)) if S::row(whole).is_some() => (whole, format!("{{{field}={value};}}")),
        _ => (name, value.to_owned()),
    };
    let Some(row) = S::row(name) else {
        return false;
    };
    if let Err(error) = change(row, options, &value) {
        wrong.invalid(error);
    }
    true
}

fn unknown(wrong: &mut OptionErrors, name: &str) {
    wrong.invalid(format!("unknown option {name}"));
}

fn change<S: OptionTable>(
    row: &OptionRow<S>,
    options: &mut S,
    value: &str,
) -> std::result::Result<(), String> {
    if !row.mutable {
        return Err(format!("Option not changeable: {}", row.name));
    }
    // The range of the value is checked with all other options.
    (row.set)(options, value).ok_or_else(|| format!("{}={value}: expected {}", row.name, row.type_name))
}

/// The options of a family after `changes`.
fn changed_family(
    name: &str,
    now: &ColumnFamilyOptions,
    changes: &[(&str, &str)],
) -> Result<ColumnFamilyOptions> {
    let mut options = now.clone();
    let mut wrong = OptionErrors::default();
    for (name, value) in changes {
        let inner = value
            .trim()
            .strip_prefix('{')
            .and_then(|value| value.strip_suffix('}'));
        match (*name, inner) {
            ("block_based_table_factory" | "table_factory", Some(inner)) => {
                for entry in inner.split(';').filter(|entry| !entry.trim().is_empty()) {
                    let (name, value) = entry.split_once('=').unwrap_or((entry, ""));
                    if !set::<BlockBasedOptions>(&mut wrong, &mut options.table, name.trim(), value.trim()) {
                        unknown(&mut wrong, name.trim());
                    }
                }
            }
            _ => {
                if !set(&mut wrong, &mut options, name, value)
                    && !set(&mut wrong, &mut options.table, name, value)
                {
                    unknown(&mut wrong, name);
                }
            }
        }
    }
    // The check of all options also finds changed values that are impossible, and values that contradict each
    // other.
    wrong.take_all(wrong_with(&options), &of_family(name));
    wrong.result()?;
    Ok(options)
}

impl DbInner {
    fn set_options(&self, family: &ColumnFamily, changes: &[(&str, &str)]) -> Result<()> {
        self.check_changes(changes)?;
        let family = &family.0;
        let mut state = self.state.lock();
        state.check_writable()?;
        let options = changed_family(&family.name, &family.current(), changes)?;
        let records_times = options.recorded_seconds() > 0;
        let own = state.family_mut(family.id)?;
        family.set_current(options);
        own.running.forget_rewritten();
        own.install_super_version();
        let stall = self.record_stall(own);
        state.stall_events.extend(stall);
        self.wake_jobs_and_writers(&mut state);
        drop(state);
        if records_times {
            // The sample records that the rows written so far are at least as old as this change.
            self.record_seqno_time();
            self.obsolete.wake();
        }
        Ok(())
    }

    /// Returns the number of background jobs if it has changed.
    fn set_db_options(&self, changes: &[(&str, &str)]) -> Result<Option<usize>> {
        self.check_changes(changes)?;
        let mut state = self.state.lock();
        state.check_writable()?;
        let before = self.current.load_full();
        let mut options = Options::clone(&before);
        let mut wrong = OptionErrors::default();
        for (name, value) in changes {
            if !set(&mut wrong, &mut options, name, value) {
                unknown(&mut wrong, name);
            }
        }
        options.sanitize();
        wrong.take(check_options(&options));
        wrong.result()?;
        let jobs = options.max_background_jobs;
        let more = (jobs != before.max_background_jobs).then_some(jobs as usize);
        self.current.store(options.into());
        self.wake_jobs_and_writers(&mut state);
        drop(state);
        self.obsolete.wake();
        Ok(more)
    }

    fn check_changes(&self, changes: &[(&str, &str)]) -> Result<()> {
        if self.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        if changes.is_empty() {
            return Err(Error::invalid_argument("no option is named"));
        }
        Ok(())
    }

    /// Logs the changes of options and their outcome.
    fn log_changes<T>(&self, what: &str, changes: &[(&str, &str)], result: &Result<T>) {
        let changes: Vec<String> = changes
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        match result {
            Ok(_) => log_line!(self.log, Info, "{what} succeeded, inputs: {}", changes.join(", ")),
            Err(error) => log_line!(
                self.log,
                Warn,
                "{what} failed: {error}, inputs: {}",
                changes.join(", ")
            ),
        }
    }
}
