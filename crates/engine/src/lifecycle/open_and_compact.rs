//! The worker of a compaction service: runs a compaction of a database that another process has open for
//! writing, and writes its outputs to a directory of their own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::filename::{self, FileKind};
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, MAX_SEQNO, Result, UserComparator};
use compact::picker::files::plan_of_given_files;
use compact::{OutputRange, Plan};
use manifest::{MAX_PATH_ID, ManifestState, Version};

use crate::jobs::requests::manual_paused;
use crate::jobs::rewrite::{Rewrite, Written};
use crate::jobs::service_input::CompactionServiceInput;
use crate::jobs::service_result::{CompactionServiceResult, JobStats, OutputTable};
use crate::lifecycle::manifest_tail::ManifestTail;
use crate::lifecycle::moment::read_identity;
use crate::lifecycle::open::assemble_db;
use crate::lifecycle::secondary::again_while_it_changes;
use crate::log::InfoLog;
use crate::log::listeners::with_file_listeners;
use crate::options::check::check_options;
use crate::options::file::OptionsFile;
use crate::options::names::DEFAULT_COLUMN_FAMILY;
use crate::options::open_and_compact::{CompactionServiceOptionsOverride, OpenAndCompactOptions};
use crate::options::table::OptionTable;
use crate::options::text::{in_braces, pairs};
use crate::options::{ColumnFamilyOptions, CompactionStyle, DbPath, Options};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::handle::{Db, Handle};

impl Db {
    /// Runs the compaction `input`, which the [compaction service](crate::CompactionService) of the database
    /// in `path` was offered, as RocksDB's `OpenAndCompact` does. Returns the result for the service's
    /// [`wait`](crate::CompactionService::wait). Input and result have RocksDB's form, so that either side
    /// may be RocksDB.
    ///
    /// The database may be open in another process. Nothing is written to `path`, no WAL is read, and no
    /// table is opened but the inputs. The outputs, and a `LOG`, are written to `output_directory`, which is
    /// created if it does not exist. The options are those of the database's OPTIONS file, with the parts in
    /// `override_options`. After an error the outputs are deleted.
    ///
    /// # Errors
    /// `InvalidArgument` if `input` is damaged or names files that the database does not have;
    /// `NotSupported` for a family with blob files or with `preclude_last_level_data_seconds`, or for a part
    /// of the keys of a family with timestamps;
    /// `Incomplete` if the compaction was [canceled](OpenAndCompactOptions::canceled).
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use std::sync::{Arc, Mutex};
    ///
    /// use esker::{
    ///     CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus,
    ///     CompactionServiceOptionsOverride, CompactionServiceScheduleResponse, Db, OpenAndCompactOptions,
    ///     Options,
    /// };
    ///
    /// /// Runs the jobs in this process. A real service sends them to another one.
    /// struct Here(std::path::PathBuf, Mutex<Vec<u8>>);
    ///
    /// impl CompactionService for Here {
    ///     fn name(&self) -> &str {
    ///         "example.Here"
    ///     }
    ///
    ///     fn schedule(&self, _: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
    ///         *self.1.lock().unwrap() = input.to_vec();
    ///         CompactionServiceScheduleResponse {
    ///             scheduled_job_id: b"1".to_vec(),
    ///             status: CompactionServiceJobStatus::Success,
    ///         }
    ///     }
    ///
    ///     fn wait(&self, _: &[u8]) -> (CompactionServiceJobStatus, Vec<u8>) {
    ///         let (input, to) = (self.1.lock().unwrap().clone(), self.0.join("job-1"));
    ///         let options = OpenAndCompactOptions::default();
    ///         let own = CompactionServiceOptionsOverride::default();
    ///         match Db::open_and_compact(&options, self.0.join("db"), to, &input, &own) {
    ///             Ok(result) => (CompactionServiceJobStatus::Success, result),
    ///             Err(_) => (CompactionServiceJobStatus::UseLocal, Vec::new()),
    ///         }
    ///     }
    /// }
    ///
    /// let options = Options {
    ///     create_if_missing: true,
    ///     compaction_service: Some(Arc::new(Here(dir.path().to_owned(), Mutex::default()))),
    ///     ..Default::default()
    /// };
    /// let db = Db::open(&options, dir.path().join("db"))?;
    /// db.put(b"key", b"value")?;
    /// db.compact_range(None, None)?;
    /// assert_eq!(db.get(b"key")?.as_deref(), Some(&b"value"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_and_compact(
        options: &OpenAndCompactOptions,
        path: impl AsRef<Path>,
        output_directory: impl AsRef<Path>,
        input: &[u8],
        override_options: &CompactionServiceOptionsOverride,
    ) -> Result<Vec<u8>> {
        let canceled = options.canceled.as_ref();
        if canceled.is_some_and(|canceled| canceled.load(Ordering::Relaxed)) {
            return Err(manual_paused());
        }
        let input = CompactionServiceInput::decode(input)?;
        let worker = Worker::new(
            options,
            path.as_ref(),
            output_directory.as_ref(),
            input,
            override_options,
        )?;
        worker.prepare_directory()?;
        Ok(worker.run()?.encode())
    }
}

