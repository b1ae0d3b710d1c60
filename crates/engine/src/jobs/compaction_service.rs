//! Compactions by another process: RocksDB's `CompactionService`. The job is offered in RocksDB's serialized
//! form, and the tables of its result are moved into the database.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::filename::{self, FileKind};
use base::user_code::{call, catch_or_fail};
use base::{Error, ErrorKind, Result, internal_key};
use compact::{CompactionReason, Plan};
use manifest::{FileMetadata, Version};
use sst::{BlockReadOptions, Table};

use crate::jobs::rewrite::{Written, compression_of};
use crate::jobs::service_input::CompactionServiceInput;
use crate::jobs::service_result::{CompactionServiceResult, OutputTable};
use crate::log::log_line;
use crate::options::compaction_service::CompactionServiceJobInfo;
use crate::options::compaction_service::CompactionServiceJobStatus;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;

impl DbInner {
    /// Offers `plan`, over `version`, to the service, if there is one. Returns the outputs, which are in the
    /// directory of the tables. `None`: the database must run the compaction itself.
    ///
    /// # Errors
    /// The errors with which the service has ended the compaction.
    pub(crate) fn offer_to_service(
        &self,
        family: &Arc<Family>,
        version: &Version,
        plan: &Plan,
        job: u64,
    ) -> Result<Option<Written>> {
        let Some(service) = &self.options.compaction_service else {
            return Ok(None);
        };
        if !can_be_offered(family, version, plan) {
            return Ok(None);
        }
        let info = self.job_info(family, plan, job);
        let input = self.service_input(family, plan)?;
        let name = || service.name();
        let response = call("compaction service", name, || service.schedule(&info, &input));
        match response.status {
            CompactionServiceJobStatus::UseLocal => return Ok(None),
            CompactionServiceJobStatus::Success => {}
            CompactionServiceJobStatus::Aborted => {
                return Err(aborted("Scheduling a remote compaction job was aborted"));
            }
            CompactionServiceJobStatus::Failure => {
                return Err(incomplete(
                    "CompactionService failed to schedule a remote compaction job.",
                ));
            }
        }
        let id = &response.scheduled_job_id[..];
        let (status, bytes) = call("compaction service", name, || service.wait(id));
        let result = match status {
            CompactionServiceJobStatus::UseLocal => return Ok(None),
            CompactionServiceJobStatus::Aborted => {
                return Err(aborted("Waiting a remote compaction job was aborted"));
            }
            CompactionServiceJobStatus::Failure => return Err(failure(&bytes)),
            CompactionServiceJobStatus::Success => CompactionServiceResult::decode(&bytes),
        };
        let installed = |status| call("compaction service", name, || service.on_installation(id, status));
        match result.and_then(|result| self.take_result(family, version, plan, result)) {
            Ok(Ok(written)) => {
                installed(CompactionServiceJobStatus::Success);
                Ok(Some(written))
            }
            Ok(Err(of_worker)) => {
                installed(CompactionServiceJobStatus::Failure);
                Err(of_worker)
            }
            Err(unusable) => {
                let (family, name) = (&family.name, service.name());
                log_line!(
                    self.log,
                    Warn,
                    "[{family}] [JOB {job}] The result of compaction service {name} is unusable, so the compaction runs here: {unusable}"
                );
                installed(CompactionServiceJobStatus::UseLocal);
                Ok(None)
            }
        }
    }

    fn job_info(&self, family: &Family, plan: &Plan, job: u64) -> CompactionServiceJobInfo {
        CompactionServiceJobInfo {
            db_name: self.dir.display().to_string(),
            db_id: self.identity.db_id.clone(),
            db_session_id: self.identity.session_id.clone(),
            cf_id: family.id,
            cf_name: family.name.clone(),
            job_id: job,
            compaction_reason: plan.reason,
            is_full_compaction: plan.is_full_compaction,
            is_manual_compaction: plan.reason == CompactionReason::ManualCompaction,
            bottommost_level: plan.bottommost,
            base_input_level: plan.start_level(),
            output_level: plan.output_level,
        }
    }

