//! Random edits on versions, compared with a list of files.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::internal_key::encode;
use base::{InternalComparator, Kind, UserComparator};
use manifest::{FileMetadata, Version, VersionBuilder, VersionEdit};
use testkit::TestRng;

type Model = BTreeMap<u64, (usize, Arc<FileMetadata>)>;

fn key(n: u32) -> Vec<u8> {
    format!("user{n:06}").into_bytes()
}

/// A file over the keys `from..=to`.
fn file(cmp: &UserComparator, number: u64, from: u32, to: u32) -> Arc<FileMetadata> {
    let (mut low, mut high) = (key(from), key(to));
    if cmp.compare(&low, &high).is_gt() {
        std::mem::swap(&mut low, &mut high);
    }
    Arc::new(FileMetadata {
        number,
        size: number * 10,
        smallest: encode(&low, number, Kind::Value).into(),
        largest: encode(&high, number, Kind::Value).into(),
        smallest_seqno: number,
        largest_seqno: number,
        ..FileMetadata::default()
    })
}

fn check(version: &Version, model: &Model, rng: &mut TestRng) {
    let cmp = version.cmp().user();
    assert_eq!(version.num_files(), model.len());
    for level in 0..version.num_levels() {
        let mut want: Vec<_> = model
            .values()
            .filter(|file| file.0 == level)
            .map(|file| &file.1)
            .collect();
        if level == 0 {
            want.sort_by_key(|file| std::cmp::Reverse(file.number));
        } else {
            want.sort_by(|a, b| version.cmp().compare(&a.smallest, &b.smallest));
        }
        let files = version.files(level);
        assert!(files.iter().eq(want.iter().copied()), "L{level}: {version:?}");
        assert_eq!(
            version.level_bytes(level),
            want.iter().map(|file| file.size).sum::<u64>()
        );
        for _ in 0..6 {
            let (a, b) = (key(rng.u32(..1000)), key(rng.u32(..1000)));
            let begin = Some(&*a).filter(|_| !rng.one_in(8));
            let end = Some(&*b).filter(|_| !rng.one_in(8));
            if let (Some(begin), Some(end)) = (begin, end)
                && cmp.compare(begin, end).is_gt()
            {
                continue;
            }
            let overlapping: Vec<u64> = files
                .iter()
                .filter(|file| file.overlaps(cmp, begin, end))
                .map(|file| file.number)
                .collect();
            let found: Vec<u64> = version
                .overlapping(level, begin, end)
                .iter()
                .map(|file| file.number)
                .collect();
            assert_eq!(found, overlapping);
            assert_eq!(version.overlaps(level, begin, end), !found.is_empty());
            if level > 0 {
                let here = version.files_for_user_key(level, &a);
                assert!(here.iter().all(|file| file.overlaps(cmp, Some(&a), Some(&a))));
                let target = encode(&a, rng.u64(..900), Kind::Value);
                let want = files
                    .iter()
                    .position(|file| version.cmp().compare(&file.largest, &target).is_ge());
                assert_eq!(version.find_file(level, &target), want.unwrap_or(files.len()));
            }
        }
    }
    assert_eq!(version.estimate_live_data_size(), live_data_size(version));
    for _ in 0..20 {
        let user_key = key(rng.u32(..1000));
        let target = encode(&user_key, rng.u64(..900), Kind::Value);
        let found: Vec<(usize, u64)> = version
            .runs_of(&target)
            .map(|(level, files)| (level, files[0].number))
            .collect();
        let has_room = |file: &&Arc<FileMetadata>| file.overlaps(cmp, Some(&user_key), Some(&user_key));
        let level_0 = version
            .files(0)
            .iter()
            .filter(has_room)
            .map(|file| (0, file.number));
        // Below L0 a file may overlap the target's user key without holding versions at or after the target.
        let below = (1..version.num_levels()).filter_map(|level| {
            let behind = |file: &&Arc<FileMetadata>| version.cmp().compare(&file.largest, &target).is_ge();
            let first = version.files(level).iter().find(behind)?;
            (!first.is_after(cmp, &user_key)).then_some((level, first.number))
        });
        assert_eq!(found, level_0.chain(below).collect::<Vec<_>>());
    }
}

/// RocksDB's estimate, computed by comparing each file with all counted ones.
fn live_data_size(version: &Version) -> u64 {
    let cmp = version.cmp();
    let mut counted: Vec<&Arc<FileMetadata>> = Vec::new();
    for level in (0..version.num_levels()).rev() {
        for file in version.files(level) {
            let is_apart = |other: &&Arc<FileMetadata>| {
                cmp.compare(&other.largest, &file.smallest).is_lt()
                    || cmp.compare(&file.largest, &other.smallest).is_lt()
            };
            if counted.iter().all(is_apart) {
                counted.push(file);
            }
        }
    }
    counted.iter().map(|file| file.size).sum()
}

