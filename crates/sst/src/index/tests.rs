//! Index blocks that RocksDB wrote, and searches compared with a plain search.

use base::{Kind, UserComparator};
use testkit::rng;

use super::*;
use crate::block::Block;
use crate::format::BLOCK_TRAILER_LEN;
use crate::vectors::{unhex, vectors};

#[test]
fn index_blocks_of_every_coding() {
    for vector in vectors("index_block") {
        let desc = vector["desc"].as_str().unwrap();
        let index_type = IndexType::from_u32(vector["index_type"].as_u64().unwrap() as u32).unwrap();
        let coding = IndexCoding {
            user_keys: vector["key_is_user_key"].as_bool().unwrap(),
            delta: vector["value_delta_encoded"].as_bool().unwrap(),
            first_keys: index_type == IndexType::BinarySearchWithFirstKey,
        };
        let block = Block::parse(unhex(&vector["block_hex"])).unwrap();
        let mut found = Vec::new();
        decode_block(&block, coding, |entry| {
            let first_key = entry.first_key.map(<[u8]>::to_vec);
            found.push((entry.separator.to_vec(), entry.handle, first_key));
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{desc}: {error}"));
        let expected = vector["entries"].as_array().unwrap();
        let all = expected.len() == found.len();
        assert!(all || index_type == IndexType::TwoLevel, "{desc}");
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.0, unhex(&expected["key_hex"]), "{desc}");
            assert_eq!(found.1.offset, expected["offset"].as_u64().unwrap(), "{desc}");
            assert_eq!(found.1.size, expected["size"].as_u64().unwrap(), "{desc}");
            let first_key = expected.get("first_internal_key_hex").map(unhex);
            assert_eq!(found.2, first_key, "{desc}");
            if let Some(partition) = expected.get("partition_block_hex") {
                let mut builder = IndexBuilder::new(coding.user_keys, 1 << 30);
                let partition = Block::parse(unhex(partition)).unwrap();
                builder.add_block(&partition, coding).unwrap();
                let index = builder.build(&UserComparator::Bytewise);
                assert_eq!(index.separator(index.len() - 1), found.0);
            }
        }
    }
}

fn index_of(separators: &[Vec<u8>], user_keys: bool, order: &UserComparator) -> Index {
    let mut builder = IndexBuilder::new(user_keys, 1 << 40);
    builder.keys_limit = usize::MAX;
    for (i, separator) in separators.iter().enumerate() {
        let handle = BlockHandle::new(i as u64 * 4096, 4000 + i as u64 % 90);
        builder.push(separator, handle).unwrap();
    }
    builder.build(order)
}

#[test]
fn a_seek_finds_what_a_plain_search_finds() {
    let mut rng = rng::rng();
    for round in 0..60 {
        let order = match round % 3 {
            2 => UserComparator::ReverseBytewise,
            _ => UserComparator::Bytewise,
        };
        let count = *rng.pick(&[0, 1, 2, 17, 300, 3000]);
        let user_key = |rng: &mut testkit::rng::TestRng| match round % 5 {
            0 => format!("{:016}", rng.u32(..100_000)).into_bytes(),
            // Most of these keys have the same first eight bytes.
            1 => format!("table/0000000/{:04}", rng.u32(..5000)).into_bytes(),
            2 => format!("{}table/0000000/{:03}", rng.u32(..3), rng.u32(..2000)).into_bytes(),
            3 => {
                let len = rng.usize(..12);
                rng.bytes(len)
            }
            _ => vec![rng.u8(..2); rng.usize(..20)],
        };
        for user_keys in [true, false] {
            let mut separators: Vec<Vec<u8>> = (0..count)
                .map(|_| match user_keys {
                    true => user_key(&mut rng),
                    false => internal_key::encode(&user_key(&mut rng), rng.u64(..5), Kind::Value),
                })
                .collect();
            let cmp = base::InternalComparator::new(order.clone());
            separators.sort_by(|a, b| match user_keys {
                true => order.compare(a, b),
                false => cmp.compare(a, b),
            });
            separators.dedup();
            let index = index_of(&separators, user_keys, &order);
            assert_eq!(index.prefixes.is_some(), order.is_bytewise());
            assert_eq!(index.len(), separators.len());
            for (i, separator) in separators.iter().enumerate() {
                assert_eq!(index.separator(i), separator);
                assert_eq!(index.handle(i).offset, i as u64 * 4096);
            }
            for _ in 0..400 {
                let mut probe = match separators.is_empty() || rng.bool() {
                    true => user_key(&mut rng),
                    false if user_keys => rng.pick(&separators).clone(),
                    false => internal_key::user_key(rng.pick::<Vec<u8>>(&separators)).to_vec(),
                };
                match rng.u8(..4) {
                    0 => probe.push(rng.u8(..2)),
                    1 => drop(probe.pop()),
                    _ => {}
                }
                let target = Target {
                    user_key: &probe,
                    trailer: internal_key::pack_trailer(rng.u64(..6), rng.u8(..3)),
                };
                let expected = separators.partition_point(|separator| {
                    separator_is_before(separator, user_keys, &target, &order, &KeyForm::PLAIN)
                });
                assert_eq!(
                    index.seek(&target, &order, &KeyForm::PLAIN),
                    expected,
                    "{target:02x?}"
                );
            }
            // The leaves take 32 bytes an entry; keys may be empty.
            assert!(index.memory_usage() >= index.len() * 32);
        }
    }
}

