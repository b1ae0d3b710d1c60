//! Master keys: they encrypt the keys of files, and nothing else.

use std::collections::BTreeMap;
use std::fmt;

use aes::cipher::KeyInit;
use aes_kw::KwAes256;
use base::{Error, Result};
use zeroize::{Zeroize, Zeroizing};

/// The bytes of a key of AES-256.
const KEY_LEN: usize = 32;

/// The bytes of the counter's first value.
const NONCE_LEN: usize = 16;

/// The bytes that the wrapping adds.
const WRAP_LEN: usize = 8;

/// The key of one file: 32 bytes of a key of AES-256, and 16 bytes from which its counter starts. It is erased
/// from memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct FileKey([u8; FileKey::LEN]);

impl FileKey {
    /// The bytes of a file's key.
    pub const LEN: usize = KEY_LEN + NONCE_LEN;

    /// Creates a key from these bytes.
    pub fn new(bytes: [u8; FileKey::LEN]) -> FileKey {
        FileKey(bytes)
    }

    /// A new key, from the system's generator.
    ///
    /// # Errors
    /// `Io` if the system has no random bytes.
    pub fn random() -> Result<FileKey> {
        let mut key = FileKey([0; FileKey::LEN]);
        getrandom::fill(&mut key.0).map_err(|error| {
            Error::new(
                base::ErrorKind::Io,
                format!("no random bytes for the key of a file: {error}"),
            )
        })?;
        Ok(key)
    }

    /// The bytes of the key.
    pub fn bytes(&self) -> &[u8; FileKey::LEN] {
        &self.0
    }

    pub(crate) fn parts(&self) -> (&[u8], &[u8]) {
        self.0.split_at(KEY_LEN)
    }
}

impl Drop for FileKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Shows no byte of the key.
impl fmt::Debug for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileKey(..)")
    }
}

/// A file's key in the encrypted form that its header has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedKey {
    /// The name of the master key, up to 255 bytes.
    pub master_key: String,
    /// The encrypted key, up to 1,024 bytes.
    pub bytes: Vec<u8>,
}

/// Wraps and unwraps the keys of files, for example by a key management service. A file is created with one
/// call of [`wrap`](MasterKeys::wrap) and opened with one of [`unwrap`](MasterKeys::unwrap), from any thread.
pub trait MasterKeys: Send + Sync + fmt::Debug {
    /// Wraps the key of a new file with the current master key.
    fn wrap(&self, key: &FileKey) -> Result<WrappedKey>;

    /// The key of a file. The caller adds the path of the file to an error.
    fn unwrap(&self, wrapped: &WrappedKey) -> Result<FileKey>;
}

/// Master keys in memory: new files use the current one, and existing files the one that their header names.
/// Keys are wrapped by AES key wrap (RFC 3394), which detects a wrong or damaged key.
///
/// ```
/// use esker_encryption::{FileKey, KeyRing, MasterKeys};
///
/// let old = KeyRing::new("2025", [1; 32]);
/// let wrapped = old.wrap(&FileKey::random()?)?;
/// // Files of the old key stay readable, and new ones have the new key.
/// let keys = KeyRing::new("2026", [2; 32]).with_older("2025", [1; 32]);
/// assert!(keys.unwrap(&wrapped).is_ok());
/// assert_eq!(keys.wrap(&FileKey::random()?)?.master_key, "2026");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KeyRing {
    current: String,
    keys: BTreeMap<String, Zeroizing<[u8; KEY_LEN]>>,
}

impl KeyRing {
    /// A ring with one key, which is the current one. `name` is in the headers of files, unencrypted.
    pub fn new(name: impl Into<String>, key: [u8; KEY_LEN]) -> KeyRing {
        let current = name.into();
        KeyRing {
            keys: [(current.clone(), Zeroizing::new(key))].into(),
            current,
        }
    }

    /// The same ring, which also opens files of an older key.
    pub fn with_older(mut self, name: impl Into<String>, key: [u8; KEY_LEN]) -> KeyRing {
        let name = name.into();
        if name != self.current {
            self.keys.insert(name, Zeroizing::new(key));
        }
        self
    }

