//! The files that hold rows newer than a timestamp, to be rewritten without these rows.

use std::cmp::Ordering;
use std::sync::Arc;

use base::Result;
use manifest::FileMetadata;

use super::context::PickContext;
use super::files::{CompactFilesOptions, pick_files};
use crate::plan::Plan;

/// The rewrite of one file that may hold rows newer than `trim_ts`, in its level, without these rows; `None`
/// if no such file is left. Files from number `first_new` on are outputs of earlier rewrites and are ignored.
///
/// # Errors
/// Those of [`pick_files`].
pub fn pick_to_trim(context: &PickContext<'_>, trim_ts: &Arc<[u8]>, first_new: u64) -> Result<Option<Plan>> {
    let user = context.version.cmp().user();
    let is_newer = |newest: &[u8]| user.compare_timestamp(newest, trim_ts) == Ordering::Greater;
    let may_be_newer = |file: &FileMetadata| match file.max_timestamp.is_empty() {
        false => is_newer(&file.max_timestamp),
        // A file that records no timestamp may have any.
        true => context
            .facts
            .max_timestamp(file)
            .is_none_or(|newest| is_newer(&newest)),
    };
    let mut files = context.version.all_files();
    let Some((level, file)) = files.find(|(_, file)| file.number < first_new && may_be_newer(file)) else {
        return Ok(None);
    };
    let mut plan = pick_files(context, &[file.number], level, &CompactFilesOptions::default())?;
    plan.trim_ts = Some(trim_ts.clone());
    Ok(Some(plan))
}
