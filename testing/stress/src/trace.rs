//! The operations on the database and their results, in the database's own order, so that a crash may be
//! allowed to take the newest.
//!
//! A trace begins at a state of all keys, the base. Each operation is recorded before it calls the database,
//! with its changes, and after it has returned, with its sequence number. Sequence numbers are the order that
//! counts: everything up to one of them survives a crash. See [`restore`](crate::restore).

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use base::SeqNo;
use parking_lot::Mutex;

use crate::expected_value::ExpectedValue;

/// A change of the expected state by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A key gets this value.
    Set {
        family: usize,
        key: u64,
        value: ExpectedValue,
    },
    /// Keys from `start` to `end`, exclusive, are deleted.
    DeleteRange { family: usize, start: u64, end: u64 },
    /// A family is dropped and created again.
    Clear { family: usize },
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The sequence number of the last row that existed when the operation began.
    pub after: SeqNo,
    /// The sequence number of the operation; `None` if the database has not returned.
    pub seqno: Option<SeqNo>,
    /// The changes of the operation, which survive together.
    pub changes: Vec<Change>,
}

/// A promise of the database to keep rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// The family, or `None` for all families.
    pub family: Option<usize>,
    /// The sequence number up to which all rows are kept.
    pub upto: SeqNo,
}

/// The rows that survive together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Together {
    /// The rows of all families survive together, up to the same sequence number.
    #[default]
    All,
    /// The rows of each family survive separately: there is no WAL.
    EachFamily,
}

/// The events since the base state of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    pub together: Together,
    pub operations: Vec<Operation>,
    pub floors: Vec<Floor>,
}

/// The id of an operation that has begun.
#[derive(Clone, Copy, Debug)]
pub struct OperationId(u64);

/// Records events.
pub struct Trace {
    /// Held while an event is written: a process that is killed there writes no other event after the torn
    /// one.
    sink: Mutex<Sink>,
    next: AtomicU64,
}

enum Sink {
    Memory(Vec<u64>),
    File(File),
}

/// The words of every record: its kind, and three numbers.
const WORDS: usize = 4;

const BEGIN: u64 = 1;
const SET: u64 = 2;
const DELETE_RANGE: u64 = 3;
const CLEAR: u64 = 4;
const END: u64 = 5;
const FLOOR: u64 = 6;
const HEAD: u64 = 7;
const REFUSED: u64 = 8;

/// The number that stands for all families in the record of a promise.
const ALL: u64 = u64::MAX;

impl Trace {
    /// A trace in memory, for a database that crashes in memory.
    pub fn in_memory() -> Trace {
        Trace {
            sink: Mutex::new(Sink::Memory(Vec::new())),
            next: AtomicU64::new(0),
        }
    }

    /// A trace at the end of `file`, each event of which is one write to the kernel.
    pub fn to_file(file: File) -> Trace {
        Trace {
            sink: Mutex::new(Sink::File(file)),
            next: AtomicU64::new(0),
        }
    }

    /// Records that an operation begins. All rows up to the sequence number `after` exist at that moment.
    pub fn begin(&self, after: SeqNo, changes: &[Change]) -> io::Result<OperationId> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut words = vec![BEGIN | (changes.len() as u64) << 8, id, after, 0];
        for change in changes {
            words.extend(match *change {
                Change::Set { family, key, value } => [SET, family as u64, key, u64::from(value.bits())],
                Change::DeleteRange { family, start, end } => [DELETE_RANGE, family as u64, start, end],
                Change::Clear { family } => [CLEAR, family as u64, 0, 0],
            });
        }
        self.note(&words)?;
        Ok(OperationId(id))
    }

    /// Records that an operation was done, as `seqno`.
    pub fn end(&self, operation: OperationId, seqno: SeqNo) -> io::Result<()> {
        self.note(&[END, operation.0, seqno, 0])
    }

    /// Records that an operation was refused: no part of it was done.
    pub fn refused(&self, operation: OperationId) -> io::Result<()> {
        self.note(&[REFUSED, operation.0, 0, 0])
    }

    /// Records that the database has promised to keep rows.
    pub fn floor(&self, floor: Floor) -> io::Result<()> {
        let family = floor.family.map_or(ALL, |family| family as u64);
        self.note(&[FLOOR, family, floor.upto, 0])
    }

    /// Clears the trace: the current state becomes the base. Rows written from now on survive `together`.
    pub fn restart(&self, together: Together) -> io::Result<()> {
        match &mut *self.sink.lock() {
            Sink::Memory(words) => words.clear(),
            Sink::File(file) => file.set_len(0)?,
        }
        self.note(&[HEAD, u64::from(together == Together::EachFamily), 0, 0])
    }

    /// The events of a trace in memory.
    pub fn events_in_memory(&self) -> Events {
        match &*self.sink.lock() {
            Sink::Memory(words) => decode(words),
            Sink::File(_) => Events::default(),
        }
    }

    fn note(&self, words: &[u64]) -> io::Result<()> {
        match &mut *self.sink.lock() {
            Sink::Memory(all) => all.extend_from_slice(words),
            Sink::File(file) => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                file.write_all(&bytes)?;
            }
        }
        Ok(())
    }
}

