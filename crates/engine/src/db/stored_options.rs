//! The OPTIONS file a database has when it is opened: what is taken from it, and what is told of it.

use std::path::{Path, PathBuf};

use base::{Error, ErrorKind, Result};

use super::open::READ_ONLY_ATTEMPTS;
use crate::events::{Event, Listeners};
use crate::options::file::OptionsFile;
use crate::options::wrong::Wrong;
use crate::options::{ColumnFamilyOptions, OptionLoss, Options};

/// The newest OPTIONS file, if there is one that can be read; why not is told to the listeners.
pub(crate) fn newest_options(options: &Options, dir: &Path, listeners: &Listeners) -> Option<OptionsFile> {
    match find_options(options, dir) {
        Ok(newest) => newest.map(|(_, newest)| newest),
        Err(error) => {
            tell_unreadable(&error, listeners);
            None
        }
    }
}

/// The newest OPTIONS file and where it is.
pub(super) fn find_options(options: &Options, dir: &Path) -> Result<Option<(PathBuf, OptionsFile)>> {
    let mut newest = OptionsFile::newest(&*options.fs, dir);
    for _ in 0..READ_ONLY_ATTEMPTS {
        match &newest {
            // The process that writes the database puts a newer one in its place.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                newest = OptionsFile::newest(&*options.fs, dir);
            }
            _ => break,
        }
    }
    newest
}

fn tell_unreadable(error: &Error, listeners: &Listeners) {
    listeners.notify(&Event::UnknownOption {
        section: "file".to_owned(),
        name: error.to_string(),
    });
}

/// Tells what of the options given for a family has no effect, as far as they had not when it was told last.
pub(super) fn tell_without_effect(
    name: &str,
    given: &ColumnFamilyOptions,
    before: Option<&ColumnFamilyOptions>,
    listeners: &Listeners,
) {
    let told = before.map_or_else(Vec::new, |before| before.without_effect(name));
    let mut now = given.without_effect(name);
    now.retain(|lost| !told.contains(lost));
    now.into_iter()
        .for_each(|lost| listeners.notify(&Event::OptionLost(lost)));
}

/// As [`newest_options`] for the file that was `found`; reports what is lost by options in it that Esker does not have. `NotSupported` names
/// those that strict options refuse, and strict options want a file that can be read.
pub(super) fn stored_options(
    found: Result<Option<(PathBuf, OptionsFile)>>,
    options: &Options,
    listeners: &Listeners,
) -> Result<Option<OptionsFile>> {
    let strict = options.strict_options_file;
    let (path, stored) = match found {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(None),
        Err(error) => {
            tell_unreadable(&error, listeners);
            return if strict { Err(error) } else { Ok(None) };
        }
    };
    let mut refused = Wrong::default();
    for lost in stored.lost() {
        if lost.is_given(options) {
            continue;
        }
        if strict && lost.loss.is_refused() {
            refused.unsupported(lost.to_string());
        }
        listeners.notify(&match lost.loss {
            OptionLoss::Unknown => Event::UnknownOption {
                section: lost.section,
                name: format!("{}={}", lost.name, lost.value),
            },
            _ => Event::OptionLost(lost),
        });
    }
    let refused = refused
        .result()
        .map_err(|error| error.context("strict_options_file"));
    refused.map_err(|error| error.in_file(&path))?;
    Ok(Some(stored))
}