    /// The job as RocksDB's `CompactionServiceInput`. The compaction is one job for its whole key range.
    fn service_input(&self, family: &Family, plan: &Plan) -> Result<Vec<u8>> {
        let names = self.options.fs.list(&self.dir)?;
        let options_file = names.iter().filter_map(|name| match filename::parse(name) {
            Some(FileKind::Options(number)) => Some(number),
            _ => None,
        });
        let files = plan.files().map(|(_, file)| format!("{:06}.sst", file.number));
        let input = CompactionServiceInput {
            cf_name: family.name.clone(),
            snapshots: self.snapshots.seqnos(),
            input_files: files.collect(),
            output_level: plan.output_level,
            db_id: self.identity.db_id.clone(),
            begin: None,
            end: None,
            options_file_number: options_file.max().unwrap_or(0),
        };
        Ok(input.encode())
    }

    /// Moves the tables of `result` into the database. The inner error is the one with which the worker has
    /// ended the compaction.
    ///
    /// # Errors
    /// The reason for which the result cannot be used; no table of it is then in the database.
    fn take_result(
        &self,
        family: &Arc<Family>,
        version: &Version,
        plan: &Plan,
        result: CompactionServiceResult,
    ) -> Result<Result<Written>> {
        if let Err(error) = result.status {
            return Ok(Err(error));
        }
        check_result(family, plan, &result)?;
        let mut taken = Vec::new();
        let files = catch_or_fail(|| {
            let from = Path::new(&result.output_path);
            let outputs = result.output_files.iter();
            let files: Vec<Arc<FileMetadata>> = outputs
                .map(|output| self.take_table(family, plan, from, output, &mut taken))
                .collect::<Result<_>>()?;
            if !files.is_empty() {
                self.options
                    .fs
                    .sync_dir(family.paths.dir(family.path_of(plan, plan.output_level)))?;
            }
            Ok(files)
        });
        let files = files.inspect_err(|_| taken.into_iter().for_each(|path| self.obsolete.add(path)))?;
        for file in &files {
            self.on_add_file(|| family.paths.table(file), file.size);
        }
        Ok(Ok(Written {
            files: files.into_iter().map(|file| (plan.output_level, file)).collect(),
            blob_garbage: Vec::new(),
            blob_files: Vec::new(),
            blob_bytes_read: 0,
            subcompactions: 1,
            cpu: Duration::from_micros(result.stats.cpu_micros),
            compression: compression_of(family, version, plan, plan.output_level),
        }))
    }

    /// Moves a table into the database under a new number, and opens it. The path is added to `taken` before
    /// the table may exist there.
    fn take_table(
        &self,
        family: &Arc<Family>,
        plan: &Plan,
        from: &Path,
        output: &OutputTable,
        taken: &mut Vec<PathBuf>,
    ) -> Result<Arc<FileMetadata>> {
        let fs = &self.options.fs;
        let mut file = FileMetadata {
            number: self.versions.new_file_number(),
            path_id: family.path_of(plan, plan.output_level),
            smallest: output.smallest[..].into(),
            largest: output.largest[..].into(),
            smallest_seqno: output.smallest_seqno,
            largest_seqno: output.largest_seqno,
            marked_for_compaction: output.marked_for_compaction,
            oldest_ancestor_time: output.oldest_ancestor_time,
            file_creation_time: output.file_creation_time,
            temperature: output.temperature,
            file_checksum: output.file_checksum.clone(),
            // The order of epochs among the outputs and the remaining L0 files must stay that of the inputs.
            epoch_number: plan.files().map(|(_, file)| file.epoch_number).min().flatten(),
            ..FileMetadata::default()
        };
        let path = family.paths.table(&file);
        taken.push(path.clone());
        fs.rename(&from.join(&output.file_name), &path)?;
        file.size = fs.size(&path)?;
        if output.file_size != 0 && output.file_size != file.size {
            let message = format!("{} bytes, and not {}", file.size, output.file_size);
            return Err(unusable(&output.file_name, &message));
        }
        let mut properties = None;
        family.tables.open_written(&file, |table| {
            check_table(family, table, output)?;
            properties = Some(table.properties().clone());
            Ok(())
        })?;
        if let Some(properties) = properties {
            file.unique_id = properties.unique_id();
            file.min_timestamp = properties.timestamp_min.into();
            file.max_timestamp = properties.timestamp_max.into();
        }
        Ok(Arc::new(file))
    }
}

