//! A database whose writers are delayed.

use std::path::Path;

use esker::{Db, Event, Options, StallCause, StallCondition};

use crate::gate::{Gate, OpensOnDrop};

/// Returns a database whose writers have been delayed by the files of L0. Its compactions wait until the gate
/// is opened.
pub fn delayed(dir: &Path) -> (Db, OpensOnDrop) {
    let gate = Gate::closed();
    let mut options = Options {
        create_if_missing: true,
        delayed_write_rate: 1 << 20,
        listeners: vec![gate.listener(|event| matches!(event, Event::CompactionBegun { .. }))],
        ..Options::default()
    };
    options.column_family.level0_file_num_compaction_trigger = 2;
    options.column_family.level0_slowdown_writes_trigger = 2;
    options.column_family.level0_stop_writes_trigger = 100;
    let db = Db::open(&options, dir).unwrap();
    for _ in 0..2 {
        db.put(b"a", b"1").unwrap();
        db.put(b"z", b"1").unwrap();
        db.flush().unwrap();
    }
    let condition = StallCondition::Delayed {
        cause: StallCause::L0FileCountLimit,
    };
    testkit::wait_until("a delayed write", || {
        db.put(b"k", [1; 100_000]).unwrap();
        db.statistics().stall(condition).count > 0
    });
    (db, OpensOnDrop(gate))
}
