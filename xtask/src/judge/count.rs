//! The results of a judge, or why there are none.

/// Where packages are unpacked and programs built, from the root.
pub const SCRATCH: &str = "target/judge";

/// The results of a judge's tests.
#[derive(Default)]
pub struct Count {
    /// Tests that passed.
    pub passed: usize,
    /// The names of those that failed.
    pub failed: Vec<String>,
    /// Tests that the judge itself leaves out.
    pub ignored: usize,
    /// Tests that were not built, or not reached.
    pub not_built: usize,
}

/// The reason that there is no count.
pub enum Fault {
    /// A registry, or a tool, that this machine does not have.
    Unreachable(String),
    /// Anything else.
    Broken(String),
}

impl Fault {
    /// Anything that is not a registry out of reach.
    pub fn broken(what: impl Into<String>) -> Fault {
        Fault::Broken(what.into())
    }

    /// The output of a program that asked a registry: out of reach if it says so.
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

/// The answer to arguments that a judge does not take.
pub fn not_understood(words: &[&str]) -> Fault {
    Fault::broken(format!("not understood: {}", words.join(" ")))
}

/// An error if there are arguments, for judges that take none.
pub fn no_words(words: &[&str]) -> Result<(), Fault> {
    match words {
        [] => Ok(()),
        _ => Err(not_understood(words)),
    }
}
