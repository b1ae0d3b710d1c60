//! Reads as of a time: of one key, or of a span in either direction.
//!
//! A reader sees the newest version of each key at or below the time. The iterator reaches that version, and
//! from it the next key, by a few steps or by a seek, and learns which is cheaper
//! ([`StepsBeforeSeek`](base::steps::StepsBeforeSeek)). Then it checks whether a range tombstone hides the
//! version.

use crate::error::{Error, Result};
use crate::key::mvcc_key::{MvccKey, next_user_key};
use crate::key::range_stack::newest_until;
use crate::key::ranges::{Cover, Order, Ranges};
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::key::value::is_tombstone;
use crate::read::range_mask::Mask;
use crate::read::reader::Reader;
use crate::read::results::{
    GetResult, MvccReadOptions, Resume, ResumeReason, ScanResult, Versioned, check_key,
};
use crate::read::rows::Rows;
use crate::read::version_iter::{Found, Version, VersionIter, mixed};

/// The newest version at or above the time of a read, for reads that fail if there is one.
struct TooRecent {
    key: Vec<u8>,
    timestamp: Timestamp,
}

impl Reader<'_> {
    /// The version of `user_key` at `timestamp`. [`reverse`](MvccReadOptions::reverse) is ignored.
    ///
    /// # Errors
    /// `InvalidArgument` for the empty key and an invalid time ([`Timestamp::check`]),
    /// [`Error::BelowThreshold`] for a time at or below the threshold that the reader knows of,
    /// [`Error::WriteTooOld`] as the options define it, errors of the engine.
    pub fn get(&self, user_key: &[u8], timestamp: Timestamp, options: &MvccReadOptions) -> Result<GetResult> {
        check_key(user_key)?;
        self.check_time(timestamp)?;
        let end = next_user_key(user_key);
        let span = Span::new(user_key, &end);
        let mut result = GetResult {
            resume: nothing_wanted(span, options),
            ..GetResult::default()
        };
        if result.resume.is_some() {
            return Ok(result);
        }
        let mut iter = self.versions_of_one()?;
        let mut too_recent = None;
        let mut found = None;
        // Versions newer than the read's time do not matter here, so the seek goes to that time. If there is
        // no version, the key may have an inline value.
        if !options.fail_on_more_recent {
            found = iter.seek_newest_at(user_key, timestamp)?;
        }
        if found.is_none() {
            iter.seek_key(user_key);
            found = match iter.time_of(user_key)? {
                Some(newest) if options.fail_on_more_recent => {
                    let is_seen = settle(&mut iter, user_key, newest, timestamp, options, &mut too_recent)?;
                    is_seen.then_some(newest)
                }
                newest => newest.filter(|newest| newest.is_zero()),
            };
        }
        let mut deleted = None;
        if let Some(stack) = self.ranges().and_then(|ranges| ranges.stack(user_key)) {
            if options.fail_on_more_recent && stack[0] >= timestamp {
                note(&mut too_recent, user_key, stack[0]);
            }
            let hides = |at: &Timestamp| found.is_none_or(|hidden| !hidden.is_zero() && hidden <= *at);
            deleted = newest_until(stack, timestamp).filter(hides);
        }
        result.counters = iter.counters;
        let version = match (deleted, found) {
            (Some(at), _) => Some(deletion(user_key, at)),
            (None, Some(_)) => Some(iter.version()?),
            (None, None) => None,
        };
        let is_deleted = version.is_some_and(|version| is_tombstone(version.stored));
        if is_deleted && !options.tombstones {
            result.counters.tombstones += 1;
        } else if let Some(version) = version {
            let key = MvccKey {
                user_key,
                timestamp: version.timestamp,
            };
            let size = Rows::size_of(key, version.stored.len());
            if options.allow_empty && options.target_bytes.is_some_and(|target| size > target) {
                result.resume = Some(Resume {
                    next_bytes: size,
                    ..Resume::of(span, ResumeReason::ByteLimit)
                });
            } else {
                result.found = Some(Versioned {
                    timestamp: version.timestamp,
                    stored: version.stored.to_vec(),
                });
                result.counters.rows += 1;
            }
        }
        refuse(too_recent, timestamp)?;
        Ok(result)
    }

    /// Scans as [`scan`](Self::scan) does, without regard to [`whole_rows`](MvccReadOptions::whole_rows).
    pub(crate) fn scan_values(
        &self,
        span: Span<'_>,
        timestamp: Timestamp,
        options: &MvccReadOptions,
    ) -> Result<ScanResult> {
        Ok(self.scan_for(span, timestamp, options, Wanted::Values)?.0)
    }

    /// A forward scan for keys without values, limited only by the number of keys. Also returns the length of
    /// each key's value, or 0 unless `weighs`.
    pub(crate) fn scan_keys(
        &self,
        span: Span<'_>,
        timestamp: Timestamp,
        options: &MvccReadOptions,
        weighs: bool,
    ) -> Result<(ScanResult, Vec<usize>)> {
        debug_assert!(!options.reverse);
        self.scan_for(span, timestamp, options, Wanted::Keys { weighs })
    }

    fn scan_for(
        &self,
        span: Span<'_>,
        timestamp: Timestamp,
        options: &MvccReadOptions,
        wanted: Wanted,
    ) -> Result<(ScanResult, Vec<usize>)> {
        if let Some(end) = span.end {
            check_key(end)?;
        }
        self.check_time(timestamp)?;
        let mut result = ScanResult::default();
        if span.is_empty() {
            return Ok((result, Vec::new()));
        }
        result.resume = nothing_wanted(span, options);
        if result.resume.is_some() {
            return Ok((result, Vec::new()));
        }
        let mut scan = Scan {
            iter: self.versions(span)?,
            covered: self.covered(span, options.reverse),
            span,
            timestamp,
            options,
            wanted,
            result,
            value_lens: Vec::new(),
            too_recent: None,
        };
        match (options.reverse, scan.covered.is_some()) {
            (false, false) => scan.forwards::<false>()?,
            (false, true) => scan.forwards::<true>()?,
            (true, false) => scan.backwards::<false>()?,
            (true, true) => scan.backwards::<true>()?,
        }
        if let Some(ranges) = self.ranges().filter(|_| options.fail_on_more_recent) {
            record_ranges(&mut scan, ranges);
        }
        scan.result.counters += scan.iter.counters;
        if let Some(covered) = &scan.covered {
            scan.result.counters += covered.mask.counters();
        }
        scan.result.counters.rows += scan.result.rows.len();
        if let Some(totals) = self.totals {
            totals.add(&scan.result.counters);
        }
        refuse(scan.too_recent, timestamp)?;
        Ok((scan.result, scan.value_lens))
    }

    fn covered<'a>(&'a self, span: Span<'a>, reverse: bool) -> Option<Covered<'a>> {
        let order = if reverse {
            Order::Backwards
        } else {
            Order::Forwards
        };
        self.cover(order).map(|cover| Covered {
            cover,
            mask: Mask::new(self, span),
        })
    }
}

