//! Keys, headers, frames and holes of single files.

use std::path::Path;
use std::sync::Arc;

use base::ErrorKind;
use base::env::Rng;
use esker_encryption::header::{HEADER_LEN, Header, Layout};
use esker_encryption::{EncryptedFs, KeyRing};
use vfs::{CreateOptions, FileSystem, MemFs, OpenOptions, UnsyncedPolicy};

use crate::subjects::over;

const FILE: &str = "/f";

fn log() -> CreateOptions {
    CreateOptions {
        log: true,
        ..CreateOptions::default()
    }
}

fn header(fs: &MemFs, path: &str) -> Header {
    Header::decode(&fs.read_file(Path::new(path)).unwrap()).unwrap()
}

#[test]
fn no_two_files_have_the_same_key() {
    let mem = MemFs::new();
    let fs = over(mem.clone());
    let path = Path::new(FILE);
    let mut keys = Vec::new();
    let mut next = |options: &CreateOptions, reused: bool| {
        let mut file = match reused {
            true => fs.reuse(path, Path::new("/g"), options).unwrap(),
            false => fs.create(path, options).unwrap(),
        };
        file.append(b"the same text").unwrap();
        file.close().unwrap();
        let raw = mem.read_file(file.path()).unwrap();
        if reused {
            fs.rename(Path::new("/g"), path).unwrap();
        }
        let header = header(&mem, FILE);
        assert_eq!(header.layout == Layout::Log, options.log);
        let key = (header.key.bytes, raw[HEADER_LEN + 4..].to_vec());
        assert!(!keys.contains(&key));
        assert!(!raw.windows(8).any(|part| part == b"the same"));
        keys.push(key);
    };
    for options in [log(), CreateOptions::default()] {
        for reused in [false, false, true, true] {
            next(&options, reused);
        }
    }
    // A recycled file holds nothing of the old one: its bytes under another key would be noise.
    let mut file = fs.create(path, &log()).unwrap();
    file.append(&[7; 10_000]).unwrap();
    file.close().unwrap();
    let file = fs.reuse(path, Path::new("/g"), &log()).unwrap();
    assert!(fs.size(file.path()).unwrap() == 0 && !fs.exists(path).unwrap());
}

#[test]
fn holes_are_zeros() {
    let mem = MemFs::new();
    let fs = over(mem.clone());
    let path = Path::new(FILE);
    let text: Vec<u8> = (0..20_000u32).map(|at| (at % 251) as u8 + 1).collect();
    fs.write_file(path, &text).unwrap();
    // A loss of power has left zeros in place of a range.
    let mut raw = mem.read_file(path).unwrap();
    raw[HEADER_LEN + 5000..HEADER_LEN + 9001].fill(0);
    mem.write_file(path, &raw).unwrap();
    let file = fs.open_random(path, &OpenOptions::default()).unwrap();
    for (offset, len) in [
        (0, 20_000),
        (4999, 3),
        (5008, 1),
        (5009, 8),
        (6000, 100),
        (8991, 20),
        (5017, 31),
    ] {
        let mut read = vec![0xee; len];
        file.read_exact_at(offset, &mut read).unwrap();
        let started = file.start_read(offset, len, Default::default()).wait().unwrap();
        assert!(*started == *read, "{offset}+{len}");
        for (at, &byte) in (offset..).zip(&read) {
            let block = at / 16 * 16;
            if (5000..9001).contains(&block) && (5000..9001).contains(&(block + 15)) {
                assert_eq!(byte, 0, "at {at} of {offset}+{len}");
            } else if !(5000..9001).contains(&at) {
                assert_eq!(byte, text[at as usize], "at {at} of {offset}+{len}");
            }
        }
    }
}

#[test]
fn a_crash_leaves_of_a_log_its_first_appends() {
    let mut rng = testkit::rng();
    for _ in 0..300 {
        let mem = MemFs::new();
        let fs = over(mem.clone());
        let mut file = fs.create(Path::new(FILE), &log()).unwrap();
        mem.sync_dir(Path::new("/")).unwrap();
        let mut text = Vec::new();
        let mut synced = 0;
        for _ in 0..rng.usize(..20) {
            let longest = [40, 4000, 90_000][rng.usize(..3)];
            let len = rng.usize(..longest);
            let record = vec![text.len() as u8 | 1; len];
            file.append(&record).unwrap();
            text.extend_from_slice(&record);
            if rng.u8(..4) == 0 {
                file.sync().unwrap();
                synced = text.len();
            }
        }
        let policies = [UnsyncedPolicy::Lose, UnsyncedPolicy::Keep, UnsyncedPolicy::Random];
        let crashed = match rng.usize(..4) {
            3 => mem.process_death_clone(),
            policy => mem.crash_clone(&mut Rng::with_seed(rng.u64(..)), policies[policy]),
        };
        let left = over(crashed.clone()).read_file(Path::new(FILE)).unwrap();
        assert!(left.len() >= synced && left[..synced] == text[..synced]);
        // The last record of the log is cut or ends in bytes that decrypt to noise, and no record follows it.
        assert!(left.len() <= text.len());
        assert_eq!(over(crashed).size(Path::new(FILE)).unwrap(), left.len() as u64);
    }
}

