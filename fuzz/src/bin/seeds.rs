//! Writes the seed corpus: `fuzz/corpus/TARGET/`, with a file for each seed, named by its hash. Not under
//! version control.
#![forbid(unsafe_code)]

use std::path::Path;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (target, seeds) in esker_fuzz::seeds::all() {
        let dir = corpus.join(target);
        std::fs::create_dir_all(&dir)?;
        for seed in seeds {
            let name = format!("{:016x}", codec::hash::xxh3_64(&seed));
            std::fs::write(dir.join(name), seed)?;
        }
    }
    Ok(())
}
