//! Compactions that are due although no level is too large: of files that are marked, too old, or hold
//! versions that a released snapshot no longer needs.

use base::SeqNo;
use manifest::{FileMetadata, Version};

use crate::options::LeveledOptions;
use crate::styles::{Style, newest_data};

/// True if `time` (Unix seconds, 0 if unknown) is more than `seconds` before `now`.
pub(crate) fn is_past(now: u64, time: u64, seconds: u64) -> bool {
    time > 0 && time < now.saturating_sub(seconds)
}

/// True if `file` was written more than `periodic_compaction_seconds` ago.
pub(crate) fn is_past_period(file: &FileMetadata, options: &LeveledOptions, now: u64) -> bool {
    let time = match file.file_creation_time {
        0 => file.oldest_ancestor_time,
        time => time,
    };
    options.periodic_compaction_seconds > 0 && is_past(now, time, options.periodic_compaction_seconds)
}

/// True if the newest data of `file` is older than `ttl`, as FIFO compaction sees it: the data was in the
/// file when the file was written.
pub(crate) fn is_past_ttl(file: &FileMetadata, options: &LeveledOptions, now: u64) -> bool {
    options.ttl > 0 && is_past(now, newest_data(file), options.ttl)
}

/// True if a picker may find a compaction although no level is too large. `oldest_snapshot`: as in
/// [`PickContext`](crate::PickContext). A picker may still find nothing, because it checks more.
///
/// Cost: a pass over the metadata of all files.
pub fn is_due(version: &Version, options: &LeveledOptions, now: u64, oldest_snapshot: SeqNo) -> bool {
    let Some(last) = version.num_non_empty_levels().checked_sub(1) else {
        return false;
    };
    let deletes_ranges = |file: &FileMetadata| {
        file.stats
            .get()
            .is_some_and(|stats| stats.num_range_deletions > 0)
    };
    if matches!(options.style, Style::Level | Style::Universal(_))
        && version.all_files().any(|(_, file)| deletes_ranges(file))
    {
        return true;
    }
    let mut idle = version.all_files().filter(|(_, file)| file.is_idle());
    // FIFO drops files unread.
    let mut dropped = version.all_files().filter(|(_, file)| !file.is_being_compacted());
    match options.style {
        Style::None => false,
        Style::Fifo(ref fifo) => dropped.any(|(level, file)| {
            let temperature = fifo.temperature_due(file, now);
            level == 0
                && (is_past_ttl(file, options, now)
                    || temperature.is_some_and(|temperature| temperature != file.temperature))
        }),
        Style::Universal(_) => idle.any(|(level, file)| {
            is_past_period(file, options, now) || (file.marked_for_compaction && (level == 0 || level < last))
        }),
        Style::Level => idle.any(|(level, file)| {
            let goes_down = level < last;
            (file.marked_for_compaction && (goes_down || level == 0))
                || (goes_down && options.ttl > 0 && is_past(now, file.oldest_ancestor_time, options.ttl))
                || is_past_period(file, options, now)
                || (file.largest_seqno != 0 && file.largest_seqno <= oldest_snapshot)
        }),
    }
}
