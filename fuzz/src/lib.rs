//! Fuzz targets, one for each decoder: untrusted bytes must result in an error or a value, never in a panic,
//! an endless loop, or an allocation of a size that the bytes merely claim.
//!
//! A target is a function of [`targets`] and a row of [`TARGETS`]. `cargo xtask fuzz-quick` runs all of them:
//! under libFuzzer with the binaries in `fuzz_targets/`, or with [`smoke`](../smoke/index.html), which
//! mutates [`seeds`] at random.
#![forbid(unsafe_code)]

pub mod mutate;
pub mod seeds;
pub mod targets;
mod vectors;

pub use targets::{TARGETS, Target};

/// Makes a libFuzzer binary of a target.
#[cfg(feature = "libfuzzer")]
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::targets::$name(data));
    };
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_target_has_its_binary_and_its_seeds() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let seeds = seeds::all();
        for (name, run) in TARGETS {
            assert!(
                manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")),
                "{name}"
            );
            assert!(root.join(format!("fuzz_targets/{name}.rs")).is_file(), "{name}");
            let seeds = seeds.get(name).unwrap_or_else(|| panic!("{name} has no seeds"));
            assert!(!seeds.is_empty());
            run(b"");
            for seed in seeds {
                run(seed);
            }
        }
        assert_eq!(manifest.matches("path = \"fuzz_targets/").count(), TARGETS.len());
        assert_eq!(seeds.len(), TARGETS.len());
    }
}
