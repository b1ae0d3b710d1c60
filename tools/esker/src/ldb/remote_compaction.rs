//! `remote_compaction_primary` and `remote_compaction_worker`.

use crate::ldb::line::Line;
use crate::ldb::outcome::{Failed, Outcome};
use crate::output::Out;

pub fn primary(line: &Line, _: &mut Out) -> Outcome {
    refuse(line, "remote_compaction_primary")
}

pub fn worker(line: &Line, _: &mut Out) -> Outcome {
    refuse(line, "remote_compaction_worker")
}

fn refuse(line: &Line, name: &str) -> Outcome {
    Err(Failed::said(match line.path("job_dir") {
        None => "--job_dir is required".to_owned(),
        Some(_) => format!("Not implemented: {name}: see Db::open_and_compact"),
    }))
}
