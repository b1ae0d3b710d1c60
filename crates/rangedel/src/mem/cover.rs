//! The tombstones that span a whole node of the tree: a list that grows at its head and shares its older
//! links.

use std::sync::Arc;

use base::{SeqNo, UserComparator};

use crate::entries::{Entries, Query, append_union};

/// The maximum number of entries of a link: an addition copies one link.
const LINK: usize = 64;

/// Tombstones, newest first. Immutable; lists derived from one another share their older links.
#[derive(Debug)]
pub(super) struct Cover {
    seqnos: Vec<SeqNo>,
    timestamps: Vec<u8>,
    /// The next older link, none of whose tombstones is newer than one of this link.
    older: Option<Arc<Cover>>,
}

impl Cover {
    fn entries(&self) -> Entries<'_> {
        Entries {
            seqnos: &self.seqnos,
            timestamps: &self.timestamps,
        }
    }

    /// The list of `entries`, newest first, before `older`, none of which is newer.
    fn before(entries: Entries<'_>, mut older: Option<Arc<Cover>>) -> Option<Arc<Cover>> {
        let size = entries.timestamps.len().checked_div(entries.len()).unwrap_or(0);
        for (i, seqnos) in entries.seqnos.chunks(LINK).enumerate().rev() {
            let timestamps = &entries.timestamps[i * LINK * size..][..seqnos.len() * size];
            older = Some(Arc::new(Cover {
                seqnos: seqnos.to_vec(),
                timestamps: timestamps.to_vec(),
                older,
            }));
        }
        older
    }

    /// The list with `entries` added, newest first. Copies one link; more if writers overtook one another, so
    /// that `entries` are not newer than the whole list.
    pub fn with(cmp: &UserComparator, list: Option<Arc<Cover>>, entries: Entries<'_>) -> Option<Arc<Cover>> {
        if entries.is_empty() {
            return list;
        }
        let (mut seqnos, mut timestamps) = (entries.seqnos.to_vec(), entries.timestamps.to_vec());
        let oldest = entries.len() - 1;
        let mut older = list;
        loop {
            let joins = |link: &Cover| {
                link.seqnos.len() + seqnos.len() <= LINK
                    || link.entries().compare(cmp, 0, &entries, oldest).is_gt()
            };
            let Some(link) = older.take_if(|link| joins(link)) else {
                break;
            };
            let gathered = Entries {
                seqnos: &seqnos,
                timestamps: &timestamps,
            };
            let (mut both, mut both_timestamps) = (Vec::new(), Vec::new());
            append_union(
                cmp,
                gathered,
                link.entries(),
                None,
                &mut both,
                &mut both_timestamps,
            );
            (seqnos, timestamps) = (both, both_timestamps);
            older = link.older.clone();
        }
        let gathered = Entries {
            seqnos: &seqnos,
            timestamps: &timestamps,
        };
        Cover::before(gathered, older)
    }

    fn links(&self) -> impl Iterator<Item = &Cover> {
        std::iter::successors(Some(self), |link| link.older.as_deref())
    }

    /// The highest sequence number that counts, or 0 without one.
    pub fn newest(&self, cmp: &UserComparator, query: &Query<'_>) -> SeqNo {
        self.links()
            .filter(|link| link.seqnos.last().is_some_and(|&oldest| oldest <= query.snapshot))
            .map(|link| link.entries().newest(cmp, query))
            .find(|&seqno| seqno > 0)
            .unwrap_or(0)
    }

    /// Appends all entries to the two vectors.
    pub fn append_to(&self, seqnos: &mut Vec<SeqNo>, timestamps: &mut Vec<u8>) {
        for link in self.links() {
            seqnos.extend_from_slice(&link.seqnos);
            timestamps.extend_from_slice(&link.timestamps);
        }
    }
}

impl Drop for Cover {
    /// Drops one link after the other: a recursive drop of a long list would overflow the stack.
    fn drop(&mut self) {
        let mut older = self.older.take();
        while let Some(mut link) = older.and_then(Arc::into_inner) {
            older = link.older.take();
        }
    }
}