#[test]
fn a_file_without_a_header_is_empty_and_a_damaged_one_is_an_error() {
    let mem = MemFs::new();
    let fs = over(mem.clone());
    let path = Path::new(FILE);
    fs.write_file(path, b"text").unwrap();
    let raw = mem.read_file(path).unwrap();
    for len in (0..100).chain([HEADER_LEN - 1]) {
        mem.write_file(path, &raw[..len]).unwrap();
        match fs.read_file(path) {
            Ok(text) => assert!(text.is_empty(), "{len}"),
            Err(error) => panic!("{len}: {error}"),
        }
        assert_eq!(fs.size(path).unwrap(), 0);
    }
    let mut torn = raw[..60].to_vec();
    torn.resize(HEADER_LEN + 5000, 0);
    mem.write_file(path, &torn).unwrap();
    assert_eq!(fs.read_file(path).unwrap(), b"");
    for at in 0..60 {
        let mut damaged = raw.clone();
        damaged[at] ^= 4;
        mem.write_file(path, &damaged).unwrap();
        let error = fs.read_file(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "byte {at}");
        assert!(error.to_string().contains(FILE), "{error}");
    }
    // This file was written by another program, without encryption.
    mem.write_file(path, &[b'x'; 10_000]).unwrap();
    let error = fs.read_file(path).unwrap_err().to_string();
    assert!(error.contains("not encrypted") && error.contains(FILE), "{error}");
    assert_eq!(
        fs.clone().reading_plain_files().read_file(path).unwrap(),
        [b'x'; 10_000]
    );
    assert_eq!(fs.master_key_of(path).unwrap(), None);
}

#[test]
fn a_wrong_master_key_opens_nothing() {
    let mem = MemFs::new();
    let path = Path::new(FILE);
    over(mem.clone()).write_file(path, b"text").unwrap();
    for keys in [KeyRing::new("other", [1; 32]), KeyRing::new("test", [2; 32])] {
        let fs = EncryptedFs::new(Arc::new(mem.clone()), Arc::new(keys));
        let error = fs.read_file(path).unwrap_err().to_string();
        assert!(error.contains("\"test\"") && error.contains(FILE), "{error}");
        assert_eq!(fs.master_key_of(path).unwrap().as_deref(), Some("test"));
    }
}

#[test]
fn files_are_cut_at_any_length() {
    let mem = MemFs::new();
    let fs = over(mem);
    let path = Path::new(FILE);
    let text: Vec<u8> = (0..9000u32).map(|at| at as u8).collect();
    for options in [log(), CreateOptions::default()] {
        for len in [9000, 8999, 6001, 6000, 5999, 17, 16, 1, 0] {
            let mut file = fs.create(path, &options).unwrap();
            text.chunks(3000).for_each(|piece| file.append(piece).unwrap());
            file.close().unwrap();
            fs.truncate(path, len).unwrap();
            assert_eq!(fs.size(path).unwrap(), len);
            assert_eq!(fs.read_file(path).unwrap(), text[..len as usize]);
        }
        assert_eq!(fs.truncate(path, 1).unwrap_err().kind(), ErrorKind::NotSupported);
    }
}

#[test]
fn noise_in_place_of_a_log_is_no_panic() {
    let mut rng = testkit::rng();
    let mem = MemFs::new();
    let fs = over(mem.clone());
    let path = Path::new(FILE);
    for _ in 0..200 {
        let mut file = fs.create(path, &log()).unwrap();
        for _ in 0..20 {
            file.append(&rng.bytes(200)).unwrap();
        }
        file.close().unwrap();
        let mut raw = mem.read_file(path).unwrap();
        for _ in 0..rng.usize(1..8) {
            let at = rng.usize(HEADER_LEN..raw.len());
            raw[at] = rng.u8(..);
        }
        mem.write_file(path, &raw).unwrap();
        let file = fs.open_random(path, &OpenOptions::default()).unwrap();
        let (offset, mut read) = (rng.u64(..5000), vec![0; rng.usize(..5000)]);
        assert!(file.read_at(offset, &mut read).unwrap() <= read.len());
        // A read of the whole log returns as many bytes as its reported length.
        assert_eq!(fs.read_file(path).unwrap().len() as u64, fs.size(path).unwrap());
    }
}
