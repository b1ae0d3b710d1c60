//! A database whose writers are delayed.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use esker::{Db, Event, EventListener, Options, StallCause, StallCondition};

/// A gate that holds every compaction until the sender is dropped.
struct Gate(Mutex<Receiver<()>>);

impl EventListener for Gate {
    fn on_event(&self, event: &Event) {
        if let Event::CompactionBegun { .. } = event {
            // The wait ends when the sender is dropped.
            let _ = self.0.lock().unwrap().recv();
        }
    }
}

/// Returns a database whose writers have been delayed by the files of L0. Its compactions wait while the
/// sender exists.
pub fn delayed(dir: &Path) -> (Db, Sender<()>) {
    let (go, gate) = channel();
    let mut options = Options {
        create_if_missing: true,
        delayed_write_rate: 1 << 20,
        listeners: vec![Arc::new(Gate(Mutex::new(gate)))],
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
    (db, go)
}
