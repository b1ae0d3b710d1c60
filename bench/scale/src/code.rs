//! The machine code of a program: which instructions are atomic, and where they are in the source.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program file of x86-64, in memory.
pub struct Code {
    path: PathBuf,
    bytes: Vec<u8>,
    /// The loaded segments: address, size and place in the file.
    segments: Vec<(u64, u64, u64)>,
}

/// A function of a line of the source, from the innermost inlined one outwards.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The functions, innermost first, each with its file and line.
    pub frames: Vec<(String, String)>,
}

/// An operation of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOperation {
    /// The lock is taken.
    Take,
    /// The lock is released.
    Release,
}

impl Code {
    /// Reads the program.
    pub fn read(path: &Path) -> Result<Code, String> {
        let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let number = |at: usize, len: usize| -> Option<u64> {
            let field = bytes.get(at..at + len)?;
            Some(
                field
                    .iter()
                    .rev()
                    .fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
            )
        };
        let parse = || {
            if bytes.get(..5)? != b"\x7fELF\x02" || number(18, 2)? != 62 {
                return None;
            }
            let (table, entry, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
            let mut segments = Vec::new();
            for index in 0..count {
                let at = (table + index * entry) as usize;
                if number(at, 4)? == 1 {
                    segments.push((number(at + 16, 8)?, number(at + 32, 8)?, number(at + 8, 8)?));
                }
            }
            Some(segments)
        };
        let segments = parse().ok_or_else(|| format!("{} is no program of x86-64", path.display()))?;
        Ok(Code {
            path: path.to_owned(),
            bytes,
            segments,
        })
    }

    /// The bytes of the instruction at `address`, the program's own address.
    fn instruction(&self, address: u64) -> &[u8] {
        let place = self.segments.iter().find_map(|&(start, size, place)| {
            let within = address.checked_sub(start).filter(|&within| within < size)?;
            Some((place + within) as usize)
        });
        place.and_then(|at| self.bytes.get(at..)).unwrap_or(&[])
    }

    /// True if the instruction at `address` is one atomic operation that reads and writes memory: it has a
    /// `lock` prefix, or is an `xchg` with memory.
    pub fn is_atomic(&self, address: u64) -> bool {
        is_atomic(self.instruction(address))
    }

    /// The lines of the source of some addresses.
    pub fn places(&self, addresses: &BTreeSet<u64>) -> Result<BTreeMap<u64, Place>, String> {
        let mut command = Command::new("addr2line");
        command.args(["-a", "-i", "-f", "-C", "-e"]).arg(&self.path);
        command.args(addresses.iter().map(|address| format!("{address:#x}")));
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("addr2line, of binutils: {error}"))?;
        Ok(parse_places(&String::from_utf8_lossy(&output.stdout)))
    }
}

fn is_atomic(instruction: &[u8]) -> bool {
    let mut bytes = instruction.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            0xf0 => return true,
            // The prefixes of operand sizes, segments and registers.
            0x66 | 0x64 | 0x65 | 0x2e | 0x3e | 0xf2 | 0xf3 | 0x40..=0x4f => {}
            0x86 | 0x87 => return bytes.peek().is_some_and(|operands| operands >> 6 != 3),
            _ => return false,
        }
    }
    false
}

/// Parses the output of `addr2line -a -i -f`: an address, then pairs of lines.
fn parse_places(text: &str) -> BTreeMap<u64, Place> {
    let mut places: BTreeMap<u64, Place> = BTreeMap::new();
    let mut current = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(address) = line.strip_prefix("0x") {
            current = u64::from_str_radix(address, 16).ok();
            continue;
        }
        let at = lines.next().unwrap_or_default();
        let at = at.split(" (discriminator").next().unwrap_or(at);
        if let Some(address) = current {
            let frames = &mut places.entry(address).or_default().frames;
            frames.push((line.to_owned(), at.to_owned()));
        }
    }
    places
}

/// The folders of the workspace, after which a path in a table begins.
const FOLDERS: [&str; 2] = ["/crates/", "/bench/"];

impl Place {
    /// The innermost line of the workspace's own source, and its function; otherwise the innermost function.
    pub fn name(&self) -> String {
        let own = self.frames.iter().find_map(|(function, at)| {
            let from = FOLDERS.iter().find_map(|folder| at.find(folder))?;
            Some(format!("{} ({})", &at[from + 1..], last_words(function)))
        });
        own.unwrap_or_else(|| match self.frames.first() {
            Some((function, _)) if function != "??" => last_words(function),
            _ => "C library".to_owned(),
        })
    }

    /// The operation of a lock of parking_lot or the standard library that the code is a part of.
    pub fn lock_operation(&self) -> Option<LockOperation> {
        self.frames.iter().find_map(|(function, at)| {
            let is_lock = [
                "lock_api",
                "parking_lot",
                "sync/mutex",
                "mutex/futex",
                "rwlock/futex",
                "poison/",
            ]
            .iter()
            .any(|part| at.contains(part));
            let name = function.rsplit("::").next().unwrap_or(function);
            match is_lock {
                false => None,
                true if name.contains("unlock") => Some(LockOperation::Release),
                true if name.contains("lock") || name == "read" || name == "write" => {
                    Some(LockOperation::Take)
                }
                true => None,
            }
        })
    }
}

/// The last two parts of a function's path, without its types.
fn last_words(function: &str) -> String {
    let path = function.trim_start_matches('<').replace(">::", "::");
    let path = path.split('<').next().unwrap_or_default();
    let start = path.rmatch_indices("::").nth(1).map_or(0, |(at, _)| at + 2);
    path[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomic_instructions_are_known_by_their_bytes() {
        // lock cmpxchg, lock xadd with a register prefix, xchg with memory.
        for atomic in [
            &[0xf0, 0x0f, 0xb0, 0x0f][..],
            &[0xf0, 0x48, 0x0f, 0xc1],
            &[0x48, 0x87, 0x07],
        ] {
            assert!(is_atomic(atomic), "{atomic:x?}");
        }
        // mov, xchg of registers, nothing.
        for other in [&[0x48, 0x89, 0x07][..], &[0x48, 0x87, 0xc1], &[]] {
            assert!(!is_atomic(other), "{other:x?}");
        }
    }

    #[test]
    fn places_are_parsed_and_named() {
        let text = "0x0010\nlock_api::mutex::Mutex<R,T>::lock\n/r/lock_api-1/src/mutex.rs:100\n\
                    <esker::state::Queue>::take\n/h/crates/engine/src/state/queue.rs:7 (discriminator 2)\n\
                    0x0020\n??\n??:0\n0x0030\nparking_lot::raw_mutex::RawMutex::unlock\n/r/parking_lot-1/src/raw_mutex.rs:9\n";
        let places = parse_places(text);
        assert_eq!(places.len(), 3);
        assert_eq!(
            places[&0x10].name(),
            "crates/engine/src/state/queue.rs:7 (Queue::take)"
        );
        assert_eq!(places[&0x10].lock_operation(), Some(LockOperation::Take));
        assert_eq!(places[&0x20].name(), "C library");
        assert_eq!(places[&0x20].lock_operation(), None);
        assert_eq!(places[&0x30].name(), "RawMutex::unlock");
        assert_eq!(places[&0x30].lock_operation(), Some(LockOperation::Release));
    }

    #[test]
    fn this_program_has_code() {
        let code = Code::read(&std::env::current_exe().unwrap()).unwrap();
        assert!(!code.segments.is_empty());
        assert!(!code.is_atomic(u64::MAX));
        assert!(Code::read(Path::new("/dev/null")).is_err());
    }
}
