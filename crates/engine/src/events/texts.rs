//! The longer parts of the texts of events.

use std::path::Path;

use base::Error;
use base::filename::{self, FileKind};
use compact::stall::{StallCause, StallCondition};

use super::parts::IngestedFile;

/// The beginning of a text: the family in brackets; empty if the event concerns all families.
pub(super) fn prefix_of_family(family: &str) -> String {
    match family {
        "" => String::new(),
        family => format!("[{family}] "),
    }
}

/// The number of files of each level: `4@0 + 1@1`.
pub(super) fn files_by_level(inputs: &[(usize, Vec<u64>)]) -> String {
    let levels = inputs
        .iter()
        .map(|(level, files)| format!("{}@{level}", files.len()));
    Vec::from_iter(levels).join(" + ")
}

pub(super) fn megabytes_per_second(bytes: u64, micros: u64) -> f64 {
    bytes as f64 / 1_048_576.0 / (micros as f64 / 1e6).max(1e-6)
}

/// The list of ingested files, each with its level and size.
pub(super) fn ingested_files(files: &[IngestedFile]) -> String {
    let files = files.iter().map(|file| {
        let IngestedFile {
            file, level, bytes, ..
        } = file;
        format!(" {file:06}.sst to L{level}: {bytes} bytes")
    });
    Vec::from_iter(files).join(",")
}

/// The reason for the end of a job without a result.
pub(super) fn reason_to_end(error: &Option<Error>) -> String {
    match error {
        Some(error) => error.to_string(),
        None => "nothing was left to write".to_owned(),
    }
}

/// The text about the end of the stall `previous`; `None` if that was none.
pub(super) fn end_of_stall(previous: StallCondition) -> Option<String> {
    let (StallCondition::Delayed { cause } | StallCondition::Stopped { cause }) = previous else {
        return None;
    };
    Some(match cause {
        // The family may still be stalled for another reason: the line does not deny that.
        StallCause::LowPriority | StallCause::WriteBufferManagerLimit | StallCause::WalLocked => {
            format!("Writes go on: they were {previous}")
        }
        _ => format!("Writes go on: nothing stalls them any more. They were {previous}"),
    })
}

/// RocksDB's name for the deletion of the file at `path`, and the file's number; `None` if the file is
/// neither a table nor a blob file.
pub(super) fn deletion(path: &str) -> Option<(&'static str, u64)> {
    let name = Path::new(path).file_name().unwrap_or_default();
    match filename::parse(&name.to_string_lossy()) {
        Some(FileKind::Table(number)) => Some(("table_file_deletion", number)),
        Some(FileKind::Blob(number)) => Some(("blob_file_deletion", number)),
        _ => None,
    }
}

pub(super) fn hex(checksum: &[u8]) -> String {
    checksum.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// RocksDB's name for a checksum function.
pub(super) fn checksum_name(func_name: &str) -> &str {
    match func_name {
        "" => "Unknown",
        name => name,
    }
}
