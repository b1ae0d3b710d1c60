//! The unique id of a table. RocksDB computes it from three of the table's properties and records it in the
//! MANIFEST, so that it detects a table that was replaced by another.
//!
//! ```text
//! session = 36-digit number of 13 to 24 digits, the last 12 of them b, the others a
//! upper, lower = a >> 2, a << 62 | (b mod 2^62)
//! id = u64 lower, u64 (high half of XXH3-128 of the database's id, seeded with upper) ^ original file number
//! ```

use codec::hash::xxh3_128;

use crate::TableProperties;

/// Digits of the second number of a session id.
const LOW_DIGITS: usize = 12;

/// The two numbers of a session id. `None` if the text is no session id.
fn decode_session(id: &[u8]) -> Option<(u64, u64)> {
    if !(LOW_DIGITS + 1..=2 * LOW_DIGITS).contains(&id.len()) {
        return None;
    }
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0u64, |number, &digit| {
            let digit = char::from(digit).to_digit(36)?;
            Some(number.wrapping_mul(36).wrapping_add(u64::from(digit)))
        })
    };
    let (high, low) = id.split_at(id.len() - LOW_DIGITS);
    let (high, low) = (number(high)?, number(low)?);
    Some((high >> 2, low & (u64::MAX >> 2) | high << 62))
}

fn halves(hash: u128) -> (u64, u64) {
    ((hash >> 64) as u64, hash as u64)
}

impl TableProperties {
    /// The unique id as recorded in the MANIFEST. `None` if the properties do not identify the table.
    pub fn unique_id(&self) -> Option<[u8; 16]> {
        if self.db_id.is_empty() || self.orig_file_number == 0 {
            return None;
        }
        Some(self.unique_id_of(decode_session(&self.db_session_id)?))
    }

    /// True if `recorded`, from a MANIFEST, may be the unique id of this table. Properties that do not
    /// identify the table have an id for this purpose too.
    pub fn has_unique_id(&self, recorded: &[u8; 16]) -> bool {
        let session = decode_session(&self.db_session_id).unwrap_or_else(|| {
            let (upper, lower) = halves(xxh3_128(&self.db_session_id, 0));
            (upper, if lower == 0 { upper | 1 } else { lower })
        });
        self.unique_id_of(session) == *recorded
    }

    fn unique_id_of(&self, (upper, lower): (u64, u64)) -> [u8; 16] {
        let (high, _) = halves(xxh3_128(&self.db_id, upper));
        let mut id = [0; 16];
        id[..8].copy_from_slice(&lower.to_le_bytes());
        id[8..].copy_from_slice(&(high ^ self.orig_file_number).to_le_bytes());
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(db_id: &str, session: &str, number: u64) -> TableProperties {
        TableProperties {
            db_id: db_id.into(),
            db_session_id: session.into(),
            orig_file_number: number,
            ..TableProperties::default()
        }
    }

    #[test]
    fn sessions_decode_as_base_36() {
        let digits = |text: &str| decode_session(text.as_bytes());
        // 2^62 - 1 is 0Z... in the twelve low digits; one more bit comes from the number before.
        assert_eq!(digits("00000000000000000001"), Some((0, 1)));
        assert_eq!(digits("00000001000000000000"), Some((0, 1 << 62)));
        assert_eq!(digits("0000000400000000000z"), Some((1, 35)));
        assert_eq!(digits("0000000400000000000Z"), Some((1, 35)));
        for bad in [
            "",
            "123456789012",
            "1234567890123456789012345",
            "0000000400000000000-",
            "0000000400000000000é",
        ] {
            assert_eq!(digits(bad), None, "{bad}");
        }
    }

    #[test]
    fn whoever_wrote_a_table_has_a_part_in_its_id() {
        let good = properties("a database", "ABCDEFGHIJKLMNOPQRST", 7);
        let id = good.unique_id().unwrap();
        assert!(good.has_unique_id(&id));
        for other in [
            properties("another database", "ABCDEFGHIJKLMNOPQRST", 7),
            properties("a database", "ABCDEFGHIJKLMNOPQRSU", 7),
            properties("a database", "BBCDEFGHIJKLMNOPQRST", 7),
            properties("a database", "ABCDEFGHIJKLMNOPQRST", 8),
        ] {
            assert_ne!(other.unique_id().unwrap(), id);
            assert!(!other.has_unique_id(&id));
        }
        for nobody in [
            properties("", "ABCDEFGHIJKLMNOPQRST", 7),
            properties("a database", "", 7),
            properties("a database", "too short", 7),
            properties("a database", "ABCDEFGHIJKLMNOPQRST", 0),
        ] {
            assert_eq!(nobody.unique_id(), None);
            assert!(!nobody.has_unique_id(&id));
        }
    }
}