    /// A ring from text: a line `NAME HEX` for each key, with 64 hexadecimal digits. The first is the current
    /// one. Empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// `InvalidArgument` with the number of the line, and without its text.
    pub fn from_text(text: &str) -> Result<KeyRing> {
        let mut ring: Option<KeyRing> = None;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let key = line.split_once(char::is_whitespace).and_then(|(name, digits)| {
                let mut key = Zeroizing::new([0; KEY_LEN]);
                decode_hex(digits.trim(), &mut *key)?;
                Some((name, key))
            });
            let (name, key) = key.ok_or_else(|| {
                Error::invalid_argument(format!(
                    "line {} of the master keys is not a name and 64 hexadecimal digits",
                    number + 1
                ))
            })?;
            ring = Some(match ring {
                None => KeyRing::new(name, *key),
                Some(ring) => ring.with_older(name, *key),
            });
        }
        ring.ok_or_else(|| Error::invalid_argument("there is no master key"))
    }

    fn kek(&self, name: &str) -> Result<KwAes256> {
        match self.keys.get(name) {
            Some(key) => Ok(KwAes256::new((&**key).into())),
            None => Err(Error::invalid_argument(format!(
                "the master key {name:?} is not in the ring"
            ))),
        }
    }
}

fn decode_hex(digits: &str, bytes: &mut [u8]) -> Option<()> {
    let digits = digits.as_bytes();
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    let digit = |byte: u8| (byte as char).to_digit(16);
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(())
}

/// Prints the names of the keys, but not the keys themselves.
impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing")
            .field("current", &self.current)
            .field("keys", &self.keys.keys())
            .finish()
    }
}

impl MasterKeys for KeyRing {
    fn wrap(&self, key: &FileKey) -> Result<WrappedKey> {
        let mut bytes = vec![0; FileKey::LEN + WRAP_LEN];
        self.kek(&self.current)?
            .wrap_key(key.bytes(), &mut bytes)
            .map_err(|error| Error::corruption(format!("the key of a file cannot be wrapped: {error}")))?;
        Ok(WrappedKey {
            master_key: self.current.clone(),
            bytes,
        })
    }

    fn unwrap(&self, wrapped: &WrappedKey) -> Result<FileKey> {
        let mut key = FileKey([0; FileKey::LEN]);
        let unwrapped = match wrapped.bytes.len() == FileKey::LEN + WRAP_LEN {
            true => self
                .kek(&wrapped.master_key)?
                .unwrap_key(&wrapped.bytes, &mut key.0)
                .is_ok(),
            false => false,
        };
        match unwrapped {
            true => Ok(key),
            false => Err(Error::corruption(format!(
                "the master key {:?} does not open the file's key",
                wrapped.master_key
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_keys_come_back_and_damage_is_found() {
        let ring = KeyRing::new("a", [1; 32]);
        let key = FileKey::random().unwrap();
        assert!(key != FileKey::random().unwrap());
        let wrapped = ring.wrap(&key).unwrap();
        assert_eq!(ring.unwrap(&wrapped).unwrap(), key);
        for at in 0..wrapped.bytes.len() {
            let mut damaged = wrapped.clone();
            damaged.bytes[at] ^= 1;
            assert!(ring.unwrap(&damaged).is_err(), "byte {at}");
        }
        let mut short = wrapped.clone();
        short.bytes.pop();
        assert!(ring.unwrap(&short).is_err());
        assert!(KeyRing::new("a", [2; 32]).unwrap(&wrapped).is_err());
        let other = KeyRing::new("b", [1; 32]).unwrap(&wrapped).unwrap_err();
        assert!(other.to_string().contains("\"a\" is not in the ring"), "{other}");
    }

    #[test]
    fn rings_are_read_from_text() {
        let (one, two) = ("11".repeat(32), "aF".repeat(32));
        let ring = KeyRing::from_text(&format!("# keys\n\nnew {one}\n old\t{two} \n")).unwrap();
        assert_eq!(
            format!("{ring:?}"),
            r#"KeyRing { current: "new", keys: ["new", "old"] }"#
        );
        let old = KeyRing::new("old", [0xaf; 32])
            .wrap(&FileKey::random().unwrap())
            .unwrap();
        assert!(ring.unwrap(&old).is_ok());
        for (text, line) in [
            ("a 11", "line 1"),
            (&format!("a {one}\nb"), "line 2"),
            (&format!("a {}", "1g".repeat(32)), "line 1"),
            (&format!("a {}", "é".repeat(32)), "line 1"),
            ("# none", "no master key"),
        ] {
            let error = KeyRing::from_text(text).unwrap_err().to_string();
            assert!(error.contains(line), "{error}");
        }
    }
}
