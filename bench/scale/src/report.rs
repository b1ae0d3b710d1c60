//! Tables of what two threads share.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use crate::code::{LockOperation, Place};
use crate::trace::{SharedWrites, Work};

/// A lock that the first thread took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    /// The number of times in an operation.
    pub taken: f64,
    /// Instructions while it was held, of an operation.
    pub instructions: f64,
    /// True if the other thread took the lock too.
    pub is_shared: bool,
}

/// The locks that the first thread took, by the place that took them.
pub fn locks(works: &[Work; 2], places: &BTreeMap<u64, Place>) -> BTreeMap<String, Held> {
    let [first, second] = works;
    let operation = |code: u64| places.get(&code).and_then(Place::lock_operation);
    let takes = second.writes.iter().filter(|write| write.is_atomic);
    let theirs: HashMap<u64, ()> = takes.map(|write| (write.data, ())).collect();
    let mut held: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut locks: BTreeMap<String, Held> = BTreeMap::new();
    let one = 1.0 / first.operations.max(1) as f64;
    for write in first.writes.iter().filter(|write| write.is_atomic) {
        match operation(write.code) {
            Some(LockOperation::Take) => {
                held.insert(write.data, (write.code, write.at));
            }
            Some(LockOperation::Release) => {
                if let Some((code, since)) = held.remove(&write.data) {
                    let lock = locks.entry(places[&code].name()).or_default();
                    lock.taken += one;
                    lock.instructions += (write.at - since) as f64 * one;
                    lock.is_shared |= theirs.contains_key(&write.data);
                }
            }
            None => {}
        }
    }
    locks
}

/// The tables of an operation, in Markdown.
pub fn text(name: &str, works: &[Work; 2], places: &BTreeMap<u64, Place>) -> String {
    let [first, second] = works;
    let name_of = |code: &u64| places.get(code).map_or_else(String::new, Place::name);
    let mut shared: BTreeMap<String, SharedWrites> = BTreeMap::new();
    for (code, counts) in first.shared_with(second) {
        let sum = shared.entry(name_of(&code)).or_default();
        sum.lines += counts.lines;
        sum.atomics += counts.atomics;
        sum.plain += counts.plain;
    }
    let mut own: BTreeMap<String, f64> = BTreeMap::new();
    for (code, count) in first.own_atomics(second) {
        *own.entry(name_of(&code)).or_default() += count;
    }
    let sum = |of: fn(&SharedWrites) -> f64| shared.values().map(of).sum::<f64>();
    let instructions = first.instructions as f64 / first.operations.max(1) as f64;
    let mut text = format!(
        "## {name}\n\n{instructions:.0} instructions; {:.2} shared lines written, {:.2} atomic operations on them; {:.2} atomic operations on lines of its own\n\n",
        sum(|counts| counts.lines),
        sum(|counts| counts.atomics),
        own.values().sum::<f64>(),
    );
    text += "| shared line, written by | lines | atomic | plain writes |\n|---|---|---|---|\n";
    for (place, counts) in &shared {
        let _ = writeln!(
            text,
            "| {place} | {:.2} | {:.2} | {:.2} |",
            counts.lines, counts.atomics, counts.plain
        );
    }
    text += "\n| line of its own, written by | atomic |\n|---|---|\n";
    for (place, count) in &own {
        let _ = writeln!(text, "| {place} | {count:.2} |");
    }
    text += "\n| lock, taken by | taken | instructions held | both threads |\n|---|---|---|---|\n";
    for (place, lock) in locks(works, places) {
        let _ = writeln!(
            text,
            "| {place} | {:.2} | {:.0} | {} |",
            lock.taken,
            lock.instructions,
            if lock.is_shared { "yes" } else { "no" }
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Marks, read};

    #[test]
    fn a_lock_is_held_from_its_taking_to_its_release() {
        let trace = "I  0011,4\n S 1000,8\nI  0020,4\n M 3000,1\nI  0040,4\nI  0041,4\nI  0021,4\n M 3000,1\n\
            I  0020,4\n M 7000,1\nI  0021,4\n M 7000,1\nI  0012,4\n S 1010,8\n\
            I  0013,4\n S 1008,8\nI  0020,4\n M 3000,1\nI  0021,4\n M 3000,1\nI  0014,4\n S 1018,8\n";
        let marks = Marks {
            starts: [0x1000, 0x1008],
            ends: [0x1010, 0x1018],
        };
        let works = read(trace.as_bytes(), marks, |code| matches!(code, 0x20 | 0x21)).unwrap();
        let place = |function: &str| Place {
            frames: vec![
                (function.to_owned(), "/r/lock_api/mutex.rs:1".to_owned()),
                ("a::b::c".to_owned(), "/x/crates/a/b.rs:2".to_owned()),
            ],
        };
        let places = BTreeMap::from([(0x20, place("Mutex::lock")), (0x21, place("Mutex::unlock"))]);
        let locks = locks(&works, &places);
        let held = &locks["crates/a/b.rs:2 (b::c)"];
        assert_eq!((held.taken, held.instructions, held.is_shared), (2.0, 4.0, true));
        let text = text("name", &works, &places);
        let expected = "12 instructions; 1.00 shared lines written, 2.00 atomic operations on them; 2.00 atomic operations on lines of its own";
        assert!(
            text.contains("| crates/a/b.rs:2 (b::c) | 1.00 | 2.00 | 0.00 |"),
            "{text}"
        );
        assert!(text.contains(&expected.replace("12 ", "7 ")), "{text}");
    }
}
