//! The process that has a database open: the holder of its lock, and the kernel's data about it.

use std::path::Path;

use rustix::fs::{major, minor, stat};
use vfs::{FileSystem, OpenOptions};

/// A process, as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The process id.
    pub id: u64,
    /// The name of the process's program.
    pub name: String,
    /// The size of the process's resident memory in bytes.
    pub resident: u64,
    /// Bytes read from and written to disks; `None` if the kernel does not reveal them.
    pub io: Option<(u64, u64)>,
}

/// Returns the process that holds a lock on the file `lock`, if the kernel reveals it.
pub fn holder(fs: &dyn FileSystem, lock: &Path) -> Option<Process> {
    let status = stat(lock).ok()?;
    let file = format!(
        "{:02x}:{:02x}:{}",
        major(status.st_dev),
        minor(status.st_dev),
        status.st_ino
    );
    let locks = read(fs, "/proc/locks")?;
    let id = holder_in(&locks, &file)?;
    let status = read(fs, &format!("/proc/{id}/status"))?;
    let io = read(fs, &format!("/proc/{id}/io"));
    Some(described(id, &status, io.as_deref()))
}

/// Returns the process that `/proc/locks` lists with a lock on `file`, given as device and inode.
pub fn holder_in(locks: &str, file: &str) -> Option<u64> {
    let mut lines = locks
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|fields| fields.get(3) == Some(&"WRITE") && fields.get(5) == Some(&file))?;
    line.get(4)?.parse().ok()
}

/// Returns a process from its `/proc/ID/status` and `/proc/ID/io`.
pub fn described(id: u64, status: &str, io: Option<&str>) -> Process {
    let field = |text: &str, name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|line| line.trim().to_owned())
    };
    let number = |text: &str, name: &str| field(text, name)?.split(' ').next()?.parse::<u64>().ok();
    Process {
        id,
        name: field(status, "Name").unwrap_or_default(),
        resident: number(status, "VmRSS").unwrap_or(0) * 1024,
        io: io.and_then(|io| Some((number(io, "read_bytes")?, number(io, "write_bytes")?))),
    }
}

/// Reads a kernel file, whose reported size is 0.
fn read(fs: &dyn FileSystem, path: &str) -> Option<String> {
    let file = fs.open_random(Path::new(path), &OpenOptions::default()).ok()?;
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let read = file.read_at(bytes.len() as u64, &mut chunk).ok()?;
        bytes.extend_from_slice(&chunk[..read]);
        if read == 0 {
            return String::from_utf8(bytes).ok();
        }
    }
}