/// True if no file of `level` overlaps `new`.
fn is_free(model: &Model, level: usize, new: &FileMetadata) -> bool {
    let (low, high) = (new.smallest_user_key(), new.largest_user_key());
    level == 0
        || !model
            .values()
            .any(|(at, file)| *at == level && file.overlaps(&UserComparator::Bytewise, Some(low), Some(high)))
}

#[test]
fn random_edits_agree_with_a_list() {
    let mut rng = testkit::rng();
    let cmp = UserComparator::Bytewise;
    for _ in 0..25 {
        let mut version = Version::empty(InternalComparator::new(cmp.clone()), 7);
        let mut model = Model::new();
        let mut next = 1;
        for _ in 0..60 {
            let mut edit = VersionEdit::default();
            let before = model.clone();
            model.retain(|&number, (level, _)| {
                let stays = !rng.one_in(12);
                if !stays {
                    edit.deleted_files.insert((*level as u32, number));
                }
                stays
            });
            let gone: Vec<_> = before
                .values()
                .filter(|(_, file)| !model.contains_key(&file.number))
                .collect();
            // Some deleted files move to another level, with their number and the engine's state.
            let moved = gone.iter().map(|(_, file)| Arc::clone(file));
            let mut candidates: Vec<_> = moved.filter(|_| rng.one_in(3)).collect();
            for _ in 0..rng.usize(..6) {
                next += 1;
                let from = rng.u32(..990);
                candidates.push(file(&cmp, next, from, from + rng.u32(..10)));
            }
            for new in candidates {
                let level = rng.usize(..4);
                if is_free(&model, level, &new) {
                    model.insert(new.number, (level, Arc::clone(&new)));
                    edit.new_files.push((level as u32, new));
                }
            }
            let old = version.clone();
            let mut builder = VersionBuilder::new(&old);
            builder
                .apply(&edit)
                .unwrap_or_else(|e| panic!("{e}: {edit:?} on {old:?}"));
            version = builder
                .build()
                .unwrap_or_else(|e| panic!("{e}: {edit:?} on {old:?}"));
            check(&version, &model, &mut rng);
            // Levels that the edit does not name are shared with the old version.
            for level in 0..7 {
                let named = edit.deleted_files.iter().any(|file| file.0 == level)
                    || edit.new_files.iter().any(|file| file.0 == level);
                let shared = std::ptr::eq(old.level(level as usize), version.level(level as usize));
                assert!(named || shared);
            }
            // A moved file has the same metadata, with the engine's state.
            for (level, file) in model.values() {
                let found = version.level(*level).file(file.number).unwrap();
                assert!(Arc::ptr_eq(found, file));
            }
        }
    }
}

#[test]
fn every_order_finds_its_files() {
    let mut rng = testkit::rng();
    for cmp in [
        UserComparator::Bytewise,
        UserComparator::ReverseBytewise,
        UserComparator::builtin("leveldb.BytewiseComparator.u64ts").unwrap(),
    ] {
        let mut edit = VersionEdit::default();
        let mut model = Model::new();
        for number in 1..80u32 {
            let reverse = cmp == UserComparator::ReverseBytewise;
            let order = if reverse { &cmp } else { &UserComparator::Bytewise };
            let mut new = FileMetadata::clone(&file(order, number.into(), number * 10, number * 10 + 6));
            if cmp.timestamp_size() > 0 {
                new.pad_timestamps(cmp.timestamp_size());
            }
            let new = Arc::new(new);
            edit.new_files.push((2, Arc::clone(&new)));
            model.insert(new.number, (2, new));
        }
        let mut builder = VersionBuilder::new(&Version::empty(InternalComparator::new(cmp.clone()), 7));
        builder.apply(&edit).unwrap();
        let version = builder.build().unwrap();
        assert_eq!(version.files(2).len(), 79);
        for n in 0..820 {
            let mut user_key = key(n);
            user_key.extend_from_slice(&7u64.to_le_bytes()[..cmp.timestamp_size()]);
            let here: Vec<_> = version
                .files_for_user_key(2, &user_key)
                .iter()
                .map(|f| f.number)
                .collect();
            let want: Vec<_> = (n >= 10 && n % 10 <= 6 && n < 800)
                .then_some(u64::from(n / 10))
                .into_iter()
                .collect();
            assert_eq!(here, want, "{cmp:?} {n}");
        }
        if cmp.timestamp_size() == 0 {
            check(&version, &model, &mut rng);
        }
    }
}
