//! Looking for garbage: backwards over a snapshot, so that of each key the oldest versions come first.

use crate::clear::bare;
use crate::collect::GcKey;
use crate::counters::ReadCounters;
use crate::error::Result;
use crate::gc::GcOptions;
use crate::key::{MvccKey, next_user_key};
use crate::ranges::{Cover, Order, hidden_since};
use crate::reader::{Reader, Span, VersionIter};
use crate::timestamp::Timestamp;
use crate::value::is_tombstone;

/// What one batch is to remove.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// One by one.
    pub keys: Vec<GcKey>,
    /// By range deletions: from one of the engine's keys to before another.
    pub runs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Versions in `keys`.
    versions: u64,
}

/// Garbage that follows each other in the order of keys, found from its end to its start.
#[derive(Debug, Default)]
struct Run {
    start: Vec<u8>,
    end: Vec<u8>,
    versions: u64,
    /// The same key by key, while it may still be too short for a range deletion.
    keys: Vec<GcKey>,
}

pub(super) struct Planner<'a> {
    iter: VersionIter,
    cover: Option<Cover>,
    threshold: Timestamp,
    options: &'a GcOptions,
    run: Run,
    page: Page,
    user_key: Vec<u8>,
}

impl<'a> Planner<'a> {
    pub fn new(reader: &Reader<'_>, threshold: Timestamp, options: &'a GcOptions) -> Result<Planner<'a>> {
        let mut iter = reader.versions(Span::ALL)?;
        iter.seek_to_last();
        Ok(Planner {
            iter,
            cover: reader.cover(Order::Backwards),
            threshold,
            options,
            run: Run::default(),
            page: Page::default(),
            user_key: Vec::new(),
        })
    }

    pub fn counters(&self) -> ReadCounters {
        self.iter.counters
    }

    /// What to remove next; `None` at the end.
    pub fn next_page(&mut self) -> Result<Option<Page>> {
        while !self.is_full() {
            if !self.look()? {
                self.end_run();
                break;
            }
        }
        let page = std::mem::take(&mut self.page);
        Ok((!page.keys.is_empty() || !page.runs.is_empty()).then_some(page))
    }

    fn is_full(&self) -> bool {
        self.page.versions >= self.options.page_versions.max(1) || !self.page.runs.is_empty()
    }

    /// Looks at the version it stands on, the oldest of its key that was not looked at, and moves on to the one above or, where nothing above
    /// can be garbage, to the key before. False at the end.
    fn look(&mut self) -> Result<bool> {
        let Some(version) = self.iter.current()? else {
            return Ok(false);
        };
        let (time, deletes) = (version.timestamp, is_tombstone(version.stored));
        self.user_key.clear();
        self.user_key.extend_from_slice(version.user_key);
        if time.is_zero() || time > self.threshold {
            self.end_run();
            self.iter.prev_key(&self.user_key)?;
            return Ok(true);
        }
        self.iter.prev();
        let above = self.iter.time_of(&self.user_key)?;
        let is_hidden = above.is_some_and(|above| above <= self.threshold);
        let stack = self.cover.as_mut().and_then(|cover| cover.stack(&self.user_key));
        let deleted = stack.and_then(|stack| hidden_since(stack, time));
        if is_hidden || deletes || deleted.is_some_and(|deleted| deleted <= self.threshold) {
            self.add(time);
        } else {
            self.end_run();
        }
        Ok(true)
    }

    fn add(&mut self, time: Timestamp) {
        let user_key = &self.user_key[..];
        let run = &mut self.run;
        run.start = MvccKey {
            user_key,
            timestamp: time,
        }
        .encode();
        if run.versions == 0 {
            // Nothing can have come between it and what follows it: that would lie below the threshold.
            run.end = match time.prev() {
                Timestamp::ZERO => bare(&next_user_key(user_key)),
                timestamp => MvccKey { user_key, timestamp }.encode(),
            };
        }
        run.versions += 1;
        let is_long = self.options.min_run_versions > 0 && run.versions >= self.options.min_run_versions;
        match run.keys.last_mut().filter(|last| last.user_key == user_key) {
            Some(last) => last.timestamp = time,
            None if is_long => {}
            None => run.keys.push(GcKey {
                user_key: user_key.to_vec(),
                timestamp: time,
            }),
        }
        let most = match self.options.min_run_versions {
            0 => self.options.page_versions.max(1),
            min => self.options.max_run_versions.max(min),
        };
        if run.versions >= most {
            self.end_run();
        }
    }

    /// Something stays that stands before the run.
    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if self.options.min_run_versions > 0 && run.versions >= self.options.min_run_versions {
            self.page.runs.push((run.start, run.end));
        } else {
            self.page.versions += run.versions;
            self.page.keys.extend(run.keys);
        }
    }
}
