//! Compactions by another process: RocksDB's `CompactionService`, with the job in RocksDB's serialized form.

use std::fmt::Write;

use base::filename::{self, FileKind};
use base::user_code::call;
use base::{Error, ErrorKind, Result};
use compact::{CompactionReason, Plan};

use crate::options::compaction_service::CompactionServiceJobInfo;
use crate::options::compaction_service::CompactionServiceJobStatus;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;

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
            db_id: &self.identity.db_id,
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
