//! Tests of the encrypting file system, and of databases over it.

extern crate vfs as esker_vfs;

#[path = "../../../vfs/tests/it/conformance.rs"]
mod conformance;
mod databases;
mod files;
#[path = "../../../vfs/tests/it/subject.rs"]
mod subject;
mod subjects;
