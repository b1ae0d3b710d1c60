//! `approxsize`: the estimated size of the rows of a range in files, in bytes.

use std::io::Write;

use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::outcome::{Failed, Outcome};
use crate::output::Out;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let bound = |name: &str| {
        let missing = || Failed::said(format!("{name} must be specified for approxsize command"));
        line.key_option(name)?.ok_or_else(missing)
    };
    let (from, to) = (bound("from")?, bound("to")?);
    let session = open::read_only(line)?;
    let sizes = session.db.approximate_sizes(&session.family, &[(&from, &to)]);
    let sizes = sizes.map_err(|error| Failed::with("ApproximateSize failed: ", &error))?;
    writeln!(out, "{}", sizes.first().copied().unwrap_or(0))?;
    Ok(String::new())
}
