//! Damaged files: reads return an answer or `Corruption`, and never panic, hang, or use unlimited memory.

use std::ops::ControlFlow;

use base::ErrorKind;
use sst::format::FOOTER_LEN;
use sst::{BlockReadOptions, LookupKey, Table};
use testkit::rng;

use crate::common::{Fixture, file, fixtures, new_cache};

/// Reads everything in the table in every way, and returns the first error.
fn read_all(fixture: &Fixture, bytes: Vec<u8>, options: BlockReadOptions) -> base::Result<()> {
    let len = bytes.len();
    let table = Table::open(
        file(&fixture.name, bytes),
        sst::TableReadOptions {
            verify_checksums: options.verify_checksums,
            ..fixture.options(Some(new_cache(256 << 10)))
        },
    )?;
    let most = 20 * len + 1000;
    let mut targets = Vec::new();
    let mut cursor = table.cursor(options);
    let mut result = Ok(());
    for round in 0..2 {
        let mut steps = 0;
        cursor.seek_to_first();
        while cursor.valid() {
            if steps % 50 == round {
                targets.push(cursor.key().to_vec());
            }
            std::hint::black_box(cursor.value());
            cursor.next();
            steps += 1;
            assert!(steps < most);
        }
        result = result.and(cursor.status());
        steps = 0;
        cursor.seek_to_last();
        while cursor.valid() {
            std::hint::black_box((cursor.key(), cursor.value()));
            cursor.prev();
            steps += 1;
            assert!(steps < most);
        }
        result = result.and(cursor.status());
    }
    for target in &targets {
        cursor.seek(target);
        result = result.and(cursor.status());
        cursor.seek_for_prev(target);
        result = result.and(cursor.status());
        let user_key = base::internal_key::user_key(target);
        let lookup = LookupKey::new(user_key, base::MAX_SEQNO, &fixture.order);
        let found = table.get(&lookup, &options, &mut |_, value| {
            value.keep();
            ControlFlow::Continue(())
        });
        result = result.and(found.map(|kept| drop(std::hint::black_box(kept))));
    }
    let verified = table.verify(0, &mut |_| {});
    if options.verify_checksums {
        result = result.and(verified);
    }
    result
}

/// A few tables of each database.
fn sample() -> Vec<Fixture> {
    let mut last = String::new();
    let mut count = 0;
    let mut sample = fixtures();
    sample.retain(|fixture| {
        let database = fixture.name.split('/').next().unwrap().to_owned();
        if database != last {
            (last, count) = (database, 0);
        }
        count += 1;
        count <= 2
    });
    sample
}

fn acceptable(result: &base::Result<()>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) => {
            matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotSupported) && error.file().is_some()
        }
    }
}

#[test]
fn a_file_cut_short_is_corrupt() {
    let mut rng = rng::rng();
    for fixture in sample() {
        let len = fixture.bytes.len();
        let cuts = [0, 1, 52, 53, len / 2, len - 54, len - 53, len - 1];
        let random: Vec<usize> = (0..20).map(|_| rng.usize(..len)).collect();
        for cut in cuts.into_iter().chain(random) {
            let result = read_all(
                &fixture,
                fixture.bytes[..cut].to_vec(),
                BlockReadOptions::default(),
            );
            let error = result.expect_err("a file cut short");
            assert!(
                error.is_corruption() && error.file().is_some(),
                "{}: {error}",
                fixture.name
            );
        }
    }
}

#[test]
fn a_flipped_bit_is_found_or_harmless() {
    let mut rng = rng::rng();
    for fixture in sample() {
        let mut found = 0;
        for _ in 0..30 {
            let mut bytes = fixture.bytes.clone();
            let at = rng.usize(..bytes.len());
            bytes[at] ^= 1 << rng.u32(..8);
            let result = read_all(&fixture, bytes, BlockReadOptions::default());
            assert!(acceptable(&result), "{} byte {at}: {result:?}", fixture.name);
            found += usize::from(result.is_err());
        }
        // Few bytes have no checksum: unused bytes of an old footer.
        let checked = fixture.bytes[fixture.bytes.len() - FOOTER_LEN] != 0;
        assert!(!checked || found >= 25, "{}: {found} of 30 found", fixture.name);
    }
}

#[test]
fn damage_that_no_checksum_stops_is_survived() {
    let mut rng = rng::rng();
    for fixture in sample() {
        for round in 0..60 {
            let unchecked = BlockReadOptions {
                verify_checksums: false,
                fill_cache: round % 2 == 0,
                ..BlockReadOptions::default()
            };
            let mut bytes = fixture.bytes.clone();
            for _ in 0..rng.usize(1..20) {
                let at = rng.usize(..bytes.len());
                bytes[at] = match rng.u8(..3) {
                    0 => bytes[at] ^ (1 << rng.u32(..8)),
                    1 => 0xff,
                    _ => rng.u8(..),
                };
            }
            let result = read_all(&fixture, bytes, unchecked);
            assert!(acceptable(&result), "{}: {result:?}", fixture.name);
        }
    }
}
