//! Encryption at rest: a file system that encrypts each file with a key of its own.
//!
//! ```
//! use std::sync::Arc;
//!
//! use esker::file_system::PosixFs;
//! use esker::{Db, Options};
//! use esker_encryption::{EncryptedFs, KeyRing};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let keys = KeyRing::new("2026-11", [7; 32]); // 32 bytes from a key management service
//! let options = Options {
//!     create_if_missing: true,
//!     fs: Arc::new(EncryptedFs::new(Arc::new(PosixFs::new()), Arc::new(keys))),
//!     ..Options::default()
//! };
//! let db = Db::open(&options, dir.path())?;
//! db.put(b"key", b"value")?;
//! # Ok(())
//! # }
//! ```
//!
//! * [`EncryptedFs`]: the file system, over any other
//! * [`MasterKeys`]: wraps and unwraps the keys of files; [`KeyRing`] holds master keys in memory
//! * [`decrypt_directory`]: a plain copy of a directory
//!
//! # What is hidden, and what is not
//!
//! The contents of all files are encrypted with AES-256 in counter mode. Names of files, their lengths, and the
//! lengths of the appends to a log are visible. The cipher does not authenticate: an attacker who can write to
//! the disk can flip bits, and the checksums of blocks and records find them only if the attacker did not
//! adapt the checksums. The layout of a file is in [`header`] and [`log`].
#![forbid(unsafe_code)]

mod cipher;
mod decrypt;
mod file_system;
pub mod header;
pub mod log;
mod master_keys;
mod plain;

pub use base::{Error, Result};
pub use decrypt::{Decrypted, decrypt_directory};
pub use file_system::EncryptedFs;
pub use master_keys::{FileKey, KeyRing, MasterKeys, WrappedKey};
pub use vfs::FileSystem;
