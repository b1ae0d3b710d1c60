//! The commands that control background work, options and faults.

use std::path::Path;
use std::time::Duration;

use esker::option_table::OptionTable;
use esker::{
    BlockBasedOptions, CheckpointOptions, ColumnFamilyOptions, Db, FlushOptions, Options, OptionsFile, Result,
};
use testkit::datadriven::TestCase;
use vfs::{Action, Op, Rule};

use super::session::Session;
use super::text::{
    flag, list, misuse, optional, optional_bytes, optional_timestamp, required, show_timestamp,
};

/// The operations that a script can make fail.
const FAULTY: [Op; 10] = [
    Op::Open,
    Op::Create,
    Op::Rename,
    Op::Remove,
    Op::Link,
    Op::SyncDir,
    Op::Read,
    Op::Append,
    Op::Sync,
    Op::Close,
];

/// Commands that are one call of the database. None: no such command.
fn call(db: &Db, command: &str) -> Option<Result<()>> {
    let infallible: Option<fn(&Db)> = match command {
        "disable_manual_compaction" => Some(Db::disable_manual_compaction),
        "abort_compactions" => Some(Db::abort_all_compactions),
        "disable_file_deletions" => Some(Db::disable_file_deletions),
        "reset_stats" => Some(Db::reset_stats),
        _ => None,
    };
    if let Some(call) = infallible {
        call(db);
        return Some(Ok(()));
    }
    Some(match command {
        "pause" => db.pause_background_work(),
        "continue" => db.continue_background_work(),
        "cancel_background_work" => db.cancel_all_background_work(true),
        "enable_manual_compaction" => db.enable_manual_compaction(),
        "resume_compactions" => db.resume_all_compactions(),
        "enable_file_deletions" => db.enable_file_deletions(),
        "wait_for_purge" => db.wait_for_purge(),
        "lock_wal" => db.lock_wal(),
        "unlock_wal" => db.unlock_wal(),
        "sync_wal" => db.sync_wal(),
        "flush_wal" => db.flush_wal(false),
        "resume" => db.resume(),
        "verify_file_checksums" => db.verify_file_checksums(),
        "catch_up" => db.try_catch_up_with_primary(),
        _ => return None,
    })
}

/// The text of an option of the database, of a family or of its tables.
fn option_text(options: &Options, family: &ColumnFamilyOptions, name: &str) -> Option<String> {
    let of_database = Options::row(name).map(|row| (row.get)(options));
    let of_family = || ColumnFamilyOptions::row(name).map(|row| (row.get)(family));
    let of_tables = || BlockBasedOptions::row(name).map(|row| (row.get)(&family.table));
    of_database.or_else(of_family).or_else(of_tables)
}

impl Session {
    /// Runs a command that is one call of the database, if it is one.
    pub(super) fn call(&self, case: &mut TestCase) -> Option<Result<()>> {
        let done = match self.db() {
            Ok(db) => call(db, &case.directive)?,
            Err(error) => Err(error),
        };
        let settles = ["continue", "resume_compactions", "unlock_wal"].contains(&&*case.directive);
        Some(done.and_then(|()| if settles { self.settle(case) } else { Ok(()) }))
    }

    /// Flushes families.
    pub(super) fn flush(&self, case: &mut TestCase) -> Result<()> {
        let families = self.families(case)?;
        let options = FlushOptions {
            wait: !flag(case, "begin"),
            // By default a flush does not wait for compactions, which a script may pause.
            allow_write_stall: !flag(case, "wait_for_stall"),
            listener_wait: flag(case, "listener_wait"),
            ..FlushOptions::default()
        };
        self.db()?.flush_cf_opt(&families, &options)?;
        match options.wait {
            true => self.settle(case),
            false => Ok(()),
        }
    }

    /// Changes options of the open database, or of a family.
    pub(super) fn change_options(&self, case: &mut TestCase) -> Result<()> {
        let changes = case.input.lines().filter_map(|line| line.split_once('='));
        let changes: Vec<(&str, &str)> = changes.collect();
        match &*case.directive {
            "set_db_options" => self.db()?.set_db_options(&changes)?,
            _ => {
                let changes: Vec<(String, String)> = changes
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect();
                let changes: Vec<(&str, &str)> =
                    changes.iter().map(|(name, value)| (&**name, &**value)).collect();
                let family = self.family(case)?;
                self.db()?.set_options(&family, &changes)?;
            }
        }
        self.settle(case)
    }

