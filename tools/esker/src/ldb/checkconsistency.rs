//! `checkconsistency`: whether the files are those of the MANIFEST, with its sizes.

use base::Error;
use vfs::FileSystem;

use crate::directory;
use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::outcome::{Outcome, ok};
use crate::output::Out;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let session = open::read_only(line)?;
    for file in session.db.live_files() {
        let name = file
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let size = directory::fs()
            .size(&file.path)
            .map_err(|error| Error::corruption(format!("Can't access /{name}: {error}")))?;
        if size != file.size {
            let text = format!(
                "Sst file size mismatch: {}. Size recorded in manifest {}, actual size {size}",
                file.path.display(),
                file.size
            );
            return Err(Error::corruption(text).into());
        }
    }
    ok(out)
}