/// The handle of a block is the one that was put in, whether blocks are back to back, padded, or apart, and
/// at any offset in the file. Padding costs no memory.
#[test]
fn handles_are_as_they_were() {
    let mut rng = rng::rng();
    for count in [0usize, 1, 15, 16, 17, 31, 32, 33, 100] {
        // The last cases have leaves that span more than 4 GiB, and smaller leaves in files of more than 4
        // GiB.
        for (gap, alignment, largest) in [
            (0, 1, 5_000),
            (1, 1, 5_000),
            (4096, 1, 5_000),
            (0, 1, 1 << 20),
            (0, 1, 200 << 20),
            (0, 1, 600 << 20),
            (0, 4096, 5_000),
            (0, 4096, 600 << 20),
            (0, 1 << 20, 600 << 20),
            (5_000, 4096, 5_000),
        ] {
            let mut builder = IndexBuilder::new(true, u64::MAX);
            let mut handles = Vec::new();
            let first = *rng.pick(&[0, 999, (1 << 32) - 20_000, 7 << 32]);
            let first = u64::next_multiple_of(first, alignment);
            let mut offset = first;
            for i in 0..count {
                let handle = BlockHandle::new(offset, rng.u64(..largest));
                builder.push(format!("{i:04}").as_bytes(), handle).unwrap();
                offset += handle.size + BLOCK_TRAILER_LEN as u64 + rng.u64(..=gap);
                offset = offset.next_multiple_of(alignment);
                handles.push(handle);
            }
            let index = builder.build(&UserComparator::Bytewise);
            let found: Vec<_> = (0..index.len()).map(|i| index.handle(i)).collect();
            assert_eq!(found, handles);
            let near_the_front = largest <= 1 << 20 && first < 1 << 31;
            if gap == 0 && near_the_front {
                // The memory of leaves of 512 bytes and of the search tree. Stored handles would take 16
                // bytes more for each block.
                assert!(index.memory_usage() <= count.next_multiple_of(16) * 40 + 600);
            }
            let near = handles
                .iter()
                .flat_map(|handle| [handle.offset, handle.offset + 1]);
            for at in near.chain([0, first, offset, u64::MAX]) {
                let expected = handles.partition_point(|handle| handle.offset < at);
                assert_eq!(index.block_at_or_after(at), expected, "{at}");
            }
        }
    }
}

#[test]
fn disorder_and_impossible_handles_do_no_harm() {
    let mut rng = rng::rng();
    let mut separators: Vec<Vec<u8>> = (0..1000).map(|i| format!("key{i:05}").into_bytes()).collect();
    rng.shuffle(&mut separators);
    let order = UserComparator::Bytewise;
    let index = index_of(&separators, true, &order);
    for separator in &separators {
        let target = Target {
            user_key: separator,
            trailer: 0,
        };
        assert!(index.seek(&target, &order, &KeyForm::PLAIN) <= index.len());
    }
    let mut builder = IndexBuilder::new(true, 100);
    builder.push(b"a", BlockHandle::new(0, 95)).unwrap();
    for (offset, size) in [
        (0, 96),
        (96, 0),
        (u64::MAX, 1),
        (1, u64::MAX),
        (50, u64::MAX - 50),
    ] {
        let error = builder.push(b"b", BlockHandle::new(offset, size)).unwrap_err();
        assert!(error.is_corruption());
    }
}

#[test]
fn shared_bytes_cannot_make_separators_without_end() {
    // The damaged block has one long key, and then a million keys that share all of it.
    let mut bytes = Vec::new();
    let long = vec![b'k'; 1 << 16];
    for varint in [0, long.len() as u32] {
        base::coding::put_varint32(&mut bytes, varint);
    }
    bytes.extend_from_slice(&long);
    BlockHandle::new(0, 10).encode(&mut bytes);
    for _ in 0..1_000_000 {
        base::coding::put_varint32(&mut bytes, long.len() as u32);
        bytes.extend_from_slice(&[0, 0]);
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&1u32.to_le_bytes());
    let coding = IndexCoding {
        user_keys: true,
        delta: true,
        first_keys: false,
    };
    let mut builder = IndexBuilder::new(true, u64::MAX);
    let error = builder
        .add_block(&Block::parse(bytes).unwrap(), coding)
        .unwrap_err();
    assert!(error.is_corruption());
}
