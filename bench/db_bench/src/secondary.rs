//! `--use_secondary_db`: a thread that makes a secondary catch up with its primary every
//! `--secondary_update_interval` seconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use esker::Db;

/// Catches up until it is stopped or until a catch-up fails, which it reports on standard error.
pub struct CatchUp {
    /// The sender that is dropped to stop the thread.
    stop: Sender<()>,
    thread: JoinHandle<()>,
    updates: Arc<AtomicU64>,
}

impl CatchUp {
    /// Starts the thread. The first catch-up is immediate.
    pub fn start(db: Db, interval: Duration) -> CatchUp {
        let (stop, stopped) = channel::<()>();
        let updates = Arc::new(AtomicU64::new(0));
        let counted = updates.clone();
        let run = move || {
            loop {
                if let Err(error) = db.try_catch_up_with_primary() {
                    return eprintln!("Failed to catch up with primary: {error}");
                }
                counted.fetch_add(1, Ordering::Relaxed);
                if stopped.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("secondary".to_owned())
            .spawn(run);
        CatchUp {
            stop,
            thread: thread.expect("the system has threads to give"),
            updates,
        }
    }

    /// Ends the thread and returns the number of its catch-ups.
    pub fn stop(self) -> u64 {
        drop(self.stop);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.updates.load(Ordering::Relaxed)
    }
}
