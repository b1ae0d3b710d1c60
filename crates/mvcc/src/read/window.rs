//! The versions written in a window of time, without reading all others.
//!
//! Table properties record, for the table and for each run of its blocks, between which times the versions
//! are ([`TimeInterval`]). Two iterators work together: one skips what is outside the window, and finds the
//! keys that may have a version in it; the other skips nothing, and is read. The first iterator alone would
//! be wrong: it could show a version whose deletion by the engine is in a skipped table. It misses no key,
//! because an existing version in the window is in a run whose times meet the window.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::key::span::Span;
use crate::key::time_interval::Meets;
use crate::key::timestamp::Timestamp;
use crate::read::counters::ReadCounters;
use crate::read::reader::Reader;
use crate::read::rows::Row;
use crate::read::version_iter::VersionIter;

/// The versions of a span in a window of time: keys in order, the newest version of each first, including
/// those that range tombstones hide. Inline values have no time, and are skipped.
pub struct Incremental {
    /// Finds the keys that may have a version in the window; `None` if all may.
    candidates: Option<VersionIter>,
    iter: VersionIter,
    after: Timestamp,
    until: Timestamp,
    /// True if the iteration fails at an inline value.
    refuses_inline: bool,
    /// The current key, which the next move starts from.
    user_key: Vec<u8>,
    started: bool,
}

impl Reader<'_> {
    /// The versions in `span` above `after` and at or below `until`. From [`Timestamp::ZERO`] on it reads all
    /// of the span; from a later time, the tables and runs of blocks that have versions of such times.
    ///
    /// # Errors
    /// [`Error::BelowThreshold`](crate::Error::BelowThreshold) if the window ends at or below a store's
    /// threshold, or begins below it and not with [`Timestamp::ZERO`], because versions of it may be gone.
    /// From [`Timestamp::ZERO`] on it has the remaining ones: those above the threshold, and those that a
    /// reader directly above it sees. `InvalidArgument` for an end at [`Timestamp::ZERO`], and for negative
    /// times.
    pub fn incremental(&self, span: Span<'_>, after: Timestamp, until: Timestamp) -> Result<Incremental> {
        self.check_window(after, until)?;
        self.window(span, after, until, !after.is_zero())
    }

    /// Reads as `incremental` does. With `passes_over` it skips data that properties show to be outside;
    /// otherwise it reads all of the span.
    pub(crate) fn window(
        &self,
        span: Span<'_>,
        after: Timestamp,
        until: Timestamp,
        passes_over: bool,
    ) -> Result<Incremental> {
        let candidates = match passes_over {
            true => Some(self.candidates(span, after, until, false)?),
            false => None,
        };
        Ok(Incremental {
            candidates,
            iter: self.versions(span)?,
            after,
            until,
            refuses_inline: false,
            user_key: Vec::new(),
            started: false,
        })
    }

    /// Reads as [`incremental`](Self::incremental) does, but fails at any inline value.
    pub(crate) fn versions_alone(
        &self,
        span: Span<'_>,
        after: Timestamp,
        until: Timestamp,
    ) -> Result<Incremental> {
        let mut iter = self.window(span, after, until, false)?;
        if !after.is_zero() {
            iter.candidates = Some(self.candidates(span, after, until, true)?);
        }
        iter.refuses_inline = true;
        Ok(iter)
    }

    /// An iterator over the keys that may have versions in the window, and with `wants_inline` those that may
    /// have an inline value.
    fn candidates(
        &self,
        span: Span<'_>,
        after: Timestamp,
        until: Timestamp,
        wants_inline: bool,
    ) -> Result<VersionIter> {
        let meets = Meets {
            after,
            until,
            wants_inline,
        };
        self.filtered(Arc::new(meets)).versions(span)
    }
}

