//! The bytes of a file in memory, and those of them that are on the simulated disk.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fastrand::Rng;
use parking_lot::RwLock;

/// Bytes that the kernel writes out together or not at all.
const PAGE: usize = 4096;
/// Bytes that a disk writes together or not at all.
const SECTOR: usize = 512;

/// A file, independent of its names.
#[derive(Debug)]
pub(super) struct Inode {
    pub(super) id: u64,
    pub(super) data: RwLock<Data>,
    open: AtomicU32,
}

impl Inode {
    pub(super) fn new(id: u64, data: Data) -> Inode {
        Inode {
            id,
            data: RwLock::new(data),
            open: AtomicU32::new(0),
        }
    }

    /// True while a reader, a writer or a syncer has the file open.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }
}

/// An open file.
#[derive(Debug)]
pub(super) struct Handle(Arc<Inode>);

impl Handle {
    pub(super) fn new(inode: Arc<Inode>) -> Handle {
        inode.open.fetch_add(1, Ordering::Relaxed);
        Handle(inode)
    }
}

impl Deref for Handle {
    type Target = Inode;

    fn deref(&self) -> &Inode {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The bytes that readers see, and those that certainly survive power loss.
///
/// Files are written from front to back, so a length determines the part of `live` that is on disk: the first
/// `synced` bytes. After them the disk holds the bytes from before the writer (`old`).
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    /// The bytes that readers see. Shared with mappings, which keep the bytes they saw.
    pub(super) live: Arc<Vec<u8>>,
    /// The end of the last writer's bytes. Zeros or older bytes may follow.
    pub(super) written: usize,
    /// `live[..synced]` is on disk.
    synced: usize,
    /// The file's length on disk.
    durable_len: usize,
    /// The bytes on the disk from `synced` on; zeros follow up to `durable_len`.
    old: Arc<Vec<u8>>,
    /// The value of `old` after the next sync.
    old_once_synced: Option<Arc<Vec<u8>>>,
    /// The length the file was truncated to since the last sync. The disk has truncated it, or still holds
    /// all of the old bytes: never new bytes before old ones.
    cut: Option<usize>,
    /// Bytes after the end of a log, from a failed append that was truncated again. The disk may have them
    /// until the next append or sync.
    torn: Vec<u8>,
    /// True for a file that is written as a log: the kernel may write out a page during an append.
    pub(super) log: bool,
    /// The modification time in seconds since 1970.
    pub(super) modified: u64,
    /// The number of live names of the file. Its bytes count as used while it has one.
    pub(super) links: u32,
}

impl Data {
    /// An empty file with one name, nothing of which is on disk.
    pub(super) fn created(modified: u64) -> Data {
        Data {
            modified,
            links: 1,
            ..Data::default()
        }
    }

    /// A file whose bytes are all on disk.
    pub(super) fn on_disk(bytes: Arc<Vec<u8>>, modified: u64) -> Data {
        Data {
            written: bytes.len(),
            synced: bytes.len(),
            durable_len: bytes.len(),
            live: bytes,
            modified,
            ..Data::default()
        }
    }

    /// The bytes that are certainly on disk.
    fn durable_image(&self) -> Vec<u8> {
        let mut image = self.live[..self.synced].to_vec();
        image.extend_from_slice(self.old.get(self.synced..).unwrap_or_default());
        image.resize(self.durable_len, 0);
        image
    }

    /// Sets the length to `len`, by truncation or by zeros.
    pub(super) fn resize(&mut self, len: usize) {
        self.old = Arc::new(self.durable_image());
        self.old_once_synced = Some(Arc::default());
        self.synced = 0;
        self.cut = Some(self.cut.unwrap_or(self.live.len()).min(len));
        self.torn.clear();
        Arc::make_mut(&mut self.live).resize(len, 0);
        self.written = len;
    }

    /// A new writer begins over the existing bytes.
    pub(super) fn rewind(&mut self) {
        self.old = Arc::new(self.durable_image());
        self.old_once_synced = Some(self.live.clone());
        self.synced = 0;
        self.written = 0;
        self.torn.clear();
    }

    /// Adds zeros up to `len`. They do not count as written.
    pub(super) fn extend(&mut self, len: usize) {
        if len > self.live.len() {
            Arc::make_mut(&mut self.live).resize(len, 0);
        }
    }

    /// Stores the writer's next bytes; the file is long enough.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let end = self.written + bytes.len();
        Arc::make_mut(&mut self.live)[self.written..end].copy_from_slice(bytes);
        self.written = end;
        self.torn.clear();
    }

    /// `part` of the writer's next bytes reached the file and were truncated again.
    pub(super) fn tear(&mut self, part: &[u8]) {
        self.torn = part.to_vec();
    }

