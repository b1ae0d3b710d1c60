//! A collection of all errors in options, so that the caller gets them in one error.

use base::{Error, ErrorKind, Result};

/// The errors found so far.
#[derive(Debug, Default)]
pub(crate) struct OptionErrors {
    invalid: Vec<String>,
    unsupported: Vec<String>,
}

impl OptionErrors {
    /// Adds an invalid setting. Duplicates are ignored.
    pub fn invalid(&mut self, what: impl Into<String>) {
        add(&mut self.invalid, what.into());
    }

    /// Adds a setting that is valid but not supported.
    pub fn unsupported(&mut self, what: impl Into<String>) {
        add(&mut self.unsupported, what.into());
    }

    /// Adds the error of a check.
    pub fn take(&mut self, checked: Result<()>) {
        match checked {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotSupported => self.unsupported(error.message()),
            Err(error) => self.invalid(error.message()),
        }
    }

    /// Adds the errors found in `context`.
    pub fn take_all(&mut self, others: OptionErrors, context: &str) {
        self.take(others.result().map_err(|error| error.context(context)));
    }

    /// Returns one error that names every wrong setting: `InvalidArgument`, or `NotSupported` if all settings
    /// are valid but some are not supported.
    pub fn result(self) -> Result<()> {
        match (self.invalid.is_empty(), self.unsupported.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => Err(Error::not_supported(self.unsupported.join("; "))),
            (false, _) => {
                let all: Vec<String> = self.invalid.into_iter().chain(self.unsupported).collect();
                Err(Error::invalid_argument(all.join("; ")))
            }
        }
    }
}

fn add(to: &mut Vec<String>, what: String) {
    if !to.contains(&what) {
        to.push(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_named_once() {
        let mut wrong = OptionErrors::default();
        wrong.take(Ok(()));
        wrong.unsupported("c");
        assert_eq!(
            wrong.result().unwrap_err().kind(),
            ErrorKind::NotSupported,
            "nothing else is wrong"
        );
        let mut wrong = OptionErrors::default();
        wrong.take(Err(Error::not_supported("c")));
        wrong.take(Err(Error::invalid_argument("a")));
        wrong.invalid("a");
        let mut others = OptionErrors::default();
        others.invalid("b");
        wrong.take_all(others, "of another");
        let error = wrong.result().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.message(), "a; of another: b; c");
        assert!(OptionErrors::default().result().is_ok());
    }
}
