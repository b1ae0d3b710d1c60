//! The licences of the dependencies, compared with the list in `deny.toml`.

use crate::shell::{self, Outcome};

/// Fails if a dependency of any member has none of the allowed licences.
pub fn check() -> Outcome {
    let path = shell::root().join("deny.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let allowed = allowed(&text);
    let mut command = shell::cargo();
    command.args([
        "tree",
        "--workspace",
        "--all-features",
        "--prefix",
        "none",
        "--format",
        "{p}|{l}",
    ]);
    command.args(["--edges", "normal,build", "--target", "all", "--locked"]);
    let tree = shell::output(&mut command)?;
    let mut refused: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.trim_end_matches(" (*)").split_once('|'))
        .filter(|(_, licence)| !permits(licence.trim_end_matches(" (*)"), &allowed))
        .map(|(package, _)| package)
        .collect();
    refused.sort_unstable();
    refused.dedup();
    if refused.is_empty() {
        Ok(())
    } else {
        Err(format!("licences not in deny.toml: {}", refused.join(", ")))
    }
}

/// The strings of `allow = [ … ]`.
fn allowed(deny: &str) -> Vec<&str> {
    let list = deny
        .split("allow = [")
        .nth(1)
        .and_then(|rest| rest.split(']').next())
        .unwrap_or("");
    list.lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.split('"').next())
        .collect()
}

/// True if `expression` can be satisfied with `allowed`: all parts joined by AND, any part joined by OR or
/// `/`.
fn permits(expression: &str, allowed: &[&str]) -> bool {
    expression.split(" AND ").all(|part| {
        part.trim_matches(['(', ')'])
            .split(" OR ")
            .flat_map(|name| name.split('/'))
            .any(|name| allowed.contains(&name.trim_matches(['(', ')', ' '])))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met_or_not() {
        let allowed = allowed("[licenses]\nallow = [\n    \"MIT\",\n    # one crate\n    \"NCSA\",\n]\n");
        assert_eq!(allowed, ["MIT", "NCSA"]);
        for good in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND NCSA",
            "GPL-3.0 OR MIT",
        ] {
            assert!(permits(good, &allowed), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
        ] {
            assert!(!permits(bad, &allowed), "{bad}");
        }
    }
}
