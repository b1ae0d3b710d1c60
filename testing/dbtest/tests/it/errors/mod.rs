//! Failures of the disk and of user code, and the recovery from them.

mod auto_resume;
mod panics_in_jobs;
mod panics_in_reads;
mod panics_in_writes;
mod resume;
