//! The workloads: each returns operations done, and a number both engines must agree on.

use std::hint::black_box;

use crate::engine::{Cursor, Engine};

/// Bytes of a key: a big-endian number, then `0`s, as db_bench makes them.
const KEY_SIZE: usize = 16;

/// Keys and values, the same for both engines.
pub struct Data {
    /// Distinct keys.
    pub num: u64,
    /// Pool that values are slices of; compresses to about half.
    pool: Vec<u8>,
    value_size: usize,
}

impl Data {
    pub fn new(num: u64, value_size: usize) -> Data {
        let mut rng = fastrand::Rng::with_seed(301);
        let mut pool = Vec::with_capacity(1 << 20);
        while pool.len() < 1 << 20 {
            let piece: Vec<u8> = (0..50).map(|_| rng.u8(b' '..b'~')).collect();
            pool.extend_from_slice(&piece);
            pool.extend_from_slice(&piece);
        }
        Data {
            num,
            pool,
            value_size,
        }
    }

    pub fn value(&self, at: u64) -> &[u8] {
        let start = (at as usize * self.value_size) % (self.pool.len() - self.value_size);
        &self.pool[start..start + self.value_size]
    }
}

/// Key number `number`.
pub fn key(number: u64) -> [u8; KEY_SIZE] {
    let mut key = [b'0'; KEY_SIZE];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

/// What a workload did.
pub struct Done {
    pub operations: u64,
    /// Rows found or walked.
    pub found: u64,
}

pub fn fill_sequential<E: Engine>(db: &E, data: &Data) -> Done {
    for number in 0..data.num {
        db.put(&key(number), data.value(number));
    }
    Done {
        operations: data.num,
        found: 0,
    }
}

pub fn fill_random<E: Engine>(db: &E, data: &Data, seed: u64) -> Done {
    let mut rng = fastrand::Rng::with_seed(seed);
    for at in 0..data.num {
        db.put(&key(rng.u64(..data.num)), data.value(at));
    }
    Done {
        operations: data.num,
        found: 0,
    }
}

/// Every key once, in random order.
pub fn fill_unique_random<E: Engine>(db: &E, data: &Data) {
    let mut numbers: Vec<u64> = (0..data.num).collect();
    fastrand::Rng::with_seed(7).shuffle(&mut numbers);
    for (at, number) in numbers.into_iter().enumerate() {
        db.put(&key(number), data.value(at as u64));
    }
}

pub fn read_random<E: Engine>(db: &E, data: &Data, reads: u64, seed: u64) -> Done {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut found = 0;
    for _ in 0..reads {
        found += u64::from(black_box(db.get(&key(rng.u64(..data.num)))).is_some());
    }
    Done {
        operations: reads,
        found,
    }
}

pub fn read_sequential<E: Engine>(db: &E, backwards: bool) -> Done {
    let mut cursor = db.cursor();
    let mut found = 0;
    if backwards {
        cursor.seek_to_last();
    } else {
        cursor.seek_to_first();
    }
    while let Some(size) = cursor.entry() {
        black_box(size);
        found += 1;
        if backwards {
            cursor.prev();
        } else {
            cursor.next();
        }
    }
    Done {
        operations: found,
        found,
    }
}

pub fn seek_random<E: Engine>(db: &E, data: &Data, seeks: u64, nexts: u64, seed: u64) -> Done {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut found = 0;
    for _ in 0..seeks {
        let mut cursor = db.cursor();
        cursor.seek(&key(rng.u64(..data.num)));
        for _ in 0..nexts {
            match cursor.entry() {
                Some(size) => {
                    black_box(size);
                    found += 1;
                    cursor.next();
                }
                None => break,
            }
        }
    }
    Done {
        operations: seeks,
        found,
    }
}
