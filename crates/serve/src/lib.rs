//! A database as a page in a browser: levels with their files by key span, jobs, stalls, pins, options and
//! their dangers, and the past by the edits of the MANIFEST.
//!
//! [`Page::of_directory`] reads the files of a database that any process may have open, of RocksDB or of
//! Esker, and changes nothing. [`Page::of_database`] runs inside a program and adds what only the program
//! has: counters of stalls, pins, memory. The page is one file without external resources; its data is JSON
//! under `/api`. See `docs/serve.md`.
//!
//! The modules [`observe`], [`info_log`], [`process`], [`axis`], [`dangers`] and [`text`] are shared with the
//! inspector.
#![forbid(unsafe_code)]

pub mod axis;
pub mod dangers;
mod history;
pub mod info_log;
mod levels;
mod live;
pub mod observe;
mod options;
mod page;
pub mod process;
mod source;
mod state;
mod tables;
pub mod text;

pub use page::Page;
pub use source::Directory;

/// The crate of the configuration of a [`Page`].
pub use http;
