//! Write batches: the encoding of rows that are written together.

pub(crate) mod entities;
pub(crate) mod operation;
pub(crate) mod protection;
pub mod write_batch;
