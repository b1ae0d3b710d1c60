//! Every object that a module declares, under one roof for what is generated.

pub use crate::backup_engine::*;
pub use crate::batch::*;
pub use crate::batch_index::*;
pub use crate::block_based::*;
pub use crate::cache::*;
pub use crate::column_family::*;
pub use crate::compaction_filter::*;
pub use crate::comparator::*;
pub use crate::env::*;
pub use crate::filter_policy::*;
pub use crate::memory::*;
pub use crate::merge_operator::*;
pub use crate::metadata::*;
pub use crate::options::*;
pub use crate::perf::*;
pub use crate::rate_limiter::*;
pub use crate::read::*;
pub use crate::read_options::*;
pub use crate::slice_transform::*;
pub use crate::sst_file_writer::*;
