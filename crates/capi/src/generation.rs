//! The generation of the interface: the release of RocksDB whose signatures, numbers and defaults the program
//! expects.
//!
//! The name under which the library was loaded determines it: programs that were linked to 7.8 load
//! `librocksdb.so.7.8`. Under a name without a number, and in a static library, it is the generation that was
//! set at build time by `ESKER_ROCKSDB_GENERATION`, or 11.8.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

/// The releases whose interfaces differ in more than new names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Generation {
    /// Debian's release of 2023.
    V7_8,
    /// The release of the `rocksdb` crate 0.24.
    V10_4,
    /// The release of grocksdb 1.10.
    V10_9,
    /// The release of the `rocksdb` crate 0.25, and of the shipped `rocksdb/c.h`.
    V11_8,
}

use Generation::{V7_8, V10_4, V10_9, V11_8};

/// Returns the generation of this library in this process.
pub fn generation() -> Generation {
    static GENERATION: OnceLock<Generation> = OnceLock::new();
    *GENERATION.get_or_init(|| loaded_as().and_then(|name| of_name(&name)).unwrap_or(built()))
}

/// Returns `default`, or in an older generation the value of the first pair whose generation is not older
/// than the current one. The pairs are in the order of generations, oldest first.
pub fn at<T: Copy>(default: T, older: &[(Generation, T)]) -> T {
    of_generation(generation(), default, older)
}

fn of_generation<T: Copy>(generation: Generation, default: T, older: &[(Generation, T)]) -> T {
    older
        .iter()
        .find(|(last, _)| *last >= generation)
        .map_or(default, |(_, value)| *value)
}

/// Returns the file of the library, by the name that the loader looked for.
fn loaded_as() -> Option<String> {
    let address: *const c_void = (generation as fn() -> Generation) as *const c_void;
    // SAFETY: an all-zero `Dl_info` is valid; `dladdr` fills it for an address of this library, with strings
    // that stay while the library is loaded.
    let path = unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &mut found) == 0 || found.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(found.dli_fname).to_str().ok()?
    };
    Some(path.rsplit('/').next()?.to_owned())
}

/// Returns the generation of a name such as `librocksdb.so.10.4`. A release between two generations has the
/// older one, except that release 9 has 10.4, whose signatures it shares. A name with only a major number, as
/// RocksDB's CMake build creates it, has the newest release of that number.
fn of_name(name: &str) -> Option<Generation> {
    let mut numbers = name.strip_prefix("librocksdb.so.")?.split('.');
    let major: u32 = numbers.next()?.parse().ok()?;
    let minor: u32 = match numbers.next() {
        Some(minor) => minor.parse().ok()?,
        None => u32::MAX,
    };
    Some(match (major, minor) {
        (..=8, _) => V7_8,
        (9, _) | (10, ..=8) => V10_4,
        (10, _) => V10_9,
        _ => V11_8,
    })
}

/// Returns the generation that was set at build time.
fn built() -> Generation {
    match env!("ESKER_ROCKSDB_GENERATION") {
        "7.8" => V7_8,
        "10.4" => V10_4,
        "10.9" => V10_9,
        _ => V11_8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_which_generation() {
        let of = |name| of_name(name);
        assert_eq!(of("librocksdb.so.7.8"), Some(V7_8));
        assert_eq!(of("librocksdb.so.7.8.3"), Some(V7_8));
        assert_eq!(of("librocksdb.so.8.10"), Some(V7_8));
        assert_eq!(of("librocksdb.so.9.1"), Some(V10_4));
        assert_eq!(of("librocksdb.so.10.4"), Some(V10_4));
        assert_eq!(of("librocksdb.so.10.9"), Some(V10_9));
        assert_eq!(of("librocksdb.so.10"), Some(V10_9));
        assert_eq!(of("librocksdb.so.11"), Some(V11_8));
        assert_eq!(of("librocksdb.so.11.8"), Some(V11_8));
        for other in ["librocksdb.so", "librocksdb.so.x", "libesker_capi.so", "program"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn an_older_generation_has_the_value_it_had() {
        let of = |generation| of_generation(generation, 7, &[(V7_8, 5), (V10_9, 6)]);
        assert_eq!([V7_8, V10_4, V10_9, V11_8].map(of), [5, 6, 6, 7]);
    }
}