/// True if RocksDB's form of a job has everything that a worker must know about `plan`.
fn can_be_offered(family: &Family, version: &Version, plan: &Plan) -> bool {
    let has_blobs = family.current().enable_blob_files || !version.blob_files().is_empty();
    !has_blobs && plan.upper.is_none() && plan.trim_ts.is_none() && !plan.overrides_output()
}

/// An error unless the tables of `result` may be the outputs of `plan`: in order, and within the key range
/// of the inputs.
fn check_result(family: &Family, plan: &Plan, result: &CompactionServiceResult) -> Result<()> {
    if result.output_level != plan.output_level {
        let message = format!(
            "written for level {}, not {}",
            result.output_level, plan.output_level
        );
        return Err(Error::invalid_argument(message));
    }
    let newest = plan
        .files()
        .map(|(_, file)| file.largest_seqno)
        .max()
        .unwrap_or(0);
    let user = family.cmp.user();
    let mut before: Option<&OutputTable> = None;
    for output in &result.output_files {
        let refuse = |reason: &str| Err(unusable(&output.file_name, reason));
        if !matches!(filename::parse(&output.file_name), Some(FileKind::Table(_))) {
            return refuse("not the name of a table");
        }
        if output.is_proximal_level_output {
            return refuse("there is no level for hot rows above the last one");
        }
        if output.smallest.len() < internal_key::TRAILER_LEN
            || output.largest.len() < internal_key::TRAILER_LEN
        {
            return refuse("a bound is no internal key");
        }
        let (smallest, largest) = (
            internal_key::user_key(&output.smallest),
            internal_key::user_key(&output.largest),
        );
        let is_within = user.compare(&plan.smallest_user_key, smallest).is_le()
            && user.compare(largest, &plan.largest_user_key).is_le();
        if !is_within || family.cmp.compare(&output.smallest, &output.largest).is_gt() {
            return refuse("its keys are not within those of the inputs");
        }
        if output.smallest_seqno > output.largest_seqno || output.largest_seqno > newest {
            return refuse("its sequence numbers are not those of the inputs");
        }
        if before.is_some_and(|before| family.cmp.compare(&before.largest, &output.smallest).is_ge()) {
            return refuse("its keys overlap those of the table before");
        }
        before = Some(output);
    }
    Ok(())
}

/// An error unless `table` is the table that `output` describes.
fn check_table(family: &Family, table: &Arc<Table>, output: &OutputTable) -> Result<()> {
    let refuse = |reason: &str| Err(unusable(&output.file_name, reason));
    let id = table.properties().unique_id();
    if output.unique_id.is_some() && id.is_some() && output.unique_id != id {
        return refuse("it is another table");
    }
    let mut rows = table.cursor(BlockReadOptions {
        fill_cache: false,
        ..BlockReadOptions::default()
    });
    rows.seek_to_first();
    if rows.valid() && family.cmp.compare(rows.key(), &output.smallest).is_lt() {
        return refuse("its first row is before its bounds");
    }
    rows.status()?;
    rows.seek_to_last();
    if rows.valid() && family.cmp.compare(&output.largest, rows.key()).is_lt() {
        return refuse("its last row is behind its bounds");
    }
    rows.status()
}

fn unusable(file_name: &str, reason: &str) -> Error {
    Error::corruption(format!("output {file_name}: {reason}"))
}

/// The error of a job that has failed, from its result, if there is one.
fn failure(result: &[u8]) -> Error {
    match CompactionServiceResult::decode(result) {
        Ok(CompactionServiceResult {
            status: Err(error), ..
        }) => error,
        Ok(_) => incomplete(
            "CompactionService failed to run the compaction job (even though the internal status is okay).",
        ),
        Err(_) => incomplete(
            "CompactionService failed to run the compaction job (and no valid result is returned).",
        ),
    }
}

fn aborted(message: &str) -> Error {
    Error::new(ErrorKind::Aborted, message)
}

fn incomplete(message: &str) -> Error {
    Error::new(ErrorKind::Incomplete, message)
}
