//! The files that say which database is in a directory, CURRENT and IDENTITY, and whether they have changed.

use std::path::Path;
use std::sync::Arc;

use base::filename;
use base::{Error, ErrorKind, Result, UserComparator};
use codec::checksum::crc32c;
use vfs::{FileSystem, OpenOptions, RandomAccessFile};

use crate::options::Options;
use crate::options::names::DEFAULT_COLUMN_FAMILY;
use crate::state::version_set::replace_file;

/// The number of attempts of an open for reading while another process writes.
pub(crate) const READ_ONLY_ATTEMPTS: usize = 100;

/// The state of CURRENT and the MANIFEST, to detect writes of another process: while they are unchanged, no
/// file that the database needs is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The contents of CURRENT; `None` if it does not exist.
    current: Option<Vec<u8>>,
    /// The size of the MANIFEST that CURRENT names, and a checksum of its first and last bytes: a database
    /// created in place of another may have the same names and sizes. `None` if it does not exist.
    manifest: Option<(u64, u32)>,
}

/// The number of bytes at each end of a MANIFEST that distinguish it from others.
const TELLING: u64 = 1024;

impl Moment {
    /// Reads CURRENT and the ends of the MANIFEST.
    ///
    /// # Errors
    /// The errors of the file system: if the files cannot be read, a change cannot be excluded.
    pub fn of(options: &Options, dir: &Path) -> Result<Moment> {
        let fs = &*options.fs;
        let current = if_there(fs.read_file(&filename::current(dir)))?;
        let manifest = match &current {
            Some(current) => {
                match parse_current(current).map_err(|error| error.in_file(&filename::current(dir))) {
                    Ok(named) => if_there(fs.open_random(&dir.join(named), &OpenOptions::default()))?,
                    // In a best-efforts recovery, a damaged CURRENT does not decide which MANIFEST is read.
                    Err(_) if options.best_efforts_recovery => None,
                    Err(error) => return Err(error),
                }
            }
            None => None,
        };
        let look = |file: Arc<dyn RandomAccessFile>| -> Result<(u64, u32)> {
            let mut ends = vec![0; 2 * TELLING as usize];
            let (first, last) = ends.split_at_mut(TELLING as usize);
            file.read_at(0, first)?;
            file.read_at(file.len().saturating_sub(TELLING), last)?;
            Ok((file.len(), crc32c(&ends)))
        };
        Ok(Moment {
            current,
            manifest: manifest.map(look).transpose()?,
        })
    }
}

/// Returns the value of `result`; `None` if the error is that the file does not exist.
fn if_there<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// The file name in CURRENT, by RocksDB's rules.
pub(crate) fn parse_current(text: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(text).map_err(|_| Error::corruption("CURRENT file is not text"))?;
    let name = text
        .strip_suffix('\n')
        .ok_or_else(|| Error::corruption("CURRENT file does not end with newline"))?;
    let name = name.strip_prefix('/').unwrap_or(name);
    let digits = name.strip_prefix("MANIFEST-").filter(|digits| !digits.is_empty());
    match digits {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Ok(name.to_owned()),
        _ => Err(Error::corruption("CURRENT file corrupted")),
    }
}

/// The contents of IDENTITY, if it exists.
pub(crate) fn read_identity(fs: &dyn FileSystem, dir: &Path) -> Result<Option<String>> {
    let path = filename::identity(dir);
    if !fs.exists(&path)? {
        return Ok(None);
    }
    let file = fs.open_random(&path, &OpenOptions::default())?;
    let mut text = vec![0; file.len().min(4096) as usize];
    file.read_exact_at(0, &mut text)?;
    Ok(Some(String::from_utf8_lossy(&text).trim_end().to_owned()).filter(|id| !id.is_empty()))
}

pub(crate) fn write_identity(fs: &dyn FileSystem, dir: &Path, db_id: &str) -> Result<()> {
    replace_file(
        fs,
        dir,
        &filename::temp(dir, 0),
        &filename::identity(dir),
        db_id.as_bytes(),
    )
}

/// The comparator of a family: the built-in one that it was written with, or the one in the options if it has
/// the recorded name.
pub(crate) fn comparator_for(
    options: &Options,
    family: &str,
    recorded: Option<&str>,
) -> Result<UserComparator> {
    let named = options
        .column_families
        .get(family)
        .or((family == DEFAULT_COLUMN_FAMILY).then_some(&options.column_family));
    let given = &options.family(family).comparator;
    match recorded {
        None => Ok(given.clone()),
        Some(recorded) if recorded == given.name() => Ok(given.clone()),
        // Options without a comparator have the bytewise one, so a built-in comparator recorded in the
        // MANIFEST takes precedence over it.
        Some(recorded) if named.is_none_or(|named| named.comparator == UserComparator::Bytewise) => {
            UserComparator::builtin(recorded).ok_or_else(|| mismatch(family, recorded, given))
        }
        Some(recorded) => Err(mismatch(family, recorded, given)),
    }
}

fn mismatch(family: &str, recorded: &str, given: &UserComparator) -> Error {
    let of_family = match family {
        DEFAULT_COLUMN_FAMILY => String::new(),
        family => format!(" of column family {family}"),
    };
    Error::new(
        ErrorKind::ComparatorMismatch,
        format!(
            "{}: does not match existing comparator {recorded}{of_family}",
            given.name()
        ),
    )
}