fn refuse(too_recent: Option<TooRecent>, timestamp: Timestamp) -> Result<()> {
    match too_recent {
        Some(found) => Err(Error::WriteTooOld {
            key: found.key,
            timestamp,
            actual: found.timestamp.next(),
        }),
        None => Ok(()),
    }
}

fn nothing_wanted(span: Span<'_>, options: &MvccReadOptions) -> Option<Resume> {
    match (options.max_keys, options.target_bytes) {
        (Some(0), _) => Some(Resume::of(span, ResumeReason::KeyLimit)),
        (_, Some(0)) => Some(Resume::of(span, ResumeReason::ByteLimit)),
        _ => None,
    }
}

/// Moves the iterator from the first version of `user_key`, at `newest`, to the one that a reader at
/// `timestamp` sees. False if there is none, or if a version was found that must not exist.
fn settle(
    iter: &mut VersionIter,
    user_key: &[u8],
    newest: Timestamp,
    timestamp: Timestamp,
    options: &MvccReadOptions,
    too_recent: &mut Option<TooRecent>,
) -> Result<bool> {
    if newest.is_zero() || newest < timestamp || newest == timestamp && !options.fail_on_more_recent {
        return Ok(true);
    }
    if options.fail_on_more_recent {
        note(too_recent, user_key, newest);
        return Ok(false);
    }
    iter.descend(user_key, timestamp)
}

/// Records the key with the newest time, the first of several.
fn note(too_recent: &mut Option<TooRecent>, user_key: &[u8], newest: Timestamp) {
    if too_recent.as_ref().is_none_or(|found| newest > found.timestamp) {
        *too_recent = Some(TooRecent {
            key: user_key.to_vec(),
            timestamp: newest,
        });
    }
}

/// Notes, as `note` does, the range tombstones over the part that a scan has read.
fn record_ranges(scan: &mut Scan<'_>, ranges: &Ranges) {
    let mut read = scan.span;
    match &scan.result.resume {
        Some(left) if scan.options.reverse => read.start = left.end.as_deref().unwrap_or_default(),
        Some(left) => read.end = Some(&left.start),
        None => {}
    }
    for fragment in ranges.overlapping(read) {
        let newest = fragment.stack[0];
        if newest < scan.timestamp {
            continue;
        }
        let key = read.start.max(&fragment.start);
        let is_met_before = |found: &TooRecent| match scan.options.reverse {
            false => key < &found.key[..],
            true => key > &found.key[..],
        };
        match &mut scan.too_recent {
            Some(found) if found.timestamp == newest && is_met_before(found) => found.key = key.to_vec(),
            found => note(found, key, newest),
        }
    }
}

