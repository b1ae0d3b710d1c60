//! The endpoint that Prometheus scrapes.

use std::net::SocketAddr;

use base::Result;
use http::{Config, Request, Response, Server};

use crate::exporter::Exporter;

/// The media type of [`Exporter::encode`]'s text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A server that answers `GET /metrics`. It ends, and drops its handles of databases, when it is dropped.
#[derive(Debug)]
pub struct Endpoint {
    server: Server,
}

impl Endpoint {
    /// Answers scrapes of `exporter` at the address of `config`.
    ///
    /// # Errors `InvalidArgument` for an address that is not loopback without a token or
    /// [`http::Access::Anyone`], I/O errors if it cannot be bound.
    pub fn start(exporter: Exporter, config: Config) -> Result<Endpoint> {
        let server = Server::start(config, move |request| answer(&exporter, request))?;
        Ok(Endpoint { server })
    }

    /// The address at which the server listens, with its port.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

fn answer(exporter: &Exporter, request: &Request) -> Response {
    match request.path.as_str() {
        "/metrics" => match exporter.encode() {
            Ok(text) => Response::new(CONTENT_TYPE, text),
            Err(error) => Response::error(500, &error.to_string()),
        },
        "/" => Response::new("text/plain; charset=utf-8", "The metrics are at /metrics.\n"),
        _ => Response::error(404, "there is only /metrics"),
    }
}
