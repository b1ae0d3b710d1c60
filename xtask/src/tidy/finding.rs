//! Violations of the rules.

use std::fmt;

/// A violation of a rule.
#[derive(Debug, PartialEq)]
pub struct Finding {
    pub rule: &'static str,
    pub path: String,
    /// The line, counted from 1; 0 for the file as a whole.
    pub line: usize,
    pub message: String,
}

impl Finding {
    pub fn new(rule: &'static str, path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding {
            rule,
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": [{}] {}", self.rule, self.message)
    }
}