    /// Prints options: those in force, those of the open, or those of the newest OPTIONS file.
    pub(super) fn print_options(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = if flag(case, "stored") {
            let name: Option<String> = optional(case, "cf")?;
            let newest = OptionsFile::newest(&self.fs, Path::new(&self.path))?;
            let (_, file) = newest.ok_or_else(|| misuse("no OPTIONS file"))?;
            let options = file.options().0;
            let family = match name {
                Some(name) => options.column_families.get(&name).cloned().unwrap_or_default(),
                None => options.column_family.clone(),
            };
            (options, family)
        } else {
            let family = self.family(case)?;
            match flag(case, "opened") {
                true => (self.db()?.options().clone(), family.options().clone()),
                false => (self.db()?.current_options(), family.current_options()),
            }
        };
        for name in case.input.lines() {
            let text = option_text(&options, &family, name);
            let text = text.ok_or_else(|| misuse(format!("no option {name}")))?;
            out.push_str(&format!("{name}={text}\n"));
        }
        Ok(())
    }

    /// Suggests the compaction of a range, or of files.
    pub(super) fn suggest(&self, case: &mut TestCase) -> Result<()> {
        let family = self.family(case)?;
        if flag(case, "files") {
            let chosen = self.chosen(case, &family)?;
            self.db()?.suggest_compact_files(&family, &chosen)?;
        } else {
            let (begin, end) = (optional_bytes(case, "begin")?, optional_bytes(case, "end")?);
            self.db()?
                .suggest_compact_range(&family, begin.as_deref(), end.as_deref())?;
        }
        self.settle(case)
    }

    /// Moves the clock of `new clock`.
    pub(super) fn advance(&self, case: &mut TestCase) -> Result<()> {
        let clock = self.clock.as_ref().ok_or_else(|| misuse("no clock"))?;
        let secs = optional::<u64>(case, "secs")?.map(Duration::from_secs);
        let micros = optional::<u64>(case, "micros")?.map(Duration::from_micros);
        clock.advance(secs.or(micros).ok_or_else(|| misuse("secs= or micros="))?);
        Ok(())
    }

    /// Raises the lowest timestamp that is read, or prints it.
    pub(super) fn history(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (db, family) = (self.db()?, self.family(case)?);
        if let Some(low) = optional_timestamp(case, "low")? {
            return db.increase_full_history_ts_low(&family, &low);
        }
        if flag(case, "newest") {
            let newest = db.newest_user_defined_timestamp(&family)?;
            out.push_str(&newest.map_or("none".to_owned(), |newest| newest.to_string()));
            return Ok(());
        }
        out.push_str(&show_timestamp(&db.full_history_ts_low(&family)?));
        Ok(())
    }

    /// Copies the database to a checkpoint.
    pub(super) fn checkpoint(&self, case: &mut TestCase) -> Result<()> {
        let mut options = CheckpointOptions::default();
        if let Some(size) = optional(case, "log_size_for_flush")? {
            options.log_size_for_flush = size;
        }
        let to: String = required(case, "to")?;
        let to = format!("/{to}");
        self.db()?.create_checkpoint(to, &options).map(drop)
    }

    /// Makes operations of the file system fail.
    pub(super) fn fault(&self, case: &mut TestCase) -> Result<()> {
        let ops: Vec<String> = list(case, "op")?;
        let op = |name: &String| {
            let found = FAULTY.into_iter().find(|op| op.name() == name);
            found.ok_or_else(|| misuse(format!("no operation {name}")))
        };
        let ops = ops.iter().map(op).collect::<Result<Vec<Op>>>()?;
        let kind = match optional::<String>(case, "kind")?.as_deref() {
            None | Some("Io") => esker::ErrorKind::Io,
            Some("NoSpace") => esker::ErrorKind::NoSpace,
            Some(other) => return Err(misuse(format!("unknown kind={other}"))),
        };
        let mut rule = Rule::new(Action::Fail(kind))
            .on(ops)
            .skip(optional(case, "skip")?.unwrap_or(0))
            .times(optional(case, "times")?.unwrap_or(u64::MAX));
        if let Some(part) = optional::<String>(case, "path")? {
            rule = rule.path_contains(part);
        }
        self.faults.add(rule);
        Ok(())
    }
}
