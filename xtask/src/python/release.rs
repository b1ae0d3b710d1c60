//! The published wheel: linked against an old C library, and checked by auditwheel and abi3audit.

use super::environment::Environment;
use crate::shell::{self, Outcome};

/// The oldest C library that the wheel supports: glibc 2.17.
const PLATFORM: &str = "manylinux_2_17";

/// The first command of a new user.
const FIRST_USE: &str = "\
import sys, esker
with esker.open(sys.argv[1]) as db:
    db[b'key'] = b'value'
    db.flush()
    assert list(db.items(prefix=b'k')) == [(b'key', b'value')]
print('used', esker.__file__)
";

/// Copies the published wheel to the results of `dist`. The wheel is built without optimization if `args` are
/// empty.
pub fn dist(environment: &Environment, args: &[&str]) -> Outcome {
    environment.install(&["ziglang"])?;
    let mut words = if args.is_empty() {
        vec!["--profile", "dev"]
    } else {
        args.to_vec()
    };
    words.extend(["--zig", "--compatibility", PLATFORM]);
    let wheel = environment.build_wheel(&words)?;
    let name = wheel.file_name().ok_or("the wheel has no name")?;
    std::fs::copy(&wheel, crate::dist_place::place().join(name))
        .map(|_| ())
        .map_err(|error| format!("{}: {error}", wheel.display()))
}

/// Builds the wheel with Zig's linker, checks it with auditwheel and abi3audit, and installs it into an empty
/// environment.
pub fn wheel(environment: &Environment) -> Outcome {
    environment.install(&["ziglang", "auditwheel", "abi3audit"])?;
    let wheel = environment.build_wheel(&["--release", "--zig", "--compatibility", PLATFORM])?;
    let tool = |words: &[&str]| {
        let mut command = environment.python();
        command.args(words).arg(&wheel);
        shell::run(&mut command)
    };
    tool(&["-m", "auditwheel", "show"])?;
    tool(&["-m", "abi3audit", "--strict", "--summary"])?;

    let place = shell::root().join(super::environment::PLACE).join("fresh");
    // An earlier run may have left an environment in this directory.
    let _ = std::fs::remove_dir_all(&place);
    shell::run(shell::command("python3").args(["-m", "venv"]).arg(&place))?;
    let python = place.join("bin/python");
    let pip = ["-m", "pip", "install", "--quiet", "--no-index"];
    shell::run(shell::command(&python).args(pip).arg(&wheel))?;
    shell::run(
        shell::command(&python)
            .args(["-c", FIRST_USE])
            .arg(place.join("db")),
    )?;
    println!("{}", wheel.display());
    Ok(())
}