/// A compaction of a database that another process writes.
struct Worker<'a> {
    input: CompactionServiceInput,
    options: Options,
    job: &'a OpenAndCompactOptions,
    dir: &'a Path,
    output_dir: &'a Path,
    /// The index of the output directory among those of the family.
    path_id: u32,
    /// The value of `level_compaction_dynamic_level_bytes` of the family; false if the family has several
    /// directories.
    dynamic_levels: bool,
}

impl<'a> Worker<'a> {
    fn new(
        job: &'a OpenAndCompactOptions,
        dir: &'a Path,
        output_dir: &'a Path,
        input: CompactionServiceInput,
        own: &CompactionServiceOptionsOverride,
    ) -> Result<Worker<'a>> {
        let mut options = options_of(dir, &input, own)?;
        check_options(&options)?;
        if output_dir == dir || options.other_table_directories(dir).contains(output_dir) {
            return Err(Error::invalid_argument("outputs need a directory of their own").in_file(output_dir));
        }
        let database_paths = options.db_paths.clone();
        let family = family_mut(&mut options, &input.cf_name);
        let mut paths = match (family.cf_paths.is_empty(), database_paths.is_empty()) {
            (false, _) => family.cf_paths.clone(),
            (true, false) => database_paths,
            (true, true) => vec![DbPath::new(dir, u64::MAX)],
        };
        let dynamic_levels = family.level_compaction_dynamic_level_bytes && paths.len() == 1;
        // A file whose directory is not in the list is in the last one of the list.
        let last = paths[paths.len() - 1].clone();
        paths.resize(MAX_PATH_ID as usize + 1, last);
        paths.push(DbPath::new(output_dir, u64::MAX));
        let path_id = (paths.len() - 1) as u32;
        family.cf_paths = paths;
        Ok(Worker {
            input,
            options,
            job,
            dir,
            output_dir,
            path_id,
            dynamic_levels,
        })
    }

    /// Creates the output directory. Tables of an earlier attempt are deleted, if the caller expects them.
    fn prepare_directory(&self) -> Result<()> {
        self.options.fs.create_dir_all(self.output_dir)?;
        let mut names = self.options.fs.list(self.output_dir)?;
        names.retain(|name| matches!(filename::parse(name), Some(FileKind::Table(_))));
        match names.first() {
            Some(name) if !self.job.allow_resumption => Err(Error::invalid_argument(format!(
                "the output directory has a table already, {name}: allow_resumption deletes such tables"
            ))
            .in_file(self.output_dir)),
            _ => names
                .iter()
                .try_for_each(|name| self.options.fs.remove(&self.output_dir.join(name))),
        }
    }

    /// Opens the database, runs the compaction, and closes the database. A compaction that fails discards its
    /// outputs, which the close deletes.
    fn run(&self) -> Result<CompactionServiceResult> {
        let (options, dir) = (&self.options, self.dir);
        let read = || ManifestTail::default().read(options, dir);
        let recorded = self.needed_of(again_while_it_changes(options, dir, read)?)?;
        let log = Arc::new(InfoLog::open(options, self.output_dir));
        let inner = assemble_db(&with_file_listeners(options), dir, true, None, recorded, log)?;
        let db = Db(Arc::new(Handle {
            inner: Arc::new(inner),
            close: DbInner::close,
            primary: None,
        }));
        let result = catch_or_fail(|| self.compact(&db.0.inner));
        let closed = db.close();
        let result = result.map_err(|error| match error.kind() {
            ErrorKind::Aborted => manual_paused(),
            _ => error,
        })?;
        closed.map(|()| result)
    }

    /// The families of the worker's database: the default family, without which there is no database, and the
    /// family that is compacted.
    fn needed_of(&self, mut recorded: ManifestState) -> Result<ManifestState> {
        let id = match &recorded.db_id {
            Some(id) => Some(id.clone()),
            None => read_identity(&*self.options.fs, self.dir)?,
        };
        let wanted = &self.input.db_id;
        if let Some(id) = id.filter(|id| id != wanted && !wanted.is_empty()) {
            let message = format!("the compaction is one of database {wanted}, and this is {id}");
            return Err(Error::invalid_argument(message).in_file(self.dir));
        }
        let name = &self.input.cf_name;
        recorded
            .families
            .retain(|&id, family| id == 0 || family.name == *name);
        if recorded.families.values().all(|family| family.name != *name) {
            let message = format!("Column family not found: {name}");
            return Err(Error::invalid_argument(message));
        }
        Ok(recorded)
    }

    fn compact(&self, db: &DbInner) -> Result<CompactionServiceResult> {
        let not_found = || Error::new(ErrorKind::ColumnFamilyDropped, self.input.cf_name.clone());
        let family = db.family_by_name(&self.input.cf_name).ok_or_else(not_found)?;
        let mut current = ColumnFamilyOptions::clone(&family.current());
        current.level_compaction_dynamic_level_bytes = self.dynamic_levels;
        family.current.store(Arc::new(current));
        let (plan, version, full_history_ts_low) = {
            let mut state = db.state.lock();
            let numbers = self.numbers()?;
            let plan = db.with_pick_context(&state, family.id, |context| {
                plan_of_given_files(context, &numbers, self.input.output_level)
            });
            let plan = plan.ok_or_else(not_found)??;
            let own = state.family_mut(family.id)?;
            (
                self.completed(plan, &family),
                own.version.clone(),
                own.full_history_ts_low.clone(),
            )
        };
        self.check_supported(&family, &version)?;
        let begun = db.options.clock.now();
        let mut snapshots = self.input.snapshots.clone();
        snapshots.sort_unstable();
        snapshots.dedup();
        snapshots.retain(|&seqno| seqno <= MAX_SEQNO);
        let part = OutputRange {
            start: self.input.begin.as_deref(),
            end: self.input.end.as_deref(),
        };
        let rewrite = Rewrite::new(db, &family, &version, &plan, db.new_job(), full_history_ts_low)?;
        let written = rewrite.keeping(snapshots).within(part).run(1)?;
        let elapsed = db.options.clock.now().saturating_sub(begun);
        self.result(&family, &plan, &written, elapsed.as_micros() as u64)
    }

    /// The numbers of the input files.
    fn numbers(&self) -> Result<Vec<u64>> {
        let number = |name: &String| match filename::parse(name) {
            Some(FileKind::Table(number)) => Ok(number),
            _ => Err(Error::invalid_argument(format!(
                "input file {name} is not a table"
            ))),
        };
        self.input.input_files.iter().map(number).collect()
    }

    /// Returns `plan` with the parts that the caller decides, or that depend on the family.
    fn completed(&self, mut plan: Plan, family: &Family) -> Plan {
        plan.output_path_id = Some(self.path_id);
        plan.canceled.clone_from(&self.job.canceled);
        if family.reserves_last_level || family.options.compaction_style == CompactionStyle::Fifo {
            plan.keep_for_what_comes_below();
        }
        plan
    }

    fn check_supported(&self, family: &Family, version: &Version) -> Result<()> {
        if family.current().enable_blob_files || !version.blob_files().is_empty() {
            return Err(Error::not_supported(
                "a remote compaction of a family with blob files",
            ));
        }
        if family.current().preclude_last_level_data_seconds > 0 {
            return Err(Error::not_supported(
                "a remote compaction of a family with preclude_last_level_data_seconds",
            ));
        }
        let is_part = self.input.begin.is_some() || self.input.end.is_some();
        if is_part && family.cmp.user().timestamp_size() > 0 {
            let message = "a remote compaction of a part of the keys of a family with timestamps";
            return Err(Error::not_supported(message));
        }
        Ok(())
    }

    fn result(
        &self,
        family: &Family,
        plan: &Plan,
        written: &Written,
        elapsed_micros: u64,
    ) -> Result<CompactionServiceResult> {
        let outputs = written.files.iter().map(|(_, file)| {
            family.tables.with_table(file, |table| {
                Ok(OutputTable {
                    file_name: format!("{:06}.sst", file.number),
                    file_size: file.size,
                    smallest_seqno: file.smallest_seqno,
                    largest_seqno: file.largest_seqno,
                    smallest: file.smallest.to_vec(),
                    largest: file.largest.to_vec(),
                    oldest_ancestor_time: file.oldest_ancestor_time,
                    file_creation_time: file.file_creation_time,
                    epoch_number: file.epoch_number.unwrap_or(0),
                    file_checksum: file.file_checksum.clone(),
                    marked_for_compaction: file.marked_for_compaction,
                    unique_id: file.unique_id,
                    is_proximal_level_output: false,
                    temperature: file.temperature,
                    properties: table.properties().clone(),
                })
            })
        });
        let output_files: Vec<OutputTable> = outputs.collect::<Result<_>>()?;
        let mut num_input_records = 0;
        for (_, file) in plan.files() {
            num_input_records += family
                .tables
                .with_table(file, |table| Ok(table.properties().num_entries))?;
        }
        let at_output_level = plan.inputs.iter().find(|input| input.level == plan.output_level);
        let rows = |output: &OutputTable| {
            let properties = &output.properties;
            properties
                .num_entries
                .saturating_sub(properties.num_range_deletions)
        };
        Ok(CompactionServiceResult {
            status: Ok(()),
            output_level: plan.output_level,
            output_path: self.output_dir.display().to_string(),
            bytes_read: plan.input_bytes(),
            bytes_written: output_files.iter().map(|output| output.file_size).sum(),
            stats: JobStats {
                elapsed_micros,
                cpu_micros: written.cpu.as_micros() as u64,
                num_input_records,
                num_input_files: plan.num_input_files() as u64,
                num_input_files_at_output_level: at_output_level.map_or(0, |input| input.files.len() as u64),
                num_output_records: output_files.iter().map(rows).sum(),
                output_level_bytes: at_output_level.map_or(0, compact::LevelFiles::bytes),
                is_full_compaction: plan.is_full_compaction,
            },
            output_files,
        })
    }
}

