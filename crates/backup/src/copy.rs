//! Copies files and computes their checksums, several at a time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base::sync::{Mutex, thread};
use base::user_code::catch_or_fail;
use base::{Error, Progress, Result};
use codec::checksum::crc32c_extend;
use vfs::rate_limiter::{IoPriority, OpType};
use vfs::{Access, CreateOptions, FileSystem, OpenOptions, RandomAccessFile, RateLimiter};

/// The number of bytes per read.
const PIECE: usize = 1 << 20;

/// The settings that all files of one job share.
pub(crate) struct Copier<'a> {
    pub limiter: Option<Arc<RateLimiter>>,
    pub sync: bool,
    pub progress: &'a Progress,
}

impl Copier<'_> {
    /// Copies the first `size` bytes of a file and returns their CRC-32C. A file at `to` is overwritten;
    /// after an error a partial file stays there. The name is not synced.
    pub fn copy(
        &self,
        (from_fs, from): (&dyn FileSystem, &Path),
        (to_fs, to): (&dyn FileSystem, &Path),
        size: u64,
    ) -> Result<u32> {
        let reader = open(from_fs, from)?;
        let mut writer = to_fs.create(to, &CreateOptions::default())?;
        let crc = self.read(&*reader, size, |bytes| {
            self.ask(bytes.len(), OpType::Write);
            writer.append(bytes)?;
            self.progress.advance(bytes.len() as u64)
        })?;
        if self.sync {
            writer.sync()?;
        }
        writer.close()?;
        Ok(crc)
    }

    /// Writes a file with these bytes and returns their CRC-32C.
    pub fn write(&self, fs: &dyn FileSystem, to: &Path, bytes: &[u8]) -> Result<u32> {
        self.ask(bytes.len(), OpType::Write);
        let mut writer = fs.create(to, &CreateOptions::default())?;
        writer.append(bytes)?;
        if self.sync {
            writer.sync()?;
        }
        writer.close()?;
        self.progress.advance(bytes.len() as u64)?;
        Ok(crc32c_extend(0, bytes))
    }

    /// The CRC-32C of the first `size` bytes of a file. Bytes read do not count as progress.
    pub fn checksum(&self, fs: &dyn FileSystem, path: &Path, size: u64) -> Result<u32> {
        self.read(&*open(fs, path)?, size, |_| self.progress.check())
    }

    /// Returns the same value as [`checksum`](Self::checksum), and counts the bytes read as progress.
    pub fn verify(&self, fs: &dyn FileSystem, path: &Path, size: u64) -> Result<u32> {
        self.read(&*open(fs, path)?, size, |bytes| {
            self.progress.advance(bytes.len() as u64)
        })
    }

    fn read(
        &self,
        file: &dyn RandomAccessFile,
        size: u64,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<u32> {
        let most = self
            .limiter
            .as_ref()
            .map_or(u64::MAX, |limiter| limiter.single_burst_bytes());
        let piece = size.min(PIECE as u64).min(most) as usize;
        let mut buffer = vec![0; piece];
        let (mut at, mut crc) = (0, 0);
        while at < size {
            let len = (size - at).min(piece as u64) as usize;
            self.ask(len, OpType::Read);
            file.read_exact_at(at, &mut buffer[..len])?;
            crc = crc32c_extend(crc, &buffer[..len]);
            each(&buffer[..len])?;
            at += len as u64;
        }
        Ok(crc)
    }

    /// Waits until the rate limiter permits `bytes` bytes. A request to stop takes effect within a refill
    /// period.
    fn ask(&self, bytes: usize, op: OpType) {
        if let Some(limiter) = &self.limiter {
            // If a stop was requested, the next check of the progress reports it.
            limiter.request_while(bytes as u64, IoPriority::Low, op, || !self.progress.is_stopped());
        }
    }
}

