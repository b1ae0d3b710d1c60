//! Functions and tables that `cargo xtask gen` writes.

pub mod options;
pub mod stubs;
pub mod throws;