/// The options of a worker: the options in the OPTIONS file that the job names, with the worker's own parts.
fn options_of(
    dir: &Path,
    input: &CompactionServiceInput,
    own: &CompactionServiceOptionsOverride,
) -> Result<Options> {
    let given = &own.options;
    let file = OptionsFile::read(&*given.fs, &filename::options(dir, input.options_file_number))?;
    let (mut options, _) = file.options();
    for (name, text) in &own.options_map {
        set(&mut options, &input.cf_name, name, text)?;
    }
    options.fs = given.fs.clone();
    options.clock = given.clock.clone();
    options.db_paths.clone_from(&given.db_paths);
    options.rate_limiter.clone_from(&given.rate_limiter);
    options.statistics.clone_from(&given.statistics);
    options.listeners.clone_from(&given.listeners);
    options.info_log.clone_from(&given.info_log);
    options.file_checksum_gen_factory = given.file_checksum_gen_factory;
    options.row_limit = given.row_limit;
    // Info logs and WALs belong to the database that writes, so this process uses none of their directories.
    options.db_log_dir = String::new();
    options.wal_dir = String::new();
    // All tables stay open, so that each is opened once.
    options.max_open_files = -1;
    options.strict_options_file = false;
    options.column_families.retain(|name, _| *name == input.cf_name);
    take_objects(&mut options.column_family, given.family(DEFAULT_COLUMN_FAMILY));
    let of_family = given.family(&input.cf_name);
    let family = family_mut(&mut options, &input.cf_name);
    take_objects(family, of_family);
    if let Some(table) = &own.table {
        family.table = table.clone();
    }
    Ok(options)
}

