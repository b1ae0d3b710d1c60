//! Opens of a database, its directories and options, and calls after its close.

mod api;
mod best_efforts;
mod closed;
mod db_paths;
#[cfg(target_os = "linux")]
mod open_files;
mod options_file;
mod told_faults;