    /// The writer is done: everything after its bytes is truncated.
    pub(super) fn trim(&mut self) {
        if self.live.len() > self.written {
            Arc::make_mut(&mut self.live).truncate(self.written);
        }
    }

    /// All written bytes reach the disk.
    pub(super) fn sync(&mut self) {
        self.synced = self.written;
        self.durable_len = self.live.len();
        self.cut = None;
        self.torn.clear();
        if let Some(old) = self.old_once_synced.take() {
            self.old = old;
        }
    }

    /// The bytes that a power loss now leaves.
    pub(super) fn crash_image(&self, rng: &mut Rng, policy: UnsyncedPolicy) -> Arc<Vec<u8>> {
        match policy {
            UnsyncedPolicy::Keep => self.live.clone(),
            UnsyncedPolicy::Lose => Arc::new(self.durable_image()),
            UnsyncedPolicy::Random | UnsyncedPolicy::RandomPages => Arc::new(self.random_image(rng, policy)),
        }
    }

    fn random_image(&self, rng: &mut Rng, policy: UnsyncedPolicy) -> Vec<u8> {
        let mut image = self.durable_image();
        if let Some(cut) = self.cut {
            if rng.bool() {
                return image;
            }
            image.truncate(cut);
        }
        // The end of the new bytes that survive.
        let mut kept = self.synced;
        if policy == UnsyncedPolicy::Random {
            kept = between(rng, self.synced, self.written);
            let len = self.random_len(rng, image.len(), kept);
            if len > kept && !self.log {
                kept = (kept / SECTOR * SECTOR).max(self.synced);
            }
            put(&mut image, 0, &self.live[..kept]);
            image.resize(len, 0);
            if kept == self.written {
                self.put_torn(rng, &mut image);
            }
            return image;
        }
        let mut start = self.synced;
        while start < self.written {
            let end = ((start / PAGE + 1) * PAGE).min(self.written);
            if rng.bool() {
                put(&mut image, start, &self.live[start..end]);
                kept = end;
            }
            start = end;
        }
        let len = self.random_len(rng, image.len(), kept);
        image.resize(len, 0);
        self.put_torn(rng, &mut image);
        image
    }

    /// Puts a part of the bytes of a failed append where they were, or nothing.
    fn put_torn(&self, rng: &mut Rng, image: &mut Vec<u8>) {
        if !self.torn.is_empty() {
            let part = between(rng, 0, self.torn.len());
            put(image, self.written, &self.torn[..part]);
        }
    }

    /// The length after a crash is independent of the bytes: zeros may follow, or the truncated bytes may
    /// still be there.
    fn random_len(&self, rng: &mut Rng, durable: usize, kept: usize) -> usize {
        let shortest = self.live.len().min(durable).max(kept);
        let longest = self.live.len().max(durable).max(kept);
        between(rng, shortest, longest)
    }
}

/// Copies `bytes` into `image` at `start`, over zeros where it is too short.
fn put(image: &mut Vec<u8>, start: usize, bytes: &[u8]) {
    let end = start + bytes.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[start..end].copy_from_slice(bytes);
}

/// A number from `low` to `high`, inclusive; each of the two ends, where bugs are likely, a third of the
/// time.
pub(super) fn between(rng: &mut Rng, low: usize, high: usize) -> usize {
    match rng.u8(..3) {
        0 => low,
        1 => high,
        _ => rng.usize(low..=high),
    }
}

/// The unsynced data that a power loss leaves. Synced bytes and names are always kept.
///
/// ```
/// # mod esker {
/// #     pub use esker_vfs as file_system;
/// # }
///
/// use esker::file_system::{CreateOptions, FileSystem, MemFs, UnsyncedPolicy};
///
/// let fs = MemFs::new();
/// let mut file = fs.create("/a".as_ref(), &CreateOptions::default())?;
/// file.append(b"1")?;
/// file.flush()?;
/// let after_power_loss = fs.crash_clone(&mut base::env::Rng::with_seed(1), UnsyncedPolicy::Lose);
/// assert!(!after_power_loss.exists("/a".as_ref())?);
/// # Ok::<(), base::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsyncedPolicy {
    /// No unsynced data survives: the worst disk that keeps its guarantees.
    Lose,
    /// All bytes that the kernel had reach the disk.
    Keep,
    /// A prefix of random length of each file's unsynced bytes survives, followed by zeros or the previous
    /// bytes (in a file that is not a log: a prefix that ends at the start of a sector or at the end of the
    /// file). Any subset of the unsynced changes of names survives; a rename survives entirely or not at all.
    /// Files and names are independent.
    Random,
    /// The same as `Random`, except that any of the 4 KiB pages of each file survive, also later ones without
    /// earlier ones: a possible state of a file that was extended (or written, for
    /// [`reuse`](crate::FileSystem::reuse)) before, as logs are.
    RandomPages,
}
