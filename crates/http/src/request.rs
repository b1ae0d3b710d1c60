//! The head of a request.

use crate::config::Config;
use crate::response::Response;

/// A request that the server has accepted: a `GET`, or a `HEAD` that is handled like a `GET`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The path as it was sent, without the query; it begins with a slash.
    pub path: String,
    /// Names and values of the query, decoded, in the order they were sent.
    pub query: Vec<(String, String)>,
}

impl Request {
    /// Returns the first value of `name` in the query.
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut values = self.query.iter().filter(|(known, _)| known == name);
        values.next().map(|(_, value)| value.as_str())
    }
}

/// The maximum number of headers.
const MAX_HEADERS: usize = 64;

/// A parsed head.
pub(crate) enum Head {
    /// More bytes are needed.
    Partial,
    /// The request is refused, with this response.
    Refused(Response),
    /// A parsed request, and true if the client wants only the head of the response.
    Whole(Request, bool),
}

/// Parses the bytes received so far.
pub(crate) fn parse(bytes: &[u8], config: &Config) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    match head.parse(bytes) {
        Ok(httparse::Status::Partial) => return Head::Partial,
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Head::Refused(Response::too_large()),
        Err(_) => return Head::Refused(Response::error(400, "this is no request of HTTP/1.1")),
    }
    match accepted(&head, config) {
        Ok((request, head_only)) => Head::Whole(request, head_only),
        Err(refusal) => Head::Refused(refusal),
    }
}

fn accepted(head: &httparse::Request<'_, '_>, config: &Config) -> Result<(Request, bool), Response> {
    let method = head.method.unwrap_or_default();
    if !matches!(method, "GET" | "HEAD") {
        return Err(Response::error(405, "only GET and HEAD are answered").with_header("Allow", "GET, HEAD"));
    }
    let values = |name: &'static str| {
        let of_name = move |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case(name);
        head.headers.iter().filter(of_name)
    };
    let length = values("Content-Length").any(|header| header.value != b"0");
    if length || values("Transfer-Encoding").next().is_some() {
        return Err(Response::error(413, "a request must have no body"));
    }
    let mut hosts = values("Host");
    let host = hosts
        .next()
        .and_then(|header| std::str::from_utf8(header.value).ok());
    match (host, hosts.next()) {
        (Some(host), None) if config.is_own_host(host.trim()) => {}
        (Some(_), None) => return Err(Response::error(403, "the header Host does not name this server")),
        _ => return Err(Response::error(400, "a request must have one header Host")),
    }
    let target = head.path.unwrap_or_default();
    if !target.starts_with('/') {
        return Err(Response::error(
            400,
            "the target of a request must begin with a slash",
        ));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let authorization = values("Authorization").next();
    let authorization = authorization.and_then(|header| std::str::from_utf8(header.value).ok());
    if !config.admits(path, authorization) {
        let refusal = Response::error(401, "the token is missing or wrong");
        return Err(refusal.with_header("WWW-Authenticate", "Bearer"));
    }
    let query = pairs(query).ok_or_else(|| Response::error(400, "the query is not encoded correctly"))?;
    let request = Request {
        path: path.to_owned(),
        query,
    };
    Ok((request, method == "HEAD"))
}

/// Returns the pairs of a query; `None` if an escape is malformed or the decoded bytes are not UTF-8.
fn pairs(query: &str) -> Option<Vec<(String, String)>> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(value)?))
        })
        .collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded_or_refused() {
        let query = pairs("a=1&b=x%20y+z&&c&d=%C3%BC").unwrap();
        let expected = [("a", "1"), ("b", "x y z"), ("c", ""), ("d", "ü")];
        assert_eq!(
            query,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        for bad in ["a=%", "a=%2", "a=%zz", "a=%ff", "%=1"] {
            assert_eq!(pairs(bad), None, "{bad}");
        }
    }

    #[test]
    fn no_bytes_panic() {
        let mut rng = testkit::rng();
        let config = Config::default();
        let whole = b"GET /a?b=%20c HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n";
        assert!(matches!(parse(whole, &config), Head::Whole(_, false)));
        for len in 0..whole.len() {
            assert!(matches!(parse(&whole[..len], &config), Head::Partial), "{len}");
        }
        for _ in 0..20_000 {
            let mut bytes = whole.to_vec();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..bytes.len());
                bytes[at] = rng.u8(..);
            }
            parse(&bytes, &config);
        }
    }
}
