//! The results of a judge, or the reason for their absence.

/// The directory of unpacked packages and built programs, from the root.
pub const SCRATCH: &str = "target/judge";

/// The results of a judge's tests.
#[derive(Default)]
pub struct Count {
    /// The number of tests that passed.
    pub passed: usize,
    /// The names of the tests that failed.
    pub failed: Vec<String>,
    /// The number of tests that the judge itself ignores.
    pub ignored: usize,
    /// The number of tests that were not built or not reached.
    pub not_built: usize,
}

/// The reason that there is no count.
pub enum Fault {
    /// The judge cannot run: a registry cannot be reached, or the machine lacks a tool.
    Unreachable(String),
    /// The test failed for any other reason.
    Broken(String),
}

impl Fault {
    /// Returns the fault for any other reason.
    pub fn broken(what: impl Into<String>) -> Fault {
        Fault::Broken(what.into())
    }

    /// Returns the fault of a program that uses a registry: `Unreachable` if its output says so.
    pub fn of_registry(said: String) -> Fault {
        const OUT_OF_REACH: &[&str] = &[
            "resolve host",
            "name resolution",
            "no such host",
            "Unknown host",
            "UnknownHostException",
            "Could not connect",
            "Couldn't connect",
            "Connection refused",
            "Network is unreachable",
            "network is unreachable",
            "timed out",
            "i/o timeout",
            "Temporary failure",
            "offline",
        ];
        match OUT_OF_REACH.iter().any(|words| said.contains(words)) {
            true => Fault::Unreachable(said),
            false => Fault::Broken(said),
        }
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> String {
        match fault {
            Fault::Unreachable(message) | Fault::Broken(message) => message,
        }
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Fault {
        Fault::Broken(message)
    }
}

/// Returns the fault for arguments that a judge does not accept.
pub fn not_understood(words: &[&str]) -> Fault {
    Fault::broken(format!("not understood: {}", words.join(" ")))
}

/// Returns an error if there are arguments, for judges that take none.
pub fn no_words(words: &[&str]) -> Result<(), Fault> {
    match words {
        [] => Ok(()),
        _ => Err(not_understood(words)),
    }
}
