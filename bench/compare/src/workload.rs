//! The names of the workloads.

use std::fmt;
use std::str::FromStr;

use crate::transaction::{Control, Keys};

/// A workload by its name. A number after a name is one that the workload needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Creates the database of the reading workloads; the comparison starts it before them.
    Load,
    /// Writes new keys in ascending order.
    FillSeq,
    /// Writes new keys in descending order.
    FillSeqDesc,
    /// Writes several streams of ascending keys at once.
    FillStreams(u64),
    /// Writes several streams of ascending keys at once, until nothing is left to compact.
    FillStreamsAndWait(u64),
    /// Writes several streams of ascending keys, one after the other.
    FillStreamsInTurn(u64),
    /// Writes random keys.
    FillRandom,
    /// Writes every key once, in random order, until nothing is left to compact.
    FillUniqueRandomAndWait,
    /// Writes ascending keys in batches of this number of keys.
    FillSeqBatch(u64),
    /// Writes random keys in batches of this number of keys.
    FillRandomBatch(u64),
    /// Overwrites random keys of a database that has all keys.
    Overwrite,
    /// Overwrites random keys of a database that has all keys, until nothing is left to compact.
    OverwriteAndWait,
    /// Overwrites at full speed; the time of an operation is the 99.9th percentile.
    OverwriteTail,
    /// Writes random keys and syncs every write. It makes a hundredth of the writes of the other workloads.
    FillSync,
    /// Two memtables and more of random keys, not compacted yet, become one level. An operation is a KiB of
    /// input.
    Compact,
    /// A published setting of mixgraph.
    Mixgraph(&'static str),
    /// The open of a database whose WAL has so many MiB of rows; an operation is a row.
    Recovery(u64),
    /// Each transaction reads two rows for update and puts them; an operation is a transaction.
    Transact(Control, Keys),
    /// Random existing keys.
    ReadRandom,
    /// Absent keys between existing ones.
    ReadMissing,
    /// The number of keys of one MultiGet.
    MultiReadRandom(u64),
    /// A scan of everything.
    ReadSeq,
    /// A scan of everything, backwards.
    ReadReverse,
    /// The number of steps after each seek.
    SeekRandom(u64),
    /// The number of backward steps after each seek.
    SeekReverse(u64),
    /// Reads random keys while another thread writes.
    ReadWhileWriting,
    /// The number of steps after each seek, while another thread writes.
    FwdRangeWhileWriting(u64),
    /// The number of backward steps after each seek, while another thread writes.
    RevRangeWhileWriting(u64),
    /// Range tombstones in the memtable when the reads begin; the writer adds one every fifty writes.
    ReadWhileDeleting(u64),
}

use Workload::{
    Compact, FillRandom, FillRandomBatch, FillSeq, FillSeqBatch, FillSeqDesc, FillStreams,
    FillStreamsAndWait, FillStreamsInTurn, FillSync, FillUniqueRandomAndWait, FwdRangeWhileWriting, Load,
    Mixgraph, MultiReadRandom, Overwrite, OverwriteAndWait, OverwriteTail, ReadMissing, ReadRandom,
    ReadReverse, ReadSeq, ReadWhileDeleting, ReadWhileWriting, Recovery, RevRangeWhileWriting, SeekRandom,
    SeekReverse, Transact,
};

const PLAIN: &[(&str, Workload)] = &[
    ("load", Load),
    ("fillseq", FillSeq),
    ("fillseqdesc", FillSeqDesc),
    ("fillrandom", FillRandom),
    ("filluniquerandomandwait", FillUniqueRandomAndWait),
    ("overwrite", Overwrite),
    ("overwriteandwait", OverwriteAndWait),
    ("overwritetail", OverwriteTail),
    ("fillsync", FillSync),
    ("compact", Compact),
    ("mixgraph_all_dist", Mixgraph("all_dist")),
    ("mixgraph_prefix_dist", Mixgraph("prefix_dist")),
    ("mixgraph_all_random", Mixgraph("all_random")),
    ("mixgraph_prefix_random", Mixgraph("prefix_random")),
    ("randomtransaction", Transact(Control::Locks, Keys::Cold)),
    ("randomtransactionhot", Transact(Control::Locks, Keys::Hot)),
    ("randomtransaction2pc", Transact(Control::TwoPhases, Keys::Cold)),
    ("randomtransaction2pchot", Transact(Control::TwoPhases, Keys::Hot)),
    (
        "randomtransactionoptimistic",
        Transact(Control::Optimistic, Keys::Cold),
    ),
    (
        "randomtransactionoptimistichot",
        Transact(Control::Optimistic, Keys::Hot),
    ),
    ("readrandom", ReadRandom),
    ("readmissing", ReadMissing),
    ("readseq", ReadSeq),
    ("readreverse", ReadReverse),
    ("readwhilewriting", ReadWhileWriting),
];

/// A function that makes a workload from the number after its name.
type Numbered = fn(u64) -> Workload;

