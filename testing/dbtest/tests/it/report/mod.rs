//! Reports of a database on itself: events, log, properties, statistics.

mod cache_usage;
mod info_log;
mod listeners;
mod memory;
mod properties;
mod stats_history;
