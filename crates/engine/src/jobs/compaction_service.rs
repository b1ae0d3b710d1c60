//! Compactions by another process: RocksDB's `CompactionService`, with the job in RocksDB's serialized form.

use std::fmt::Write;

use base::filename::{self, FileKind};
use base::user_code::call;
use base::{Error, ErrorKind, Result};
use compact::{CompactionReason, Plan};

use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;

/// The answer of a service about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionServiceJobStatus {
    /// The job was accepted, or is done.
    Success,
    /// The job cannot be done: the compaction fails with `Incomplete`, and writes stop until the database is
    /// [resumed](crate::Db::resume).
    Failure,
    /// The job was cancelled: the compaction ends with `Aborted` and is picked again later.
    Aborted,
    /// The database must run the compaction itself.
    UseLocal,
}

/// A compaction that is offered to a service.
#[derive(Clone, Debug)]
pub struct CompactionServiceJobInfo {
    /// The directory of the database.
    pub db_name: String,
    /// The id of the database.
    pub db_id: String,
    /// The id of the database's session.
    pub db_session_id: String,
    /// The id of the family.
    pub cf_id: u32,
    /// The name of the family.
    pub cf_name: String,
    /// The number of the job in this session.
    pub job_id: u64,
    /// The reason for the compaction.
    pub compaction_reason: CompactionReason,
    /// True if all files of the family are inputs.
    pub is_full_compaction: bool,
    /// True if a user started the compaction.
    pub is_manual_compaction: bool,
    /// True if no older data is in its key range.
    pub bottommost_level: bool,
    /// The level of the newest inputs.
    pub base_input_level: usize,
    /// The level of the outputs.
    pub output_level: usize,
}

/// The answer of a service to a job.
#[derive(Clone, Debug)]
pub struct CompactionServiceScheduleResponse {
    /// The service's own id of the job, by which the database waits for it.
    pub scheduled_job_id: Vec<u8>,
    /// `Success`: the job was accepted, and the database waits for it.
    pub status: CompactionServiceJobStatus,
}

/// A service that is offered compactions before the database runs them: set by
/// [`Options::compaction_service`](crate::Options::compaction_service).
///
/// The job is passed as RocksDB's `CompactionServiceInput`. The database runs a job itself if the service
/// answers `UseLocal`. It also does so if a job ends with `Success`: outputs of other processes are not
/// installed, and the service gets `UseLocal` in [`on_installation`](Self::on_installation), as it does from
/// RocksDB for a result that cannot be read.
pub trait CompactionService: Send + Sync {
    /// The name of the service.
    fn name(&self) -> &str;

