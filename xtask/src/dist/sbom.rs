//! The bill of materials of each library, as CycloneDX 1.5: every package that is compiled into it, with its
//! version, licence and the checksum by which Cargo has verified it. A maintained tool for this exists; its
//! output has a random serial number and the time, so that two builds would differ.

use std::collections::BTreeMap;
use std::fs;

use crate::shell::{self, Outcome};

/// The libraries that are given away, by package.
const LIBRARIES: &[&str] = &["esker-capi", "esker-jni", "esker-python", "esker-cli"];

/// A package in a library.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Component {
    name: String,
    version: String,
    licence: String,
}

/// Writes the bills, for `dist sbom`.
pub fn dist(_: &[&str]) -> Outcome {
    let lock = shell::root().join("Cargo.lock");
    let lock = fs::read_to_string(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    let checksums = checksums(&lock);
    for library in LIBRARIES {
        let mut command = shell::cargo();
        command.args(["tree", "--locked", "--package", library, "--prefix", "none"]);
        command.args(["--edges", "normal", "--format", "{p}|{l}"]);
        let components = components(&shell::output(&mut command)?);
        let path =
            crate::dist_place::place().join(format!("{library}-{}.cdx.json", env!("CARGO_PKG_VERSION")));
        fs::write(&path, bill(library, &components, &checksums))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Returns the packages of `cargo tree`'s lines: `name vVERSION [(path)]|LICENCE [(*)]`.
fn components(tree: &str) -> Vec<Component> {
    let mut found: Vec<Component> = tree
        .lines()
        .filter_map(|line| {
            let (package, licence) = line.trim_end_matches(" (*)").split_once('|')?;
            let mut words = package.split(' ');
            Some(Component {
                name: words.next()?.to_owned(),
                version: words.next()?.strip_prefix('v')?.to_owned(),
                // A slash, Cargo's old form of OR, is not valid in SPDX.
                licence: licence.replace('/', " OR "),
            })
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the SHA-256 of each package of a registry, by `name version`.
fn checksums(lock: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            package
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
        };
        if let (Some(name), Some(version), Some(sum)) = (value("name"), value("version"), value("checksum")) {
            found.insert(format!("{name} {version}"), sum.to_owned());
        }
    }
    found
}

fn bill(library: &str, components: &[Component], checksums: &BTreeMap<String, String>) -> String {
    let whole = components.iter().find(|component| component.name == library);
    let parts: Vec<String> = components
        .iter()
        .filter(|component| component.name != library)
        .map(|component| entry(component, checksums))
        .collect();
    let whole = whole.map_or_else(String::new, |whole| {
        format!(
            "\n  \"metadata\": {{\n    \"component\": {}\n  }},",
            entry(whole, checksums).trim()
        )
    });
    format!(
        "{{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,{whole}\n  \"components\": [\n{}\n  ]\n}}\n",
        parts.join(",\n")
    )
}

fn entry(component: &Component, checksums: &BTreeMap<String, String>) -> String {
    let Component {
        name,
        version,
        licence,
    } = component;
    let hashes = checksums
        .get(&format!("{name} {version}"))
        .map_or_else(String::new, |sum| {
            format!(", \"hashes\": [{{\"alg\": \"SHA-256\", \"content\": \"{sum}\"}}]")
        });
    let licences = match licence.as_str() {
        "" => String::new(),
        licence => format!(", \"licenses\": [{{\"expression\": \"{licence}\"}}]"),
    };
    format!(
        "    {{\"type\": \"library\", \"bom-ref\": \"pkg:cargo/{name}@{version}\", \"name\": \"{name}\", \"version\": \"{version}\", \
         \"purl\": \"pkg:cargo/{name}@{version}\"{licences}{hashes}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_has_each_package_once() {
        let tree = "esker-capi v0.1.0 (/x/crates/capi)|Apache-2.0 OR MIT\n\
                    zstd v0.13.3|BSD-3-Clause\nlibc v0.2.1|MIT/Apache-2.0\nzstd v0.13.3|BSD-3-Clause (*)\n";
        let lock = "version = 4\n\n[[package]]\nname = \"zstd\"\nversion = \"0.13.3\"\nchecksum = \"abcd\"\n";
        let text = bill("esker-capi", &components(tree), &checksums(lock));
        assert_eq!(text.matches("\"name\": \"zstd\"").count(), 1, "{text}");
        assert!(
            text.contains("\"alg\": \"SHA-256\", \"content\": \"abcd\""),
            "{text}"
        );
        assert!(text.contains("\"expression\": \"MIT OR Apache-2.0\""), "{text}");
        assert!(text.contains("\"metadata\": {\n    \"component\": {\"type\": \"library\", \"bom-ref\": \"pkg:cargo/esker-capi@0.1.0\""), "{text}");
    }
}
