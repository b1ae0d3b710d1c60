//! Tests of the file systems through their traits.

mod conformance;
mod crash;
mod disk;
mod fault;
mod op_log;
mod process;
mod started;
mod subject;
mod subjects;
