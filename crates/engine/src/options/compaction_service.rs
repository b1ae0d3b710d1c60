//! Compactions by another process: the interface of the service.

use compact::CompactionReason;

/// The answer of a service about a job.
///
/// See the example of [`CompactionService`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionServiceJobStatus {
    /// The job was accepted, or is done.
    Success,
    /// The job cannot be done: the compaction fails with the error in the result, or with `Incomplete`, and
    /// writes stop until the database is [resumed](crate::Db::resume).
    Failure,
    /// The job was cancelled: the compaction ends with `Aborted` and is picked again later.
    Aborted,
    /// The database must run the compaction itself.
    UseLocal,
}

/// A compaction that is offered to a service.
///
/// See the example of [`CompactionService`].
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
///
/// See the example of [`CompactionService`].
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
/// The job is passed as RocksDB's `CompactionServiceInput`, for
/// [`Db::open_and_compact`](crate::Db::open_and_compact) in another process or for RocksDB's
/// `OpenAndCompact`, and the result of either is passed back. The tables of the result are moved into the
/// database and become the outputs of the compaction.
///
/// The database runs a job itself if the service answers `UseLocal`. It also does so if a job ends with
/// `Success` and its result is unusable: it cannot be read, a table is missing or damaged, or a table has
/// keys that are not in the range of the inputs. The info log has the reason, and the service gets `UseLocal`
/// in [`on_installation`](Self::on_installation).
///
/// Compactions of families with blob files are not offered, nor are those that move files to another
/// temperature or trim history.
///
/// ```
/// use esker::{
///     CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus, CompactionServiceScheduleResponse,
/// };
///
/// /// Prints the jobs, and leaves them to the database.
/// struct Prints;
///
/// impl CompactionService for Prints {
///     fn name(&self) -> &str {
///         "example.Prints"
///     }
///
///     fn schedule(&self, info: &CompactionServiceJobInfo, _input: &[u8]) -> CompactionServiceScheduleResponse {
///         println!("{}: job {} to level {}", info.cf_name, info.job_id, info.output_level);
///         CompactionServiceScheduleResponse {
///             scheduled_job_id: info.job_id.to_string().into(),
///             status: CompactionServiceJobStatus::UseLocal,
///         }
///     }
///
///     fn wait(&self, _scheduled_job_id: &[u8]) -> (CompactionServiceJobStatus, Vec<u8>) {
///         (CompactionServiceJobStatus::UseLocal, Vec::new())
///     }
/// }
///
/// let options = esker::Options { compaction_service: Some(std::sync::Arc::new(Prints)), ..Default::default() };
/// # assert!(options.compaction_service.is_some());
/// ```
pub trait CompactionService: Send + Sync {
    /// The name of the service.
    fn name(&self) -> &str;

    /// Accepts or refuses a job. `input` is the job in RocksDB's serialized form. Called on the thread of the
    /// compaction, without locks. Trivial moves and deletions of whole files are not offered.
    fn schedule(&self, info: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse;

    /// Returns when the job has ended, with its result in RocksDB's serialized form. Called if
    /// [`schedule`](Self::schedule) returned `Success`.
    fn wait(&self, scheduled_job_id: &[u8]) -> (CompactionServiceJobStatus, Vec<u8>);

    /// The database calls this function when it closes: pending calls of [`wait`](Self::wait) must return.
    fn cancel_awaiting_jobs(&self) {}

    /// The database calls this function after a job ended with `Success`, with the outcome of the
    /// installation of its result.
    fn on_installation(&self, _scheduled_job_id: &[u8], _status: CompactionServiceJobStatus) {}
}
