//! The deadline of a read.

use std::time::Duration;

use base::env::Clock;
use base::{Error, ErrorKind, Result};

/// Fails with `TimedOut` after `deadline`.
#[cold]
pub(crate) fn check_deadline(clock: &dyn Clock, deadline: Duration) -> Result<()> {
    match u128::from(clock.unix_micros()) > deadline.as_micros() {
        true => Err(Error::new(
            ErrorKind::TimedOut,
            "the deadline of the read has passed",
        )),
        false => Ok(()),
    }
}
