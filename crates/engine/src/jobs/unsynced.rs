//! Tables of a job that are finished and not synced yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Result;
use base::sync::Mutex;
use vfs::sync_together::BegunSync;
use vfs::{FileSync, sync_together};

/// The maximum number of files whose syncs wait for each other. Each holds a descriptor.
const MOST: usize = 128;

/// The maximum of their bytes: the sync of more takes longer than the wait.
const MOST_BYTES: u64 = 32 << 20;

/// The finished tables of a job whose syncs are gathered, so that they share commits of the file system's
/// journal. Shared by the outputs of the job, which calls [`sync`](Unsynced::sync) before it syncs their
/// directories and the MANIFEST names them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unsynced(Arc<Gathered>);

#[derive(Debug, Default)]
struct Gathered {
    files: Mutex<(Vec<BegunSync>, u64)>,
    wait_for_disk: AtomicBool,
}

impl Unsynced {
    /// Adds a finished file of `bytes`; `None`: it is synced already. Syncs the files so far if they are many
    /// or large.
    pub fn add(&self, file: Option<Arc<dyn FileSync>>, bytes: u64) -> Result<()> {
        let Some(begun) = file.map(BegunSync::begin) else {
            return Ok(());
        };
        if begun.waits_for_disk() {
            self.0.wait_for_disk.store(true, Ordering::Relaxed);
        }
        let mut gathered = self.0.files.lock();
        let (files, sum) = &mut *gathered;
        files.push(begun);
        *sum += bytes;
        let full = files.len() >= MOST || *sum >= MOST_BYTES;
        drop(gathered);
        match full {
            true => self.sync(),
            false => Ok(()),
        }
    }

    /// Makes the contents of all files added so far durable.
    pub fn sync(&self) -> Result<()> {
        let (files, _) = std::mem::take(&mut *self.0.files.lock());
        sync_together(files)
    }

    /// True if the syncs of the files added so far wait for a disk.
    pub fn waits_for_disk(&self) -> bool {
        self.0.wait_for_disk.load(Ordering::Relaxed)
    }
}
