//! Snapshots divide sequence numbers into stripes: of the versions of a key within one stripe, readers see
//! only the newest.

use base::{MAX_SEQNO, SeqNo};

/// The stripes of the live snapshots. A stripe is named by its ceiling: the earliest snapshot that sees it,
/// or [`MAX_SEQNO`] where only readers without a snapshot do.
#[derive(Clone, Debug)]
pub struct Stripes {
    /// The sequence numbers of the snapshots, in ascending order.
    snapshots: Vec<SeqNo>,
    earliest: SeqNo,
    /// The stripe of the last query: entries of similar age come together.
    floor: SeqNo,
    ceiling: SeqNo,
}

impl Stripes {
    /// The stripes of `snapshots`, which may be in any order.
    pub fn new(mut snapshots: Vec<SeqNo>) -> Stripes {
        snapshots.sort_unstable();
        snapshots.dedup();
        let earliest = snapshots.first().copied().unwrap_or(MAX_SEQNO);
        Stripes {
            snapshots,
            earliest,
            floor: 0,
            ceiling: earliest,
        }
    }

    /// The earliest snapshot, or [`MAX_SEQNO`] without one: all readers see the entries up to it.
    #[inline]
    pub fn earliest(&self) -> SeqNo {
        self.earliest
    }

    /// The latest snapshot, or 0 without one.
    pub fn latest(&self) -> SeqNo {
        self.snapshots.last().copied().unwrap_or(0)
    }

    /// The ceiling of the stripe of `seqno`; [`floor`](Stripes::floor) is then its lowest sequence number.
    #[inline]
    pub fn of(&mut self, seqno: SeqNo) -> SeqNo {
        if seqno < self.floor || seqno > self.ceiling {
            self.find(seqno);
        }
        self.ceiling
    }

    /// The lowest sequence number of the stripe of the last query.
    #[inline]
    pub fn floor(&self) -> SeqNo {
        self.floor
    }

    fn find(&mut self, seqno: SeqNo) {
        let at = self.snapshots.partition_point(|&snapshot| snapshot < seqno);
        self.ceiling = self.snapshots.get(at).copied().unwrap_or(MAX_SEQNO);
        self.floor = if at == 0 { 0 } else { self.snapshots[at - 1] + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripe_ends_at_the_snapshot_that_sees_it() {
        let mut stripes = Stripes::new(vec![9, 4, 4]);
        let found: Vec<_> = [0, 4, 5, 9, 10, MAX_SEQNO, 1]
            .into_iter()
            .map(|seqno| (stripes.of(seqno), stripes.floor()))
            .collect();
        assert_eq!(
            found,
            [
                (4, 0),
                (4, 0),
                (9, 5),
                (9, 5),
                (MAX_SEQNO, 10),
                (MAX_SEQNO, 10),
                (4, 0)
            ]
        );
        assert_eq!((stripes.earliest(), stripes.latest()), (4, 9));
    }

    #[test]
    fn without_snapshots_there_is_one() {
        let mut stripes = Stripes::new(Vec::new());
        assert_eq!((stripes.of(0), stripes.of(MAX_SEQNO)), (MAX_SEQNO, MAX_SEQNO));
        assert_eq!((stripes.earliest(), stripes.latest()), (MAX_SEQNO, 0));
    }
}