/// The deletion that a range tombstone puts in place of a key's version.
fn deletion(user_key: &[u8], timestamp: Timestamp) -> Version<'_> {
    Version {
        user_key,
        timestamp,
        stored: &[],
    }
}

/// The state of a scan if there are range tombstones.
struct Covered<'a> {
    cover: Cover,
    mask: Mask<'a>,
}

/// The purpose of a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Values,
    /// Keys, and the lengths of values if `weighs`.
    Keys {
        weighs: bool,
    },
}

struct Scan<'a> {
    iter: VersionIter,
    /// The range tombstones of the scan; `None` if there are none.
    covered: Option<Covered<'a>>,
    span: Span<'a>,
    timestamp: Timestamp,
    options: &'a MvccReadOptions,
    wanted: Wanted,
    result: ScanResult,
    /// The length of each row's value, for a scan of keys.
    value_lens: Vec<usize>,
    too_recent: Option<TooRecent>,
}

/// The outcome for a version that a reader sees.
enum Taken {
    /// The version was returned or skipped.
    GoOn,
    /// The version was returned, and no more keys are wanted.
    Full,
    /// The version was not returned, because a row of this many bytes exceeds the limit.
    TooLarge(u64),
}

// Each direction has two variants: without range tombstones, the loop contains no code for them.
impl Scan<'_> {
    fn forwards<const COVERED: bool>(&mut self) -> Result<()> {
        let mut user_key = Vec::new();
        self.iter.seek_to_first();
        while let Some(version) = self.iter.current()? {
            user_key.clear();
            user_key.extend_from_slice(version.user_key);
            let (newest, options, timestamp) = (version.timestamp, self.options, self.timestamp);
            if !settle(
                &mut self.iter,
                &user_key,
                newest,
                timestamp,
                options,
                &mut self.too_recent,
            )? {
                // The iterator is either past the key already, or at its newest version.
                if self.iter.time_of(&user_key)?.is_some() {
                    self.iter.next_key();
                }
                continue;
            }
            let Some(seen) = self.iter.current()? else {
                break;
            };
            let mut deleted = None;
            if COVERED && let Some(Covered { cover, mask }) = &mut self.covered {
                deleted = cover.hides(seen.user_key, seen.timestamp, timestamp);
                let skips = mask.note(deleted.is_some()) && !options.tombstones;
                if let (Some(at), Some(fragment)) = (deleted, cover.fragment().filter(|_| skips)) {
                    self.result.counters.tombstones += 1;
                    mask.skip_forwards(&mut self.iter, fragment, at, &user_key)?;
                    continue;
                }
            }
            let taken = match (deleted, self.wanted) {
                (Some(at), _) => take(&mut self.result, options, deletion(&user_key, at)),
                (None, Wanted::Keys { weighs }) => {
                    let time = seen.timestamp;
                    self.take_key(&user_key, time, weighs)?
                }
                (None, Wanted::Values) => {
                    let len = self.iter.unread_len()?;
                    match len.and_then(|len| too_large(&self.result, options, seen, len)) {
                        Some(size) => Taken::TooLarge(size),
                        None => take(&mut self.result, options, self.iter.version()?),
                    }
                }
            };
            match taken {
                Taken::GoOn => self.iter.next_key(),
                Taken::Full => {
                    self.iter.next_key();
                    let next = self.iter.current()?.map(|version| version.user_key.to_vec());
                    self.result.resume = next.map(|start| Resume {
                        start,
                        ..Resume::of(self.span, ResumeReason::KeyLimit)
                    });
                    break;
                }
                Taken::TooLarge(next_bytes) => {
                    self.result.resume = Some(Resume {
                        start: user_key,
                        next_bytes,
                        ..Resume::of(self.span, ResumeReason::ByteLimit)
                    });
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the version of `user_key` at the iterator's position without its value, if it has one.
    fn take_key(&mut self, user_key: &[u8], timestamp: Timestamp, weighs: bool) -> Result<Taken> {
        if self.iter.is_tombstone()? {
            self.result.counters.tombstones += 1;
            return Ok(Taken::GoOn);
        }
        self.value_lens
            .push(if weighs { self.iter.value_len()? } else { 0 });
        let rows = &mut self.result.rows;
        rows.push(user_key, timestamp, &[]);
        let is_full = self.options.max_keys.is_some_and(|most| rows.len() >= most);
        Ok(match is_full {
            true => Taken::Full,
            false => Taken::GoOn,
        })
    }

    fn backwards<const COVERED: bool>(&mut self) -> Result<()> {
        let mut user_key = Vec::new();
        let mut found = Found::default();
        self.iter.seek_to_last();
        while let Some(oldest) = self.iter.current()? {
            user_key.clear();
            user_key.extend_from_slice(oldest.user_key);
            // The iterator may be before the key already once the version is found.
            let mut before = false;
            if oldest.timestamp.is_zero() {
                self.iter.take(&mut found)?;
            } else if self.options.fail_on_more_recent {
                self.iter.seek_key(&user_key);
                match self.iter.current()? {
                    Some(newest) if newest.timestamp.is_zero() => return Err(mixed(&user_key)),
                    Some(newest) if newest.timestamp < self.timestamp => {
                        self.iter.take(&mut found)?;
                    }
                    Some(newest) => {
                        note(&mut self.too_recent, &user_key, newest.timestamp);
                        self.iter.seek_before(&user_key)?;
                        continue;
                    }
                    None => break,
                }
            } else if oldest.timestamp > self.timestamp {
                self.iter.prev_key(&user_key)?;
                continue;
            } else {
                before = self.iter.climb(&user_key, self.timestamp, &mut found)?;
            }
            let mut deleted = None;
            if COVERED && let Some(Covered { cover, mask }) = &mut self.covered {
                deleted = cover.hides(&user_key, found.timestamp, self.timestamp);
                let skips = mask.note(deleted.is_some()) && !self.options.tombstones;
                if let (Some(at), Some(fragment)) = (deleted, cover.fragment().filter(|_| skips)) {
                    self.result.counters.tombstones += 1;
                    mask.skip_backwards(&mut self.iter, fragment, at, &user_key)?;
                    continue;
                }
            }
            let taken = match deleted {
                Some(at) => take(&mut self.result, self.options, deletion(&user_key, at)),
                None => self.take_found(&user_key, &mut found, &mut before)?,
            };
            match taken {
                Taken::GoOn => {
                    if !before {
                        self.iter.prev_key(&user_key)?;
                    }
                }
                Taken::Full => {
                    if !before {
                        self.iter.prev_key(&user_key)?;
                    }
                    let last = self
                        .iter
                        .current()?
                        .map(|version| next_user_key(version.user_key));
                    self.result.resume = last.map(|end| Resume {
                        end: Some(end),
                        ..Resume::of(self.span, ResumeReason::KeyLimit)
                    });
                    break;
                }
                Taken::TooLarge(next_bytes) => {
                    self.result.resume = Some(Resume {
                        end: Some(next_user_key(&user_key)),
                        next_bytes,
                        ..Resume::of(self.span, ResumeReason::ByteLimit)
                    });
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the version of `user_key` that was found, if a row of its size is within the limit. If its
    /// value must be read first, the iterator is at the key afterwards, and `before` is false.
    #[inline]
    fn take_found(&mut self, user_key: &[u8], found: &mut Found, before: &mut bool) -> Result<Taken> {
        let seen = MvccKey {
            user_key,
            timestamp: found.timestamp,
        };
        let size = found
            .unread_len
            .and_then(|len| too_large(&self.result, self.options, seen, len));
        if let Some(size) = size {
            return Ok(Taken::TooLarge(size));
        }
        if !found.is_read {
            self.iter.read(user_key, found)?;
            *before = false;
        }
        let version = Version {
            user_key,
            timestamp: found.timestamp,
            stored: &found.stored,
        };
        Ok(take(&mut self.result, self.options, version))
    }
}

/// The size of a row, whose value has `value_len` bytes, if the row is wanted and exceeds the limit.
#[inline]
fn too_large(
    result: &ScanResult,
    options: &MvccReadOptions,
    key: MvccKey<'_>,
    value_len: usize,
) -> Option<u64> {
    let target = options.target_bytes?;
    // A deletion that is not returned takes no room, so it is never too large.
    if value_len == 0 && !options.tombstones {
        return None;
    }
    let size = Rows::size_of(key, value_len);
    let may_be_first = !options.allow_empty && result.rows.is_empty();
    (!may_be_first && result.rows.bytes() + size > target).then_some(size)
}

/// Returns a version that the reader sees, if it is wanted and the limits allow it.
fn take(result: &mut ScanResult, options: &MvccReadOptions, version: Version<'_>) -> Taken {
    if is_tombstone(version.stored) && !options.tombstones {
        result.counters.tombstones += 1;
        return Taken::GoOn;
    }
    let seen = MvccKey {
        user_key: version.user_key,
        timestamp: version.timestamp,
    };
    if let Some(size) = too_large(result, options, seen, version.stored.len()) {
        return Taken::TooLarge(size);
    }
    let rows = &mut result.rows;
    rows.push(version.user_key, version.timestamp, version.stored);
    match options.max_keys.is_some_and(|most| rows.len() >= most) {
        true => Taken::Full,
        false => Taken::GoOn,
    }
}
