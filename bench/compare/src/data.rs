//! The data: the same keys and values for every engine.

/// The size of a key in bytes: a big-endian number, then `0`s, as in db_bench.
pub const KEY_SIZE: usize = 16;

/// Keys and values.
pub struct Data {
    /// The number of distinct keys.
    pub num: u64,
    /// The number of point reads; scans do fewer.
    pub reads: u64,
    /// The pool that values are slices of; it compresses to about half.
    pool: Vec<u8>,
    value_size: usize,
}

impl Data {
    /// The data of `num` keys with values of `value_size` bytes.
    pub fn new(num: u64, reads: u64, value_size: usize) -> Data {
        let mut rng = fastrand::Rng::with_seed(301);
        let mut pool = Vec::with_capacity(1 << 20);
        while pool.len() < (1 << 20) + value_size {
            let piece: Vec<u8> = (0..50).map(|_| rng.u8(b' '..b'~')).collect();
            pool.extend_from_slice(&piece);
            pool.extend_from_slice(&piece);
        }
        Data {
            num,
            reads,
            pool,
            value_size,
        }
    }

    /// The value of entry `at`.
    pub fn value(&self, at: u64) -> &[u8] {
        self.value_of(at, self.value_size)
    }

    /// A value of `size` bytes, for entry `at`.
    pub fn value_of(&self, at: u64, size: usize) -> &[u8] {
        let start = (at as usize * size) % (self.pool.len() - size);
        &self.pool[start..start + size]
    }

    /// The size of a key and a value in bytes.
    pub fn entry_size(&self) -> u64 {
        (KEY_SIZE + self.value_size) as u64
    }
}

/// Key number `number`, with the length of `key`, built in place: the number, then `0`s.
pub fn write_key(number: u64, key: &mut [u8]) {
    key.fill(b'0');
    key[..8].copy_from_slice(&number.to_be_bytes());
}

/// Key number `number`.
pub fn key(number: u64) -> [u8; KEY_SIZE] {
    let mut key = [0; KEY_SIZE];
    write_key(number, &mut key);
    key
}

/// A key that is never written, between key `number` and the next.
pub fn missing_key(number: u64) -> [u8; KEY_SIZE] {
    let mut key = key(number);
    key[KEY_SIZE - 1] = b'1';
    key
}

/// Key number `number` of stream `stream`.
pub fn stream_key(stream: u64, number: u64) -> [u8; KEY_SIZE] {
    let mut key = [0; KEY_SIZE];
    key[..8].copy_from_slice(&stream.to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_apart() {
        assert!(stream_key(0, u64::MAX) < stream_key(1, 0));
        assert!(stream_key(1, 1) < stream_key(1, 256));
        assert!(key(255) < missing_key(255) && missing_key(255) < key(256));
    }
}