fn family_mut<'o>(options: &'o mut Options, name: &str) -> &'o mut ColumnFamilyOptions {
    options
        .column_families
        .get_mut(name)
        .unwrap_or(&mut options.column_family)
}

/// Replaces the objects of `family` by those that are set in `given`.
fn take_objects(family: &mut ColumnFamilyOptions, given: &ColumnFamilyOptions) {
    if given.comparator != UserComparator::Bytewise {
        family.comparator = given.comparator.clone();
    }
    if given.merge_operator.is_some() {
        family.merge_operator.clone_from(&given.merge_operator);
    }
    if given.prefix_extractor.is_some() {
        family.prefix_extractor.clone_from(&given.prefix_extractor);
    }
    if given.sst_partitioner_factory.is_some() {
        family
            .sst_partitioner_factory
            .clone_from(&given.sst_partitioner_factory);
    }
    family.cf_paths.clone_from(&given.cf_paths);
    family
        .compaction_filter_factory
        .clone_from(&given.compaction_filter_factory);
    family
        .table_properties_collector_factories
        .clone_from(&given.table_properties_collector_factories);
    family
        .block_property_collector_factories
        .clone_from(&given.block_property_collector_factories);
    family.table.block_cache.clone_from(&given.table.block_cache);
}

/// Sets an option of the database, of family `family_name`, or of its tables. Unknown names are ignored.
fn set(options: &mut Options, family_name: &str, name: &str, text: &str) -> Result<()> {
    if Options::row(name).is_some() {
        return options.set(name, text);
    }
    let family = family_mut(options, family_name);
    if ColumnFamilyOptions::row(name).is_some() {
        return family.set(name, text);
    }
    if name == "block_based_table_factory" {
        for (name, text) in pairs(in_braces(text))? {
            family.table.set(name, text)?;
        }
    }
    Ok(())
}
