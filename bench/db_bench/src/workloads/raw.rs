//! Reads of the device without the engine: the upper limit of readrandom with `--use_direct_reads`.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use base::{Error, Result};

use crate::op::Op;
use crate::params::Params;
use crate::runner::Thread;

/// Offsets, lengths and memory of direct reads are multiples of this.
const ALIGNMENT: usize = 4096;

/// The tables of the database, opened for reads that bypass the page cache, with the number of aligned blocks
/// in each.
fn tables(dir: &Path) -> Result<Vec<(File, u64)>> {
    let failed = |error| Error::io("open for direct reads in", dir, error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_none_or(|extension| extension != "sst") {
            continue;
        }
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .custom_flags(libc::O_DIRECT)
            .open(&path)
            .map_err(failed)?;
        let places = file.metadata().map_err(failed)?.len() / ALIGNMENT as u64;
        if places > 0 {
            files.push((file, places));
        }
    }
    match files.is_empty() {
        true => Err(Error::invalid_argument(
            "rawread reads the tables of a database, and there are none",
        )),
        false => Ok(files),
    }
}

pub fn random(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let dir = params.db.path();
    let files = tables(dir)?;
    let all: u64 = files.iter().map(|(_, places)| places).sum();
    let len = (params.flags.block_size as usize)
        .next_multiple_of(ALIGNMENT)
        .max(ALIGNMENT);
    let mut memory = vec![0; len + ALIGNMENT];
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    let mut bytes = 0;
    let mut pace = thread.pace(params.flags.duration, params.reads);
    while !pace.done(1) {
        let mut place = thread.rng.u64(..all);
        let found = files.iter().find(|(_, places)| match place.checked_sub(*places) {
            Some(rest) => {
                place = rest;
                false
            }
            None => true,
        });
        let Some((file, _)) = found else { continue };
        thread.wait_to_read(1);
        let read = file.read_at(&mut memory[start..start + len], place * ALIGNMENT as u64);
        bytes += read.map_err(|error| Error::io("read", dir, error))?;
        thread.finished(1, Op::Read);
    }
    thread.add_bytes(bytes as u64);
    Ok(())
}
