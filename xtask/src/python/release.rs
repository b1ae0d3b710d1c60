//! The published wheels: linked against an old C library, and checked by auditwheel and abi3audit.

use std::path::{Path, PathBuf};

use super::environment::Environment;
use crate::shell::{self, Outcome};

/// The oldest C library that the wheels support: glibc 2.17.
const PLATFORM: &str = "manylinux_2_17";

/// The machines that have a wheel. Zig links for each of them; Rust's standard library for it must be
/// installed.
const TARGETS: &[&str] = &["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// The first command of a new user.
const FIRST_USE: &str = "\
import sys, esker
with esker.open(sys.argv[1]) as db:
    db[b'key'] = b'value'
    db.flush()
    assert list(db.items(prefix=b'k')) == [(b'key', b'value')]
print('used', esker.__file__)
";

/// Copies the published wheels to the results of `dist`. They are built without optimization if `args` are
/// empty.
pub fn dist(environment: &Environment, args: &[&str]) -> Outcome {
    let profile = if args.is_empty() {
        &["--profile", "dev"]
    } else {
        args
    };
    for wheel in build(environment, profile)? {
        let name = wheel.file_name().ok_or("the wheel has no name")?;
        std::fs::copy(&wheel, crate::dist_place::place().join(name))
            .map_err(|error| format!("{}: {error}", wheel.display()))?;
    }
    Ok(())
}

/// Builds the wheels with Zig's linker, checks them with auditwheel and abi3audit, and installs the one of
/// this machine into an empty environment.
pub fn wheel(environment: &Environment) -> Outcome {
    environment.install(&["auditwheel", "abi3audit"])?;
    for wheel in build(environment, &["--release"])? {
        let tool = |words: &[&str]| {
            let mut command = environment.python();
            command.args(words).arg(&wheel);
            shell::run(&mut command)
        };
        tool(&["-m", "auditwheel", "show"])?;
        tool(&["-m", "abi3audit", "--strict", "--summary"])?;
        if wheel.to_string_lossy().contains(std::env::consts::ARCH) {
            use_first(&wheel)?;
        }
        println!("{}", wheel.display());
    }
    Ok(())
}

/// Returns the wheels of all targets whose standard library is installed, and names the others.
fn build(environment: &Environment, profile: &[&str]) -> Result<Vec<PathBuf>, String> {
    environment.install(&["ziglang"])?;
    let (installed, missing): (Vec<&str>, Vec<&str>) =
        TARGETS.iter().partition(|target| shell::has_target(target));
    for target in missing {
        eprintln!("skipped: the wheel for {target} (rustup target add {target})");
    }
    let mut words = vec!["--zig", "--compatibility", PLATFORM];
    words.extend(profile);
    environment.build_wheels(&installed, &words)
}

/// Installs a wheel into an empty environment, and uses it as a new user does.
fn use_first(wheel: &Path) -> Outcome {
    let place = shell::root().join(super::environment::PLACE).join("fresh");
    // An earlier run may have left an environment in this directory.
    let _ = std::fs::remove_dir_all(&place);
    shell::run(shell::command("python3").args(["-m", "venv"]).arg(&place))?;
    let python = place.join("bin/python");
    let pip = ["-m", "pip", "install", "--quiet", "--no-index"];
    shell::run(shell::command(&python).args(pip).arg(wheel))?;
    shell::run(
        shell::command(&python)
            .args(["-c", FIRST_USE])
            .arg(place.join("db")),
    )
}
