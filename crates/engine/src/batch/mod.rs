//! Write batches: the encoding of rows that are written together.

pub mod before_images;
pub(crate) mod entities;
pub(crate) mod operation;
pub(crate) mod protection;
mod timestamps;
pub mod write_batch;