/// With the smallest valid number.
const NUMBERED: &[(&str, u64, Numbered)] = &[
    ("fillstreamsinturn", 1, FillStreamsInTurn),
    ("fillstreamsandwait", 1, FillStreamsAndWait),
    ("fillstreams", 1, FillStreams),
    ("fillseqbatch", 1, FillSeqBatch),
    ("fillrandombatch", 1, FillRandomBatch),
    ("recovery", 1, Recovery),
    ("multireadrandom", 1, MultiReadRandom),
    ("seekrandom", 0, SeekRandom),
    ("seekreverse", 0, SeekReverse),
    ("fwdrangewhilewriting", 0, FwdRangeWhileWriting),
    ("revrangewhilewriting", 0, RevRangeWhileWriting),
    ("readwhiledeleting", 0, ReadWhileDeleting),
];

impl FromStr for Workload {
    type Err = String;

    fn from_str(name: &str) -> Result<Workload, String> {
        let plain = PLAIN.iter().find(|(known, _)| *known == name);
        let numbered = || {
            NUMBERED.iter().find_map(|(known, least, make)| {
                let number = name.strip_prefix(known)?.parse().ok()?;
                (number >= *least).then(|| make(number))
            })
        };
        plain
            .map(|(_, workload)| *workload)
            .or_else(numbered)
            .ok_or_else(|| {
                let plain = PLAIN.iter().map(|(name, _)| (*name).to_owned());
                let numbered = NUMBERED.iter().map(|(name, ..)| format!("{name}<N>"));
                let names: Vec<String> = plain.chain(numbered).collect();
                format!("unknown benchmark {name:?}; there are {}", names.join(", "))
            })
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = PLAIN.iter().find(|(_, workload)| workload == self);
        match (plain, self.number()) {
            (Some((name, _)), _) => out.write_str(name),
            (None, number) => {
                let found = NUMBERED.iter().find(|(.., make)| make(number) == *self);
                write!(out, "{}{number}", found.map_or("", |(name, ..)| name))
            }
        }
    }
}

impl Workload {
    fn number(self) -> u64 {
        match self {
            FillStreams(number)
            | FillStreamsAndWait(number)
            | FillStreamsInTurn(number)
            | FillSeqBatch(number)
            | FillRandomBatch(number)
            | Recovery(number)
            | MultiReadRandom(number)
            | SeekRandom(number)
            | SeekReverse(number)
            | FwdRangeWhileWriting(number)
            | RevRangeWhileWriting(number)
            | ReadWhileDeleting(number) => number,
            _ => 0,
        }
    }

    /// True if it needs a loaded database.
    pub fn is_read(self) -> bool {
        !self.is_fill()
    }

    /// True if the workload reads a loaded database and changes it.
    pub fn changes_what_it_reads(self) -> bool {
        matches!(
            self,
            ReadWhileWriting | FwdRangeWhileWriting(_) | RevRangeWhileWriting(_) | ReadWhileDeleting(_)
        )
    }

    /// True if automatic compactions are disabled, so that nothing is compacted before the workload requests
    /// it.
    pub fn disables_auto_compactions(self) -> bool {
        self == Compact
    }

    /// True if each write of the workload is synced, whatever the settings.
    pub fn syncs(self) -> bool {
        self == FillSync
    }

    fn is_fill(self) -> bool {
        matches!(
            self,
            Load | FillSeq
                | FillSeqDesc
                | FillStreams(_)
                | FillStreamsAndWait(_)
                | FillStreamsInTurn(_)
                | FillSeqBatch(_)
                | FillRandomBatch(_)
                | FillRandom
                | FillSync
                | FillUniqueRandomAndWait
                | Overwrite
                | OverwriteAndWait
                | OverwriteTail
                | Compact
                | Mixgraph(_)
                | Recovery(_)
                | Transact(..)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for name in [
            "fillseq",
            "fillstreams8",
            "fillstreamsinturn2",
            "seekrandom100",
            "seekreverse0",
            "readmissing",
            "readwhiledeleting3000",
            "recovery500",
            "fillrandombatch1000",
            "mixgraph_all_dist",
            "fillstreamsandwait8",
            "filluniquerandomandwait",
        ] {
            assert_eq!(name.parse::<Workload>().unwrap().to_string(), name);
        }
        for name in ["", "fillstreams", "fillstreams0", "seekrandomx", "readsq"] {
            let error = name.parse::<Workload>().unwrap_err();
            assert!(error.contains("fillstreamsinturn<N>"), "{name}");
        }
    }

    #[test]
    fn what_reads_needs_a_database() {
        let of = |name: &str| name.parse::<Workload>().unwrap();
        assert!(of("multireadrandom10").is_read() && !of("overwrite").is_read());
        assert!(of("fwdrangewhilewriting10").changes_what_it_reads());
        assert!(!of("seekrandom10").changes_what_it_reads());
    }
}
