//! Counts what threads share, per operation, without hardware counters: the same figures on every machine.
//!
//! ```text
//! two threads do the same operation in turn ──> valgrind's lackey: each instruction and each address
//!                                                  │
//!      ELF file: which instructions are atomic ────┤
//!      addr2line: their lines in the source ───────┴──> lines that both threads touch and one writes,
//!                                                      and instructions under each lock
//! ```
//!
//! A cache line that both threads touch, and that one of them writes, moves between processors when the two
//! run at once. [`trace`] finds these lines, [`code`] names the instructions, [`report`] prints them.
//! [`workload`] has the operations; the simulation (`testing/simulate`) runs the same ones with many threads
//! and counts their locks.
#![forbid(unsafe_code)]

pub mod code;
pub mod report;
pub mod trace;
pub mod workload;
