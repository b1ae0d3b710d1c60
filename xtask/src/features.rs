//! `features`: the builds with a part of the features; `cross`: the type-check for other machines.

use std::process::Command;

use crate::shell::{self, Outcome};

/// The codecs, which are features of `esker-codec` and of `esker`.
const CODECS: &[&str] = &["snappy", "lz4", "zstd", "zlib", "bzip2"];

/// A target, its C compiler, and the features that are built for it.
struct Target {
    name: &'static str,
    compiler: Option<&'static str>,
    features: &'static str,
}

const TARGETS: &[Target] = &[
    Target {
        name: "aarch64-unknown-linux-gnu",
        compiler: Some("aarch64-linux-gnu-gcc"),
        features: "default",
    },
    // The codecs that compile C are left out, because Debian has no C compiler for macOS.
    Target {
        name: "aarch64-apple-darwin",
        compiler: None,
        features: "snappy,zlib,bzip2",
    },
    Target {
        name: "x86_64-apple-darwin",
        compiler: None,
        features: "snappy,zlib,bzip2",
    },
];

/// Tests the codecs with each feature alone and with none, and the engine without features and with serde.
pub fn run() -> Outcome {
    for feature in CODECS.iter().chain(&[""]) {
        let mut command = test("esker-codec");
        shell::run(command.args(["--no-default-features", "--features", feature]))?;
    }
    for package in ["esker-wal", "esker-vfs"] {
        shell::run(
            check(package)
                .arg("--no-default-features")
                .env("RUSTFLAGS", "-D warnings"),
        )?;
    }
    shell::run(
        check("esker")
            .args(["--no-default-features", "--features", "snappy,zlib,bzip2"])
            .env("RUSTFLAGS", "-D warnings"),
    )?;
    shell::run(test("esker").args(["--no-default-features", "--features", "serde", "serialized"]))?;
    let mut databases = shell::cargo();
    databases.args(["test", "--quiet", "--package", "esker", "--test", "it"]);
    shell::run(databases.args(["--no-default-features", "--features", "snappy", "codecs::"]))
}

fn test(package: &str) -> Command {
    let mut command = shell::cargo();
    command.args(["test", "--quiet", "--lib", "--package", package]);
    command
}

fn check(package: &str) -> Command {
    let mut command = shell::cargo();
    command.args(["check", "--package", package]);
    command
}

/// Type-checks the engine for each target that is installed, and names the targets that are not.
pub fn cross() -> Outcome {
    for target in TARGETS {
        match missing(target) {
            Some(missing) => eprintln!("skipped: {}: no {missing} on this machine", target.name),
            None => shell::run(&mut checked(target))?,
        }
    }
    Ok(())
}

/// Returns the part that a check of the target lacks.
fn missing(target: &Target) -> Option<String> {
    if !shell::has_target(target.name) {
        return Some(format!("standard library (rustup target add {})", target.name));
    }
    let compiler = target.compiler?;
    shell::which(compiler)
        .is_none()
        .then(|| format!("{compiler} (apt-get install gcc-aarch64-linux-gnu)"))
}

fn checked(target: &Target) -> Command {
    let mut command = check("esker");
    command.args([
        "--target",
        target.name,
        "--no-default-features",
        "--features",
        target.features,
    ]);
    if let Some(compiler) = target.compiler {
        let underscored = target.name.replace('-', "_");
        command.env(format!("CC_{underscored}"), compiler);
        command.env(
            format!("CARGO_TARGET_{}_LINKER", underscored.to_uppercase()),
            compiler,
        );
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_not_installed_is_named() {
        let target = Target {
            name: "no-such-target",
            compiler: None,
            features: "",
        };
        assert!(missing(&target).unwrap().contains("no-such-target"));
    }

    #[test]
    fn a_target_has_its_compiler() {
        let command = checked(&TARGETS[0]);
        let has = |name: &str| command.get_envs().any(|(key, _)| key == name);
        assert!(has("CC_aarch64_unknown_linux_gnu"));
        assert!(has("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER"));
    }
}
