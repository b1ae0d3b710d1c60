//! The settings of a server.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base::env::{Clock, SystemClock};
use base::{Error, ErrorKind, Result};

/// The clients that a server answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Clients of this machine, without a token. The address must be loopback.
    #[default]
    Loopback,
    /// Clients that send this token, as `Authorization: Bearer TOKEN`. The address may be any.
    Token(String),
    /// All clients are admitted, from any address and without a token.
    Anyone,
}

/// The settings of a [`Server`](crate::Server).
#[derive(Clone, Debug)]
pub struct Config {
    /// The address and port to listen at; port 0 is a free one. Default: 127.0.0.1:0.
    pub address: SocketAddr,
    /// The clients that are answered. Default: [`Access::Loopback`].
    pub access: Access,
    /// Names that are accepted in the header `Host`, besides `localhost` and addresses. Default: none.
    pub hosts: Vec<String>,
    /// Paths that are answered without a token, because they contain no data. Default: none.
    pub open_paths: Vec<String>,
    /// The time in which a request must have arrived, and in which a client must have read its response.
    /// Default: 10 s.
    pub deadline: Duration,
    /// The maximum number of connections; more are closed at once. Default: 32.
    pub max_connections: usize,
    /// The source of time of deadlines. Default: the clock of the machine.
    pub clock: Arc<dyn Clock>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            access: Access::default(),
            hosts: Vec::new(),
            open_paths: Vec::new(),
            deadline: Duration::from_secs(10),
            max_connections: 32,
            clock: Arc::new(SystemClock::new()),
        }
    }
}

/// The minimum length of a token in bytes.
const MIN_TOKEN: usize = 16;

impl Config {
    /// `InvalidArgument` if the access does not permit the address, or a token is too short or has other
    /// characters than visible ASCII.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.access {
            Access::Loopback if !self.address.ip().is_loopback() => Err(Error::invalid_argument(format!(
                "{} is not a loopback address: it needs a token",
                self.address.ip()
            ))),
            Access::Token(token) if token.len() < MIN_TOKEN => Err(Error::invalid_argument(format!(
                "a token must have at least {MIN_TOKEN} characters"
            ))),
            Access::Token(token) if !token.bytes().all(|byte| byte.is_ascii_graphic()) => Err(
                Error::invalid_argument("a token must consist of visible ASCII characters"),
            ),
            _ => Ok(()),
        }
    }

    /// True if `host`, the value of a `Host` header, names this server: an address, `localhost`, or a name of
    /// [`hosts`](Self::hosts). An attacker's domain that resolves to this machine is not accepted.
    pub(crate) fn is_own_host(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            // The colons of an IPv6 address without a port are inside of brackets.
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let address = address.unwrap_or(name).parse::<std::net::IpAddr>();
        match address {
            Ok(address) => !self.address.ip().is_loopback() || address.is_loopback(),
            Err(_) => {
                name.eq_ignore_ascii_case("localhost")
                    || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
            }
        }
    }

    /// True if a request for `path` with this `Authorization` may be answered.
    pub(crate) fn admits(&self, path: &str, authorization: Option<&str>) -> bool {
        let Access::Token(token) = &self.access else {
            return true;
        };
        if self.open_paths.iter().any(|open| open == path) {
            return true;
        }
        let sent = authorization.and_then(|value| value.strip_prefix("Bearer "));
        sent.is_some_and(|sent| equal(sent.as_bytes(), token.as_bytes()))
    }
}

/// Compares in a time that depends only on the lengths.
fn equal(a: &[u8], b: &[u8]) -> bool {
    let different = a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b));
    a.len() == b.len() && std::hint::black_box(different) == 0
}

/// Returns a new token of 128 random bits, in hexadecimal.
///
/// # Errors
/// An error of the system's source of randomness.
pub fn new_token() -> Result<String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("the system has no random bytes for a token: {error}"),
        )
    })?;
    Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_address_needs_a_token_or_an_explicit_word() {
        let config = |address: &str, access| Config {
            address: address.parse().unwrap(),
            access,
            ..Config::default()
        };
        let token = || Access::Token("0123456789abcdef".to_owned());
        assert!(config("127.0.0.1:0", Access::Loopback).check().is_ok());
        assert!(config("[::1]:0", Access::Loopback).check().is_ok());
        let refused = config("0.0.0.0:0", Access::Loopback).check().unwrap_err();
        assert!(refused.to_string().contains("it needs a token"), "{refused}");
        assert!(config("0.0.0.0:0", token()).check().is_ok());
        assert!(config("0.0.0.0:0", Access::Anyone).check().is_ok());
        assert!(
            config("127.0.0.1:0", Access::Token("short".to_owned()))
                .check()
                .is_err()
        );
        let spaced = Access::Token("0123456789 abcdef".to_owned());
        assert!(config("127.0.0.1:0", spaced).check().is_err());
    }

    #[test]
    fn hosts_are_addresses_localhost_and_named_ones() {
        let mut config = Config::default();
        for own in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:1234",
            "127.0.0.1",
            "[::1]:8",
            "[::1]",
        ] {
            assert!(config.is_own_host(own), "{own}");
        }
        for foreign in [
            "",
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "10.0.0.1",
            "127.0.0.1.evil.example",
            "localhost:80:evil",
        ] {
            assert!(!config.is_own_host(foreign), "{foreign}");
        }
        config.hosts.push("db.example".to_owned());
        config.address = "0.0.0.0:0".parse().unwrap();
        assert!(config.is_own_host("db.example:80") && config.is_own_host("10.0.0.1"));
        assert!(!config.is_own_host("evil.example"));
    }

    #[test]
    fn tokens_are_compared_whole() {
        let config = Config {
            access: Access::Token("0123456789abcdef".to_owned()),
            open_paths: vec!["/".to_owned()],
            ..Config::default()
        };
        assert!(config.admits("/", None));
        assert!(config.admits("/x", Some("Bearer 0123456789abcdef")));
        for wrong in [
            None,
            Some("0123456789abcdef"),
            Some("Bearer "),
            Some("Bearer 0123456789abcde"),
            Some("Bearer 0123456789abcdeg"),
            Some("Bearer 0123456789abcdef0"),
        ] {
            assert!(!config.admits("/x", wrong), "{wrong:?}");
        }
        let (first, second) = (new_token().unwrap(), new_token().unwrap());
        assert_eq!(first.len(), 32);
        assert_ne!(first, second);
    }
}