/// Creates a directory and its missing parents, and with `sync` makes their names durable.
pub(crate) fn create_dir(fs: &dyn FileSystem, dir: &Path, sync: bool) -> Result<()> {
    let mut missing = Vec::new();
    for above in dir.ancestors() {
        if above.as_os_str().is_empty() || fs.exists(above)? {
            break;
        }
        missing.push(above);
    }
    fs.create_dir_all(dir)?;
    if !sync {
        return Ok(());
    }
    let sync_name = |dir: &Path| match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => fs.sync_dir(parent),
        _ => fs.sync_dir(Path::new(".")),
    };
    if missing.is_empty() {
        // The process that created a directory may have been killed before it synced the parent. A parent
        // that this process may not open is left unsynced.
        let _ = sync_name(dir);
    }
    missing.into_iter().rev().try_for_each(sync_name)
}

fn open(fs: &dyn FileSystem, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
    let options = OpenOptions {
        access: Access::Sequential,
        ..OpenOptions::default()
    };
    fs.open_random(path, &options)
}

/// Applies `work` to each item on several threads, and returns the results in order. After the first error no
/// further item is started, and that error is returned. A panic of user code, such as a listener of file
/// operations, is an error like others.
pub(crate) fn for_all<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let first: Mutex<Option<Error>> = Mutex::new(None);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        while !failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return;
            };
            match catch_or_fail(|| work(item)) {
                Ok(result) => done.lock().push((at, result)),
                Err(error) => {
                    first.lock().get_or_insert(error);
                    failed.store(true, Ordering::Relaxed);
                }
            }
        }
    };
    let others = threads.clamp(1, items.len().max(1)) - 1;
    thread::scope(|scope| {
        for _ in 0..others {
            let name = "esker-backup".to_owned();
            // With fewer threads it only takes longer.
            let _ = thread::Builder::new().name(name).spawn_scoped(scope, run);
        }
        run();
    });
    if let Some(error) = first.into_inner() {
        return Err(error);
    }
    let mut done = done.into_inner();
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use base::ErrorKind;
    use vfs::MemFs;

    use super::*;

    #[test]
    fn results_come_in_order_and_the_first_error_ends_it() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [0, 1, 4, 1000] {
            let doubled = for_all(threads, &items, |item| Ok(item * 2)).unwrap();
            assert_eq!(doubled, items.iter().map(|item| item * 2).collect::<Vec<_>>());
            let begun = AtomicUsize::new(0);
            let error = for_all(threads, &items, |&item| match item {
                3 => Err(Error::corruption("three")),
                _ => {
                    begun.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                }
            });
            assert_eq!(error.unwrap_err().message(), "three");
            if threads < 2 {
                assert_eq!(begun.into_inner(), 3);
            }
        }
        assert!(for_all(4, &[0u8; 0], |_| Ok(())).unwrap().is_empty());
    }

    #[test]
    fn a_panic_in_any_thread_is_an_error() {
        for threads in [1, 4] {
            let error = for_all(threads, &[(); 4], |()| -> Result<()> { panic!("in an observer") });
            let error = error.unwrap_err();
            assert_eq!(
                (error.kind(), error.message()),
                (ErrorKind::Panicked, "in an observer")
            );
        }
    }

    #[test]
    fn copies_are_whole_counted_and_stopped_within_a_file() {
        let fs = MemFs::new();
        let (from, to) = (Path::new("/a"), Path::new("/b"));
        let bytes: Vec<u8> = (0..PIECE * 5 / 2).map(|at| (at * 7 / 3) as u8).collect();
        fs.write_file(from, &bytes).unwrap();
        let progress = Progress::with_hook(|progress| {
            if progress.steps() == 5 {
                progress.stop();
            }
        });
        let copier = Copier {
            limiter: None,
            sync: true,
            progress: &progress,
        };
        let size = bytes.len() as u64;
        let crc = copier.copy((&fs, from), (&fs, to), size).unwrap();
        assert_eq!(fs.read_file(to).unwrap(), bytes);
        assert_eq!(crc, crc32c_extend(0, &bytes));
        assert_eq!((progress.done(), progress.steps()), (size, 3));
        let error = copier.copy((&fs, from), (&fs, to), size).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Aborted);

        let progress = Progress::new();
        let copier = Copier {
            progress: &progress,
            ..copier
        };
        assert_eq!(copier.checksum(&fs, from, size).unwrap(), crc);
        assert!(copier.checksum(&fs, from, size + 1).unwrap_err().is_corruption());
    }
}
