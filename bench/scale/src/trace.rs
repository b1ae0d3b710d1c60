//! The trace of valgrind's lackey: what two threads do in turn, by instruction and address.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, BufRead};

/// The number of bytes that processors move at a time.
const LINE: u64 = 64;

/// The addresses to which the traced program writes at the start of each operation of a thread, and after
/// the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Written at the start of each operation, one for each thread.
    pub starts: [u64; 2],
    /// Written after the last operation, one for each thread.
    pub ends: [u64; 2],
}

/// Memory that an instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The address of the instruction.
    pub code: u64,
    /// The address of the memory.
    pub data: u64,
    /// The number of instructions before it.
    pub at: u64,
    /// The number of the operation.
    pub operation: u64,
    /// True if the instruction also reads the memory, and no other processor can write in between.
    pub is_atomic: bool,
}

/// The work of a thread.
#[derive(Debug, Default)]
pub struct Work {
    /// The number of operations.
    pub operations: u64,
    /// The number of instructions.
    pub instructions: u64,
    /// All writes, in order.
    pub writes: Vec<Write>,
    /// The cache lines that it reads, with the first instruction that does.
    pub reads: HashMap<u64, u64>,
}

/// A cache line that both threads touch and the first one writes, by the code that writes to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedWrites {
    /// Distinct lines of an operation that the code is the first to write, on average.
    pub lines: f64,
    /// Atomic operations on shared lines, of an operation.
    pub atomics: f64,
    /// Other writes to shared lines, of an operation.
    pub plain: f64,
}

/// Reads a trace. `is_atomic` says whether the instruction at an address is atomic.
pub fn read(mut trace: impl BufRead, marks: Marks, is_atomic: impl Fn(u64) -> bool) -> io::Result<[Work; 2]> {
    let mut works = [Work::default(), Work::default()];
    let mut current: Option<usize> = None;
    let mut known: HashMap<u64, bool> = HashMap::new();
    let (mut code, mut at) = (0, 0);
    let mut line = Vec::new();
    while trace.read_until(b'\n', &mut line)? > 0 {
        let parsed = parse(&line);
        line.clear();
        let Some((kind, address)) = parsed else {
            continue;
        };
        let thread = |marks: [u64; 2]| marks.iter().position(|&mark| mark == address);
        match kind {
            Kind::Code => {
                code = address;
                at += 1;
                if let Some(thread) = current {
                    works[thread].instructions += 1;
                }
            }
            Kind::Store if thread(marks.starts).is_some() => {
                current = thread(marks.starts);
                current
                    .into_iter()
                    .for_each(|thread| works[thread].operations += 1);
            }
            Kind::Store if thread(marks.ends).is_some() => current = None,
            kind => {
                let Some(work) = current.map(|thread| &mut works[thread]) else {
                    continue;
                };
                if kind != Kind::Store {
                    work.reads.entry(address / LINE).or_insert(code);
                }
                if kind != Kind::Load {
                    let is_atomic = *known.entry(code).or_insert_with(|| is_atomic(code));
                    work.writes.push(Write {
                        code,
                        data: address,
                        at,
                        operation: work.operations,
                        is_atomic,
                    });
                }
            }
        }
    }
    Ok(works)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Load,
    Store,
    Modify,
}

/// Parses `I  04016b80,3`, ` S 1ffefff7e0,8`, ` L …` or ` M …`.
fn parse(line: &[u8]) -> Option<(Kind, u64)> {
    let kind = match line.get(..3)? {
        b"I  " => Kind::Code,
        b" L " => Kind::Load,
        b" S " => Kind::Store,
        b" M " => Kind::Modify,
        _ => return None,
    };
    let comma = line.iter().position(|&byte| byte == b',')?;
    let address = std::str::from_utf8(&line[3..comma]).ok()?;
    Some((kind, u64::from_str_radix(address, 16).ok()?))
}

impl Work {
    fn lines(&self) -> HashSet<u64> {
        let written = self.writes.iter().map(|write| write.data / LINE);
        written.chain(self.reads.keys().copied()).collect()
    }

    /// The writes to lines that `other` touches too, by the code that writes.
    pub fn shared_with(&self, other: &Work) -> BTreeMap<u64, SharedWrites> {
        let others = other.lines();
        let mut shared: BTreeMap<u64, SharedWrites> = BTreeMap::new();
        let mut seen = HashSet::new();
        let one = 1.0 / self.operations.max(1) as f64;
        for write in self
            .writes
            .iter()
            .filter(|write| others.contains(&(write.data / LINE)))
        {
            let counts = shared.entry(write.code).or_default();
            match write.is_atomic {
                true => counts.atomics += one,
                false => counts.plain += one,
            }
            if seen.insert((write.operation, write.data / LINE)) {
                counts.lines += one;
            }
        }
        shared
    }

    /// The atomic operations on lines that `other` does not touch, by their code, of an operation.
    pub fn own_atomics(&self, other: &Work) -> BTreeMap<u64, f64> {
        let others = other.lines();
        let mut own = BTreeMap::new();
        for write in self.writes.iter().filter(|write| write.is_atomic) {
            if !others.contains(&(write.data / LINE)) {
                *own.entry(write.code).or_insert(0.0) += 1.0 / self.operations.max(1) as f64;
            }
        }
        own
    }

    /// The code of all atomic operations and of writes to lines that `other` touches.
    pub fn code(&self, other: &Work) -> BTreeSet<u64> {
        let others = other.lines();
        let named = |write: &&Write| write.is_atomic || others.contains(&(write.data / LINE));
        self.writes.iter().filter(named).map(|write| write.code).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: Marks = Marks {
        starts: [0x1000, 0x1008],
        ends: [0x1010, 0x1018],
    };

    #[test]
    fn lines_that_both_touch_and_one_writes_are_shared() {
        let trace = "==1== a line of valgrind\nI  0010,3\n S 2000,8\n\
            I  0011,4\n S 1000,8\nI  0020,4\n M 3000,8\nI  0021,4\n S 3008,8\nI  0022,2\n S 4000,8\nI  0023,2\n L 5000,8\n\
            I  0011,4\n S 1000,8\nI  0020,4\n M 3000,8\nI  0024,1\n M 4000,4\n\
            I  0012,4\n S 1010,8\nI  0030,1\n S 3000,8\n\
            I  0013,4\n S 1008,8\nI  0025,1\n L 3010,8\nI  0026,1\n S 5000,8\nI  0014,4\n S 1018,8\n";
        let [first, second] = read(trace.as_bytes(), MARKS, |code| code == 0x20 || code == 0x24).unwrap();
        assert_eq!((first.operations, second.operations), (2, 1));
        // The instruction that writes a mark belongs to the time before it.
        assert_eq!((first.instructions, second.instructions), (8, 3));
        let shared = first.shared_with(&second);
        let counts = |lines, atomics, plain| SharedWrites {
            lines,
            atomics,
            plain,
        };
        assert_eq!(shared[&0x20], counts(1.0, 1.0, 0.0));
        assert_eq!(shared[&0x21], counts(0.0, 0.0, 0.5));
        assert_eq!(shared.len(), 2);
        assert_eq!(first.own_atomics(&second), [(0x24, 0.5)].into());
        assert_eq!(second.shared_with(&first).into_keys().collect::<Vec<_>>(), [0x26]);
        assert_eq!(first.code(&second), [0x20, 0x21, 0x24].into());
    }
}