/// The events in the bytes of a file, the last of which may be torn.
pub fn events_in(bytes: &[u8]) -> Events {
    let words: Vec<u64> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .collect();
    decode(&words)
}

fn decode(words: &[u64]) -> Events {
    let mut records = words.as_chunks::<WORDS>().0.iter();
    let mut events = Events::default();
    // Numbers are assigned before the event is recorded, so they may come in another order.
    let mut places = std::collections::HashMap::new();
    while let Some(&[head, first, second, _]) = records.next() {
        match head & 0xff {
            BEGIN => {
                let count = (head >> 8) as usize;
                if records.len() < count {
                    break;
                }
                let changes = records.by_ref().take(count).filter_map(change).collect();
                places.insert(first, events.operations.len());
                events.operations.push(Operation {
                    after: second,
                    seqno: None,
                    changes,
                });
            }
            END => {
                if let Some(place) = places.get(&first) {
                    events.operations[*place].seqno = Some(second);
                }
            }
            REFUSED => {
                if let Some(place) = places.get(&first) {
                    events.operations[*place].changes.clear();
                }
            }
            FLOOR => events.floors.push(Floor {
                family: (first != ALL).then_some(first as usize),
                upto: second,
            }),
            HEAD if first == 1 => events.together = Together::EachFamily,
            HEAD => events.together = Together::All,
            _ => break,
        }
    }
    events
}

fn change(&[kind, family, second, third]: &[u64; WORDS]) -> Option<Change> {
    let family = family as usize;
    Some(match kind {
        SET => Change::Set {
            family,
            key: second,
            value: ExpectedValue::from_bits(third as u32),
        },
        DELETE_RANGE => Change::DeleteRange {
            family,
            start: second,
            end: third,
        },
        CLEAR => Change::Clear { family },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("TRACE");
        let file = File::options().create(true).append(true).open(&path).unwrap();
        let changes = [
            Change::Set {
                family: 1,
                key: 7,
                value: ExpectedValue::NEVER.begin_write().settle(),
            },
            Change::DeleteRange {
                family: 0,
                start: 3,
                end: 9,
            },
            Change::Clear { family: 2 },
        ];
        let floor = Floor {
            family: Some(1),
            upto: 12,
        };
        let all = Floor {
            family: None,
            upto: 13,
        };
        let note = |trace: &Trace| {
            trace.restart(Together::EachFamily).unwrap();
            let first = trace.begin(11, &changes).unwrap();
            let second = trace.begin(11, &changes[..1]).unwrap();
            trace.end(second, 12).unwrap();
            trace.floor(floor).unwrap();
            trace.floor(all).unwrap();
            trace.end(first, 13).unwrap();
            trace.begin(13, &changes[1..]).unwrap();
        };
        let expected = Events {
            together: Together::EachFamily,
            operations: vec![
                Operation {
                    after: 11,
                    seqno: Some(13),
                    changes: changes.to_vec(),
                },
                Operation {
                    after: 11,
                    seqno: Some(12),
                    changes: changes[..1].to_vec(),
                },
                Operation {
                    after: 13,
                    seqno: None,
                    changes: changes[1..].to_vec(),
                },
            ],
            floors: vec![floor, all],
        };
        let memory = Trace::in_memory();
        note(&memory);
        assert_eq!(memory.events_in_memory(), expected);
        let trace = Trace::to_file(file);
        note(&trace);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(events_in(&bytes), expected);
        // A torn event at the end is ignored, and the events before it are used.
        let torn = events_in(&bytes[..bytes.len() - 1]);
        assert_eq!(torn.operations, expected.operations[..2]);
        trace.restart(Together::All).unwrap();
        let events = events_in(&std::fs::read(&path).unwrap());
        assert_eq!(events, Events::default());
    }
}
