//! Steps backwards. The cursor meets the oldest entry of a key first, and the visible one is known when the
//! cursor is before all of them.

use base::internal_key::{self, ParsedInternalKey};
use base::{Cursor, Kind};

use super::super::merging_cursor::before_key;
use super::{DbIterator, DbPosition, newest_visible};

impl DbIterator {
    /// Moves the cursor before every entry of `saved_key`.
    pub(super) fn step_before_saved_key(&mut self) {
        for _ in 0..self.max_skip {
            if !self.cursor.valid() {
                break;
            }
            let user_key = internal_key::user_key(self.cursor.key());
            if self
                .user()
                .compare_without_timestamp(user_key, &self.saved_key)
                .is_lt()
            {
                return;
            }
            self.cursor.prev();
        }
        self.seek_before_saved_key();
    }

    fn seek_before_saved_key(&mut self) {
        let user = self.family.cmp.user();
        before_key(&mut self.target, user, user.strip_timestamp(&self.saved_key));
        self.cursor.seek_for_prev(&self.target);
    }

    /// Moves backwards from the cursor's position to the first visible key.
    pub(super) fn find_prev(&mut self) {
        while self.cursor.valid() {
            let entry = match ParsedInternalKey::parse(self.cursor.key()) {
                Ok(entry) => entry,
                Err(error) => return self.fail(error),
            };
            if let Some(lower) = &self.lower
                && self
                    .user()
                    .compare_without_timestamp(entry.user_key, lower)
                    .is_lt()
            {
                break;
            }
            if self.prefix.is_some() && self.outside_prefix(entry.user_key) {
                break;
            }
            self.saved_key.clear();
            self.saved_key.extend_from_slice(entry.user_key);
            // Most keys have one entry, a plain value. The entry before it then has another key, which
            // completes the search.
            if entry.kind == Kind::Value && self.read_ts.is_none() && self.visible(&entry) {
                self.skipped += 1;
                if self.skipped - 1 > self.max_skippable {
                    return self.fail_skipped();
                }
                self.value.clear();
                self.value.extend_from_slice(self.cursor.value());
                self.cursor.prev();
                let is_newest = match self.cursor.valid() {
                    true => !self.is_saved_key(internal_key::user_key(self.cursor.key())),
                    false => self.cursor.status().is_ok(),
                };
                if is_newest {
                    self.kind = Kind::Value;
                    self.place = DbPosition::Saved;
                    return;
                }
                self.collect_backwards(Some(Kind::Value));
            } else {
                self.collect_backwards(None);
            }
            if self.valid() || self.error.is_some() {
                return;
            }
        }
        self.end();
    }

    /// The cursor is at the oldest entry of `saved_key`, or at the entry before it if the oldest was `found`,
    /// with its bytes in `value`. Steps through the entries up to the newest visible one, or seeks to it if
    /// there are many, and makes the key current unless it is deleted. The cursor ends before all entries of
    /// the key.
    fn collect_backwards(&mut self, mut found: Option<Kind>) {
        self.place = DbPosition::Nowhere;
        let mut operands: Vec<Vec<u8>> = Vec::new();
        let mut base_key = Vec::new();
        let (mut steps, mut hidden) = (u64::from(found.is_some()), 0);
        // The buffer that will hold the value, so that a backward scan allocates nothing per key.
        let mut value = std::mem::take(&mut self.value);
        while self.cursor.valid() {
            let entry = match ParsedInternalKey::parse(self.cursor.key()) {
                Ok(entry) => entry,
                Err(error) => return self.fail(error),
            };
            if !self.is_saved_key(entry.user_key) {
                break;
            }
            // One of the skipped entries may be the returned one, which does not count as skipped.
            self.skipped += 1;
            if self.skipped - 1 > self.max_skippable {
                return self.fail_skipped();
            }
            if !self.visible(&entry) {
                hidden += 1;
                if hidden > self.max_skip {
                    if entry.seqno < self.unwritten_limit {
                        // An unwritten row of the batch may be a newer entry of the key.
                        self.value = value;
                        return self.collect_by_seek();
                    }
                    self.seek_before_saved_key();
                    break;
                }
                self.cursor.prev();
                continue;
            }
            steps += 1;
            if steps > self.max_skip {
                self.value = value;
                return self.collect_by_seek();
            }
            match entry.kind {
                Kind::Merge => operands.push(self.cursor.value().to_vec()),
                kind => {
                    operands.clear();
                    found = (!kind.is_tombstone()).then_some(kind);
                    if found.is_some() {
                        value.clear();
                        value.extend_from_slice(self.cursor.value());
                        if self.read_ts.is_some() && kind != Kind::Value {
                            base_key.clear();
                            base_key.extend_from_slice(entry.user_key);
                        }
                    }
                }
            }
            if self.read_ts.is_some() {
                let (key, full) = (&mut self.saved_key, entry.user_key);
                key.clear();
                key.extend_from_slice(full);
            }
            self.cursor.prev();
        }
        if let Err(error) = self.cursor.status() {
            return self.fail(error);
        }
        if !operands.is_empty() {
            self.take_merged(found.map(|kind| (kind, value)), &base_key, &operands);
        } else if let Some(kind) = found {
            self.take_saved(kind, value);
        } else {
            self.value = value;
            if self.skipped > self.max_skippable {
                self.fail_skipped();
            }
        }
    }

    /// Finds the visible entry as [`collect_backwards`](Self::collect_backwards) does, but from the newest
    /// version down.
    #[cold]
    fn collect_by_seek(&mut self) {
        let key = self.user().strip_timestamp(&self.saved_key);
        let newest = self.newest_seqno();
        newest_visible(&mut self.target, key, self.read_ts.as_deref(), newest);
        self.cursor.seek(&self.target);
        match self.find_visible_of_saved_key() {
            Ok(Some(Kind::Merge)) => self.merge_forwards(),
            Ok(Some(kind)) if !kind.is_tombstone() => {
                self.saved_key.clear();
                let user_key = internal_key::user_key(self.cursor.key());
                self.saved_key.extend_from_slice(user_key);
                let mut value = std::mem::take(&mut self.value);
                value.clear();
                value.extend_from_slice(self.cursor.value());
                self.take_saved(kind, value);
            }
            Ok(_) => {}
            Err(error) => return self.fail(error),
        }
        if self.error.is_none() {
            self.seek_before_saved_key();
        }
    }
}
