//! Packages of Debian-like systems.

use crate::shell::{self, Outcome};

/// Installs `packages`, if this machine allows it.
///
/// # Errors
/// The command that a user should run, or the output of `apt-get`.
pub fn install(packages: &[&str]) -> Outcome {
    let names = packages.join(" ");
    if shell::which("apt-get").is_none() {
        return Err(format!("not a Debian-like system; install {names} by hand"));
    }
    let is_root = shell::output(shell::command("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !is_root {
        return Err(format!("needs root: sudo apt-get install {names}"));
    }
    let apt = |args: &[&str]| {
        let mut command = shell::command("apt-get");
        shell::output(command.args(args).env("DEBIAN_FRONTEND", "noninteractive")).map(drop)
    };
    let install: Vec<&str> = ["install", "-y", "--no-install-recommends"]
        .iter()
        .chain(packages)
        .copied()
        .collect();
    eprintln!("+ apt-get {}", install.join(" "));
    // The lists may be missing or old: they are fetched only when the first attempt fails.
    apt(&install).or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
}