    /// Accepts or refuses a job. `input` is the job in RocksDB's serialized form. Called on the thread of the
    /// compaction, without locks. Trivial moves and deletions of whole files are not offered.
    fn schedule(&self, info: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse;

    /// Returns when the job has ended, with its result in RocksDB's serialized form. Called if
    /// [`schedule`](Self::schedule) returned `Success`.
    fn wait(&self, scheduled_job_id: &[u8]) -> (CompactionServiceJobStatus, Vec<u8>);

    /// Called when the database closes: pending calls of [`wait`](Self::wait) must return.
    fn cancel_awaiting_jobs(&self) {}

    /// Called after a job ended with `Success`, with the outcome of the installation of its result.
    fn on_installation(&self, _scheduled_job_id: &[u8], _status: CompactionServiceJobStatus) {}
}

/// RocksDB's version number of the text form, which precedes the text.
const OPTIONS_STRING: u32 = 1;

impl DbInner {
    /// Offers `plan` to the service, if there is one. Returns once the database must run it itself.
    ///
    /// # Errors
    /// The errors with which the service has ended the compaction.
    pub(crate) fn offer_to_service(&self, family: &Family, plan: &Plan, job: u64) -> Result<()> {
        let Some(service) = &self.options.compaction_service else {
            return Ok(());
        };
        let info = CompactionServiceJobInfo {
            db_name: self.dir.display().to_string(),
            db_id: self.db_id.clone(),
            db_session_id: self.session_id.clone(),
            cf_id: family.id,
            cf_name: family.name.clone(),
            job_id: job,
            compaction_reason: plan.reason,
            is_full_compaction: plan.is_full_compaction,
            is_manual_compaction: plan.reason == CompactionReason::ManualCompaction,
            bottommost_level: plan.bottommost,
            base_input_level: plan.start_level(),
            output_level: plan.output_level,
        };
        let input = self.service_input(family, plan)?;
        let name = || service.name();
        let response = call("compaction service", name, || service.schedule(&info, &input));
        match response.status {
            CompactionServiceJobStatus::UseLocal => return Ok(()),
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
        let (status, _) = call("compaction service", name, || service.wait(id));
        match status {
            CompactionServiceJobStatus::UseLocal => Ok(()),
            CompactionServiceJobStatus::Success => {
                let local = CompactionServiceJobStatus::UseLocal;
                call("compaction service", name, || service.on_installation(id, local));
                Ok(())
            }
            CompactionServiceJobStatus::Aborted => {
                Err(aborted("Waiting a remote compaction job was aborted"))
            }
            CompactionServiceJobStatus::Failure => Err(incomplete(
                "CompactionService failed to run the compaction job (and no valid result is returned).",
            )),
        }
    }

    /// The job as RocksDB's `CompactionServiceInput`.
    fn service_input(&self, family: &Family, plan: &Plan) -> Result<Vec<u8>> {
        let names = self.options.fs.list(&self.dir)?;
        let options_file = names.iter().filter_map(|name| match filename::parse(name) {
            Some(FileKind::Options(number)) => Some(number),
            _ => None,
        });
        let files = plan.files().map(|(_, file)| format!("{:06}.sst", file.number));
        let input = Input {
            cf_name: &family.name,
            snapshots: &self.snapshots.seqnos(),
            input_files: &files.collect::<Vec<_>>(),
            output_level: plan.output_level,
            db_id: &self.db_id,
            options_file_number: options_file.max().unwrap_or(0),
        };
        Ok(input.encode())
    }
}

fn aborted(message: &str) -> Error {
    Error::new(ErrorKind::Aborted, message)
}

fn incomplete(message: &str) -> Error {
    Error::new(ErrorKind::Incomplete, message)
}

/// The fields of `CompactionServiceInput`. The compaction is one job for its whole key range, so it has no
/// range.
struct Input<'a> {
    cf_name: &'a str,
    snapshots: &'a [u64],
    input_files: &'a [String],
    output_level: usize,
    db_id: &'a str,
    options_file_number: u64,
}

impl Input<'_> {
    /// Encodes the version number and a text of `name=value;`: strings in hexadecimal digits, lists separated
    /// by colons.
    fn encode(&self) -> Vec<u8> {
        let files: Vec<String> = self
            .input_files
            .iter()
            .map(|file| hexadecimal(file.as_bytes()))
            .collect();
        let snapshots: Vec<String> = self.snapshots.iter().map(u64::to_string).collect();
        let text = format!(
            "cf_name={};snapshots={};input_files={};output_level={};db_id={};has_begin=false;begin=;has_end=false;end=;\
             options_file_number={};",
            hexadecimal(self.cf_name.as_bytes()),
            snapshots.join(":"),
            files.join(":"),
            self.output_level,
            hexadecimal(self.db_id.as_bytes()),
            self.options_file_number,
        );
        let mut encoded = OPTIONS_STRING.to_le_bytes().to_vec();
        encoded.extend_from_slice(text.as_bytes());
        encoded
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_rocksdb_s_words() {
        let input = Input {
            cf_name: "default",
            snapshots: &[7, 9],
            input_files: &["000004.sst".to_owned(), "000006.sst".to_owned()],
            output_level: 6,
            db_id: "id",
            options_file_number: 12,
        };
        let encoded = input.encode();
        assert_eq!(encoded[..4], [1, 0, 0, 0]);
        let text = "cf_name=64656661756C74;snapshots=7:9;input_files=3030303030342E737374:3030303030362E737374;output_level=6;\
                    db_id=6964;has_begin=false;begin=;has_end=false;end=;options_file_number=12;";
        assert_eq!(String::from_utf8_lossy(&encoded[4..]), text);
    }
}
