//! Compactions that are offered to a service.

use std::sync::Arc;

use base::sync::Mutex;
use dbtest::by_hand::flush;
use esker::{
    CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus as Status,
    CompactionServiceScheduleResponse, Db, ErrorKind, Options,
};
use vfs::MemFs;

/// A service with fixed answers that records its calls.
struct Service {
    schedule: Status,
    wait: Status,
    heard: Mutex<Vec<String>>,
}

impl CompactionService for Service {
    fn name(&self) -> &str {
        "test.service"
    }

    fn schedule(&self, info: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
        assert_eq!((info.db_name.as_str(), info.cf_name.as_str()), ("/db", "default"));
        assert!(info.is_manual_compaction && !info.db_id.is_empty());
        let input = String::from_utf8_lossy(&input[4..]).into_owned();
        let files = input
            .split(';')
            .find_map(|field| field.strip_prefix("input_files="));
        let files = files.unwrap().split(':').count();
        self.heard
            .lock()
            .push(format!("{} files to level {}", files, info.output_level));
        CompactionServiceScheduleResponse {
            scheduled_job_id: b"job".to_vec(),
            status: self.schedule,
        }
    }

    fn wait(&self, scheduled_job_id: &[u8]) -> (Status, Vec<u8>) {
        assert_eq!(scheduled_job_id, b"job");
        self.heard.lock().push("waited".into());
        (self.wait, b"no result".to_vec())
    }

    fn cancel_awaiting_jobs(&self) {
        self.heard.lock().push("cancelled".into());
    }

    fn on_installation(&self, scheduled_job_id: &[u8], status: Status) {
        assert_eq!(scheduled_job_id, b"job");
        self.heard.lock().push(format!("{status:?}"));
    }
}

/// Compacts two overlapping files manually. Returns the kind of the error, the number of files afterwards,
/// and the calls of the service.
fn compact(schedule: Status, wait: Status) -> (Option<ErrorKind>, usize, Vec<String>) {
    let service = Arc::new(Service {
        schedule,
        wait,
        heard: Mutex::default(),
    });
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        compaction_service: Some(service.clone()),
        listeners: vec![Arc::new(dbtest::events::NoAutoRecovery)],
        ..Options::default()
    };
    options.column_family.streams_bypass_level0 = false;
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, "/db").unwrap();
    for value in ["1", "2"] {
        db.put(b"a", value.as_bytes()).unwrap();
        db.put(b"b", value.as_bytes()).unwrap();
        flush(&db);
    }
    let family = db.default_column_family();
    let compacted = db.compact_range_cf(&family, None, None);
    assert_eq!(db.get(b"a").unwrap().unwrap(), b"2");
    let files = db.live_files().len();
    let _ = db.close();
    let heard = service.heard.lock().clone();
    (compacted.err().map(|error| error.kind()), files, heard)
}

#[test]
fn what_a_service_does_not_do_is_done_here() {
    let offered = "2 files to level 6";
    let (error, files, heard) = compact(Status::UseLocal, Status::Success);
    assert_eq!((error, files), (None, 1));
    assert_eq!(heard, [offered, "cancelled"]);
    let (error, files, heard) = compact(Status::Success, Status::UseLocal);
    assert_eq!((error, files), (None, 1));
    assert_eq!(heard, [offered, "waited", "cancelled"]);
    // A result that cannot be read is not installed, and the service is notified.
    let (error, files, heard) = compact(Status::Success, Status::Success);
    assert_eq!((error, files), (None, 1));
    assert_eq!(heard, [offered, "waited", "UseLocal", "cancelled"]);
}

#[test]
fn a_service_that_fails_fails_the_compaction() {
    let (error, files, _) = compact(Status::Failure, Status::Success);
    assert_eq!((error, files), (Some(ErrorKind::Incomplete), 2));
    let (error, files, _) = compact(Status::Success, Status::Failure);
    assert_eq!((error, files), (Some(ErrorKind::Incomplete), 2));
    let (error, files, _) = compact(Status::Success, Status::Aborted);
    assert!(error.is_some());
    assert_eq!(files, 2);
}
