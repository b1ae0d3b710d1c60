//! The OPTIONS file of a database at its open: the components taken from it, and the reports about it.

use std::path::{Path, PathBuf};

use base::{Error, ErrorKind, Result};

use crate::events::Event;
use crate::lifecycle::moment::READ_ONLY_ATTEMPTS;
use crate::log::listeners::Listeners;
use crate::options::file::OptionsFile;
use crate::options::option_errors::OptionErrors;
use crate::options::{OptionLoss, Options};

/// The newest OPTIONS file, if it exists and is readable. If it is unreadable, the listeners get the error.
pub(crate) fn newest_options(options: &Options, dir: &Path, listeners: &Listeners) -> Option<OptionsFile> {
    match find_options(options, dir) {
        Ok(newest) => newest.map(|(_, newest)| newest),
        Err(error) => {
            report_unreadable(&error, listeners);
            None
        }
    }
}

/// The newest OPTIONS file and its path.
pub(crate) fn find_options(options: &Options, dir: &Path) -> Result<Option<(PathBuf, OptionsFile)>> {
    let mut newest = OptionsFile::newest(&*options.fs, dir);
    for _ in 0..READ_ONLY_ATTEMPTS {
        match &newest {
            // The process that writes the database has replaced the file by a newer one.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                newest = OptionsFile::newest(&*options.fs, dir);
            }
            _ => break,
        }
    }
    newest
}

fn report_unreadable(error: &Error, listeners: &Listeners) {
    listeners.notify(&Event::UnknownOption {
        section: "file".to_owned(),
        name: error.to_string(),
    });
}

/// Same as [`newest_options`] for the file that was `found`. Reports the options in it that Esker does not
/// have. With strict options, `NotSupported` names the refused ones, and an unreadable file is an error.
pub(crate) fn stored_options(
    found: Result<Option<(PathBuf, OptionsFile)>>,
    options: &Options,
    listeners: &Listeners,
) -> Result<Option<OptionsFile>> {
    let strict = options.strict_options_file;
    let (path, stored) = match found {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(None),
        Err(error) => {
            report_unreadable(&error, listeners);
            return if strict { Err(error) } else { Ok(None) };
        }
    };
    let mut refused = OptionErrors::default();
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
