//! The suite accepts a correct cursor and rejects wrong ones.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Error, UserComparator};

use super::*;
use crate::keys::entries;

fn bytewise() -> InternalComparator {
    InternalComparator::new(UserComparator::Bytewise)
}

fn sample() -> Vec<(Vec<u8>, Vec<u8>)> {
    entries("a@9:new a@5:old a@3#del aa@7 ab@2#merge:m b@100:v c@8 c@7 c@6 d@1#sdel \\xff@4:last")
}

#[test]
fn a_right_cursor_passes() {
    for (cmp, entries) in [
        (bytewise(), sample()),
        (bytewise(), Vec::new()),
        (bytewise(), entries("only@1:v")),
        (bytewise(), entries("@1:empty-key")),
        (
            InternalComparator::new(UserComparator::ReverseBytewise),
            entries("d@1:v c@8:v c@7:v b@100:v a@9:v"),
        ),
    ] {
        check_cursor(
            || VecCursor::new(entries.clone(), cmp.clone()),
            &entries,
            &cmp,
            crate::rng::seed(),
        );
    }
}

#[test]
fn large_inputs_are_sampled() {
    let entries: Vec<_> = (0..20_000u32)
        .map(|i| {
            (
                internal_key::encode(&i.to_be_bytes(), 5, base::Kind::Value),
                vec![i as u8],
            )
        })
        .collect();
    let mut rng = TestRng::with_seed(1);
    assert!(targets(&entries, &mut rng).len() <= MOST_TARGETS + 4);
}

/// The bug planted into the cursor under test.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bug {
    SeekIsStrict,
    SeekForPrevIsStrict,
    SeekIgnoresSeqno,
    NextSkipsOneAfterPrev,
    PrevIsLostAfterSeek,
    EndIsSticky,
    ValueOfNeighbour,
    LastEntryMissing,
    ValidAtBirth,
    StatusAtEnd,
}

struct Buggy {
    inner: VecCursor,
    bug: Bug,
    reversed: bool,
    sought: bool,
    ended: bool,
}

impl Buggy {
    fn new(bug: Bug, mut entries: Vec<(Vec<u8>, Vec<u8>)>) -> Buggy {
        if bug == Bug::LastEntryMissing {
            entries.pop();
        }
        let mut inner = VecCursor::new(entries, bytewise());
        if bug == Bug::ValidAtBirth {
            inner.seek_to_first();
        }
        Buggy {
            inner,
            bug,
            reversed: false,
            sought: false,
            ended: false,
        }
    }

    fn moved(&mut self, reversed: bool, sought: bool) {
        self.reversed = reversed;
        self.sought = sought;
        self.ended |= !self.inner.valid();
    }
}

impl Cursor for Buggy {
    fn valid(&self) -> bool {
        self.inner.valid() && !(self.bug == Bug::EndIsSticky && self.ended)
    }
    fn seek_to_first(&mut self) {
        self.inner.seek_to_first();
        self.moved(false, false);
    }
    fn seek_to_last(&mut self) {
        self.inner.seek_to_last();
        self.moved(true, false);
    }
    fn seek(&mut self, target: &[u8]) {
        let target = match self.bug {
            Bug::SeekIgnoresSeqno => internal_key::encode(
                internal_key::user_key(target),
                base::MAX_SEQNO,
                base::Kind::ValuePreferredSeqno,
            ),
            _ => target.to_vec(),
        };
        self.inner.seek(&target);
        if self.bug == Bug::SeekIsStrict && self.inner.valid() && self.inner.key() == &target[..] {
            self.inner.next();
        }
        self.moved(false, true);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.inner.seek_for_prev(target);
        if self.bug == Bug::SeekForPrevIsStrict && self.inner.valid() && self.inner.key() == target {
            self.inner.prev();
        }
        self.moved(true, false);
    }
    fn next(&mut self) {
        self.inner.next();
        if self.bug == Bug::NextSkipsOneAfterPrev && self.reversed && self.inner.valid() {
            self.inner.next();
        }
        self.moved(false, false);
    }
    fn prev(&mut self) {
        if !(self.bug == Bug::PrevIsLostAfterSeek && self.sought) {
            self.inner.prev();
        }
        self.moved(true, false);
    }
    fn key(&self) -> &[u8] {
        self.inner.key()
    }
    fn value(&self) -> &[u8] {
        match (self.bug, self.inner.at) {
            (Bug::ValueOfNeighbour, Some(at)) if self.reversed && at > 0 => &self.inner.entries[at - 1].1,
            _ => self.inner.value(),
        }
    }
    fn status(&self) -> base::Result<()> {
        if self.bug == Bug::StatusAtEnd && self.ended {
            return Err(Error::corruption("planted"));
        }
        Ok(())
    }
}

#[test]
fn every_planted_bug_is_caught() {
    for bug in [
        Bug::SeekIsStrict,
        Bug::SeekForPrevIsStrict,
        Bug::SeekIgnoresSeqno,
        Bug::NextSkipsOneAfterPrev,
        Bug::PrevIsLostAfterSeek,
        Bug::EndIsSticky,
        Bug::ValueOfNeighbour,
        Bug::LastEntryMissing,
        Bug::ValidAtBirth,
        Bug::StatusAtEnd,
    ] {
        let run = || check_cursor(|| Buggy::new(bug, sample()), &sample(), &bytewise(), 7);
        assert!(
            catch_unwind(AssertUnwindSafe(run)).is_err(),
            "{bug:?} was not caught"
        );
    }
}
