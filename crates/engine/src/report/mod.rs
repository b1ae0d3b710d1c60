//! Reports: properties, statistics, memory, and the holders of old states.

pub mod approximate_sizes;
pub(crate) mod dump_stats;
pub mod live_files;
pub(crate) mod memory;
pub mod pins;
pub(crate) mod properties;
pub(crate) mod property;
pub(crate) mod stats_history;
pub(crate) mod table_properties;
mod version_texts;
pub(crate) mod write_cost;
