//! Metrics and the page, tested with the programs of their users: Prometheus and a browser.

use crate::apt;
use crate::python::Environment;
use crate::shell::{self, Outcome};

/// The packages, each with one of its programs.
const PACKAGES: &[(&str, &str)] = &[
    ("prometheus", "promtool"),
    ("chromium", "chromium"),
    ("chromium-driver", "chromedriver"),
];

/// Installs missing programs if the machine allows it, and runs the tests of metrics and the page, including
/// those that need Prometheus or a browser. A test whose program is missing reports a skip.
pub fn nightly() -> Outcome {
    for (package, program) in PACKAGES {
        if shell::which(program).is_none()
            && let Err(reason) = apt::install(&[package])
        {
            eprintln!("skipped: what needs {program}: {reason}");
        }
    }
    let packages = ["-p", "esker-http", "-p", "esker-metrics", "-p", "esker-serve"];
    let mut command = shell::cargo();
    command.arg("test").args(packages);
    shell::run(command.args(["--features", "esker-metrics/tracing", "--", "--include-ignored"]))?;
    dashboard()
}

/// Checks that Grafana's foundation SDK reads the dashboard and knows every part of it.
fn dashboard() -> Outcome {
    let environment = Environment::set_up()?.ok_or("no Python 3.11 with venv")?;
    if let Err(reason) = environment.install(&["grafana-foundation-sdk"]) {
        eprintln!("skipped: Grafana's foundation SDK: {reason}");
        return Ok(());
    }
    let root = shell::root();
    let script = root.join("xtask/src/seen/dashboard.py");
    shell::run(
        environment
            .python()
            .arg(script)
            .arg(root.join("crates/metrics/grafana/esker.json")),
    )
}
