//! Merge operands of the current key, resolved.

use base::internal_key::{self, ParsedInternalKey};
use base::{Cursor, Kind, Result};

use super::DbIterator;
use crate::files::blob_cache::BlobRead;
use crate::state::value::Base;

impl DbIterator {
    /// The cursor is at the newest visible entry of a key, a merge operand: resolves the merge.
    pub(super) fn merge_forwards(&mut self) {
        self.saved_key.clear();
        self.saved_key
            .extend_from_slice(internal_key::user_key(self.cursor.key()));
        let mut operands = vec![self.cursor.value().to_vec()];
        let mut base = None;
        let mut base_key = Vec::new();
        loop {
            self.cursor.next();
            match self.find_visible_of_saved_key() {
                Ok(Some(Kind::Merge)) => operands.push(self.cursor.value().to_vec()),
                Ok(Some(kind)) if !kind.is_tombstone() => {
                    if self.read_ts.is_some() {
                        base_key.extend_from_slice(internal_key::user_key(self.cursor.key()));
                    }
                    base = Some((kind, self.cursor.value().to_vec()));
                    break;
                }
                Ok(_) => break,
                Err(error) => return self.fail(error),
            }
        }
        operands.reverse();
        self.take_merged(base, &base_key, &operands);
    }

    /// Moves the cursor forwards to the first visible entry of `saved_key`, unless it is at one, and returns
    /// the kind of the entry; `None` if there is none.
    pub(super) fn find_visible_of_saved_key(&mut self) -> Result<Option<Kind>> {
        while self.cursor.valid() {
            let entry = ParsedInternalKey::parse(self.cursor.key())?;
            if !self.is_saved_key(entry.user_key) {
                break;
            }
            // After an unwritten row may follow rows written after the snapshot, which are invisible.
            if self.visible(&entry) {
                return Ok(Some(entry.kind));
            }
            self.cursor.next();
        }
        self.cursor.status()?;
        Ok(None)
    }

    /// Makes `saved_key` the current key, with `operands`, oldest first, merged into `base`. With timestamps
    /// `base_key` is the user key of `base`.
    pub(super) fn take_merged(
        &mut self,
        base: Option<(Kind, Vec<u8>)>,
        base_key: &[u8],
        operands: &[Vec<u8>],
    ) {
        let operands: Vec<&[u8]> = operands.iter().map(|operand| &operand[..]).collect();
        let base = base
            .as_ref()
            .map_or(Base::Nothing, |(kind, value)| Base::Entry(*kind, value));
        let base_key = match self.read_ts.is_some() {
            true => base_key,
            false => &self.saved_key,
        };
        match self.family.values.merge_over_older(
            base,
            base_key,
            &self.saved_key,
            &operands,
            BlobRead::from(&self.sources.read),
        ) {
            Ok((kind, bytes)) => self.take_saved(kind, bytes),
            Err(error) => self.fail(error),
        }
    }
}
