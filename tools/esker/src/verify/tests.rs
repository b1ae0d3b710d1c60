use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;

use dbtest::small::SmallDatabase;
use esker::FileChecksumGenFactory;

use super::*;

/// The reason why a flip of this bit cannot be detected; `None` if it must be.
fn untold(file: &DbFile, good: &[u8], at: usize, checksums: FileChecksumGenFactory) -> Option<&'static str> {
    let format_version_at = good.len().saturating_sub(sst::format::FOOTER_LEN) + 41;
    match file.kind {
        FileKind::Options(_) => Some("text without a checksum"),
        FileKind::Table(_) if checksums == FileChecksumGenFactory::None => {
            (at == format_version_at && good[at] < 6).then_some("format versions 2 to 5 are read alike")
        }
        _ => None,
    }
}

fn flip_every_byte(checksums: FileChecksumGenFactory) {
    let mut rng = testkit::rng();
    eprintln!("ESKER_SEED={}", rng.seed());
    let whole = SmallDatabase::make(checksums).unwrap();
    let place = tempfile::TempDir::new().unwrap();
    let dir = place.path();
    for (name, bytes) in &whole.files {
        fs::write(dir.join(name), bytes).unwrap();
    }
    let state = directory::manifest_state(&directory::current_manifest(dir).unwrap()).unwrap();
    let promised = Promised::new(&state);
    // For each kind of file, the numbers of bits that were flipped and that were found.
    let mut tally: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for file in directory::files(dir, None).unwrap() {
        let good = fs::read(&file.path).unwrap();
        let found = |check: Option<FileCheck>| check.is_some_and(|check| !check.damage.is_empty());
        assert!(!found(check_file(&file, dir, &promised)), "{}", file.name);
        // The test changes one byte at a time, in place, because file systems sync a file that is rewritten.
        let bad = fs::File::options().write(true).open(&file.path).unwrap();
        for at in 0..good.len() {
            let bits = match std::env::var_os("ESKER_ALL_BITS") {
                Some(_) => 0..8,
                None => {
                    let bit = rng.u32(0..8);
                    bit..bit + 1
                }
            };
            for bit in bits {
                bad.write_all_at(&[good[at] ^ 1 << bit], at as u64).unwrap();
                let found = found(check_file(&file, dir, &promised));
                let told = untold(&file, &good, at, checksums).is_none();
                assert!(found || !told, "{} byte {at} bit {bit}: not found", file.name);
                let kind = file
                    .name
                    .trim_matches(|char: char| char.is_ascii_digit() || "-.".contains(char));
                let counts = tally.entry(kind.to_owned()).or_default();
                counts.0 += 1;
                counts.1 += u32::from(found);
            }
            bad.write_all_at(&good[at..=at], at as u64).unwrap();
        }
    }
    for (kind, (flipped, found)) in tally {
        println!("{kind}: {flipped} flipped, {found} found");
    }
}

#[test]
fn a_flip_of_any_byte_is_found() {
    flip_every_byte(FileChecksumGenFactory::None);
}

#[test]
fn with_checksums_of_whole_files_a_flip_of_any_byte_of_a_table_is_found() {
    flip_every_byte(FileChecksumGenFactory::Crc32c);
}

#[test]
fn a_table_in_anothers_place_is_found() {
    let whole = SmallDatabase::make(FileChecksumGenFactory::None).unwrap();
    let place = tempfile::TempDir::new().unwrap();
    let dir = place.path();
    for (name, bytes) in &whole.files {
        fs::write(dir.join(name), bytes).unwrap();
    }
    let state = directory::manifest_state(&directory::current_manifest(dir).unwrap()).unwrap();
    let mut promised = Promised::new(&state);
    let mut compared = 0;
    for file in directory::files(dir, None).unwrap() {
        let FileKind::Table(number) = file.kind else {
            continue;
        };
        let damage = |promised: &Promised| {
            check_file(&file, dir, promised)
                .expect("a table is checked")
                .damage
        };
        assert!(damage(&promised).is_empty(), "{}", file.name);
        // The MANIFEST names another table.
        let Some(live) = promised.tables.get_mut(&number) else {
            continue;
        };
        live.unique_id = Some([7; 16]);
        compared += 1;
        let found = damage(&promised);
        assert!(
            found.iter().any(|error| error.to_string().contains("unique ID")),
            "{}",
            file.name
        );
    }
    assert!(compared > 0);
}