impl Incremental {
    /// The next version; `None` at the end.
    // This is not an `Iterator`, because the result borrows from the current position.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        self.step(false)
    }

    /// The first version of the next key; `None` at the end.
    pub fn next_key(&mut self) -> Result<Option<Row<'_>>> {
        self.step(true)
    }

    /// The cost of both iterators together.
    pub fn counters(&self) -> ReadCounters {
        let mut counters = self.iter.counters;
        if let Some(candidates) = &self.candidates {
            counters += candidates.counters;
        }
        counters
    }

    fn step(&mut self, skip_key: bool) -> Result<Option<Row<'_>>> {
        if !self.advance(skip_key)? {
            return Ok(None);
        }
        let version = self.iter.version()?;
        Ok(Some(Row {
            user_key: version.user_key,
            timestamp: version.timestamp,
            stored: version.stored,
        }))
    }

    /// The iterator at the version that was returned last.
    pub(crate) fn iter(&mut self) -> &mut VersionIter {
        &mut self.iter
    }

    /// Moves as [`next`](Self::next) or [`next_key`](Self::next_key) does, without reading the value. False
    /// at the end.
    pub(crate) fn advance(&mut self, skip_key: bool) -> Result<bool> {
        if !self.started {
            self.started = true;
            match &mut self.candidates {
                Some(candidates) => {
                    candidates.seek_to_first();
                    self.go_to_candidate()?;
                }
                None => self.iter.seek_to_first(),
            }
        } else if self.iter.current()?.is_none() {
            return Ok(false);
        } else if skip_key {
            self.leave_key()?;
        } else {
            self.iter.next();
            if self.iter.time_of(&self.user_key)?.is_none() {
                self.follow()?;
            }
        }
        self.settle()?;
        Ok(self.iter.current()?.is_some())
    }

    /// Moves from the current position to the first version in the window.
    fn settle(&mut self) -> Result<()> {
        while let Some(version) = self.iter.current()? {
            let time = version.timestamp;
            self.user_key.clear();
            self.user_key.extend_from_slice(version.user_key);
            if time.is_zero() && self.refuses_inline {
                return Err(inline_in_window(&self.user_key));
            }
            if time > self.until {
                if !self.iter.descend(&self.user_key, self.until)? {
                    self.follow()?;
                }
            } else if time > self.after {
                return Ok(());
            } else {
                self.leave_key()?;
            }
        }
        Ok(())
    }

    /// Moves past the current key.
    fn leave_key(&mut self) -> Result<()> {
        match &mut self.candidates {
            Some(candidates) => {
                // `candidates` may be at any key up to the current one.
                if candidates
                    .current()?
                    .is_some_and(|version| version.user_key < &self.user_key[..])
                {
                    candidates.seek_key(&self.user_key);
                }
                if candidates.time_of(&self.user_key)?.is_some() {
                    candidates.next_key();
                }
            }
            None => self.iter.next_key(),
        }
        self.follow()
    }

    /// Moves from a key to the first key, at or after it, that may have a version in the window.
    fn follow(&mut self) -> Result<()> {
        let (Some(candidates), Some(here)) = (&mut self.candidates, self.iter.current()?) else {
            return Ok(());
        };
        if candidates
            .current()?
            .is_some_and(|version| version.user_key < here.user_key)
        {
            candidates.seek_key(here.user_key);
        }
        self.go_to_candidate()
    }

    /// Moves to the first key, from the position of `candidates` on, that may have a version in the window.
    fn go_to_candidate(&mut self) -> Result<()> {
        let Some(candidates) = &mut self.candidates else {
            return Ok(());
        };
        while let Some(version) = candidates.current()? {
            let time = version.timestamp;
            if time.is_zero() {
                if self.refuses_inline {
                    let here = self.iter.current()?;
                    if here.is_none_or(|here| here.user_key < version.user_key) {
                        self.iter.seek_key(version.user_key);
                    }
                    if self
                        .iter
                        .time_of(version.user_key)?
                        .is_some_and(|time| time.is_zero())
                    {
                        return Ok(());
                    }
                }
                // The row may be an inline value whose removal is in a skipped table: versions may follow it.
                candidates.next();
                continue;
            }
            if time > self.until || time <= self.after {
                self.user_key.clear();
                self.user_key.extend_from_slice(version.user_key);
                match time > self.until {
                    true => drop(candidates.descend(&self.user_key, self.until)?),
                    false => candidates.next_key(),
                }
                continue;
            }
            let stands = self
                .iter
                .current()?
                .is_some_and(|here| here.user_key >= version.user_key);
            if !stands {
                self.iter.seek_key(version.user_key);
            }
            return Ok(());
        }
        self.iter.seek_behind_all();
        Ok(())
    }
}

#[cold]
pub(crate) fn inline_in_window(user_key: &[u8]) -> Error {
    Error::invalid_argument(format!(
        "{} has an inline value, which has no time and is in no window",
        crate::error::Shown(user_key)
    ))
}
