//! Responses, and the headers that all of them have.

use std::fmt::Write;

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The media type of the body.
    pub content_type: String,
    /// Further headers: names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The headers of every response: caches do not store it, other sites neither frame nor read it, and browsers
/// trust its type. A page may contain its style and script, and may send requests to this server; it loads
/// nothing from other servers.
const ALWAYS: &str = "Connection: close\r\n\
    Cache-Control: no-store\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n";

impl Response {
    /// A successful response.
    pub fn new(content_type: &str, body: impl Into<Vec<u8>>) -> Response {
        Response {
            status: 200,
            content_type: content_type.to_owned(),
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// Returns an error response with a text that describes the error.
    pub fn error(status: u16, message: &str) -> Response {
        Response {
            status,
            ..Response::new("text/plain; charset=utf-8", format!("{message}\n"))
        }
    }

    /// Returns the response with a further header. A value that would end the header is omitted.
    pub fn with_header(mut self, name: &str, value: &str) -> Response {
        if !value.contains(['\r', '\n']) {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub(crate) fn too_large() -> Response {
        Response::error(431, "the head of the request is too large")
    }

    pub(crate) fn head(&self) -> String {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            413 => "Content Too Large",
            431 => "Request Header Fields Too Large",
            500 => "Internal Server Error",
            503 => "Service Unavailable",
            _ => "",
        };
        let mut head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{ALWAYS}",
            self.status,
            self.content_type,
            self.body.len()
        );
        for (name, value) in &self.headers {
            // Writing to a string cannot fail.
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        head
    }
}
