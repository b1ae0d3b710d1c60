//! The page, its routes and its server.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use base::{Error, ErrorKind, Result};
use esker::Db;
use http::{Access, Config, Request, Response, Server};
use serde_json::Value;
use vfs::PosixFs;

use crate::source::{Directory, Source};

/// The page: HTML with its style and script.
const PAGE: &str = include_str!("page.html");

/// The maximum number of edits in a response.
const MAX_EDITS: u64 = 500;

/// The default and the maximum number of keys of a table in a response.
const KEYS: (u64, u64) = (20, 200);

/// A running server of the page. It ends when it is dropped.
#[derive(Debug)]
pub struct Page {
    server: Server,
    token: Option<String>,
}

impl Page {
    /// The page of the database in a directory, which another process may have open.
    ///
    /// # Errors `InvalidArgument` if CURRENT is missing there, or for an address that is not loopback without
    /// a token; I/O errors if the address cannot be bound.
    pub fn of_directory(directory: &Directory, config: Config) -> Result<Page> {
        check_is_database(&directory.dir)?;
        Page::start(Source::of_directory(directory, Arc::new(PosixFs::new())), config)
    }

    /// The page of an open database. The page keeps it open until it is dropped.
    ///
    /// # Errors `InvalidArgument` for an address that is not loopback without a token; I/O errors if the
    /// address cannot be bound.
    pub fn of_database(db: &Db, config: Config) -> Result<Page> {
        Page::start(Source::of_database(db), config)
    }

    fn start(source: Source, mut config: Config) -> Result<Page> {
        let token = match &config.access {
            Access::Loopback => None,
            Access::Token(token) => Some(token.clone()),
            Access::Anyone => {
                return Err(Error::invalid_argument(
                    "the page shows keys and values: it needs a token, or a loopback address",
                ));
            }
        };
        // The page contains no data. It takes the token from the fragment of its address, which browsers do
        // not send.
        config.open_paths = vec!["/".to_owned()];
        let server = Server::start(config, move |request| answer(&source, request))?;
        Ok(Page { server, token })
    }

    /// The address at which the server listens, with its port.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The address of the page for a browser of this machine, with the token.
    pub fn url(&self) -> String {
        let mut address = self.server.address();
        if address.ip().is_unspecified() {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        match &self.token {
            None => format!("http://{address}/"),
            Some(token) => format!("http://{address}/#token={token}"),
        }
    }
}

fn check_is_database(dir: &Path) -> Result<()> {
    let current = base::filename::current(dir);
    match vfs::FileSystem::size(&PosixFs::new(), &current) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Error::invalid_argument("not a database: CURRENT is missing").in_file(dir))
        }
        result => result.map(drop),
    }
}

fn answer(source: &Source, request: &Request) -> Response {
    let found = match request.path.as_str() {
        "/" => return Response::new("text/html; charset=utf-8", PAGE),
        "/api/state" => source.state(),
        "/api/levels" => number(request, "edit").and_then(|edit| source.levels(edit)),
        "/api/edits" => edits(source, request),
        "/api/file" => file(source, request),
        "/api/options" => source.options(),
        _ => return Response::error(404, "there is no such page"),
    };
    match found {
        Ok(value) => Response::new("application/json", value.to_string()),
        Err(error) => {
            let status = match error.kind() {
                ErrorKind::InvalidArgument => 400,
                ErrorKind::NotFound | ErrorKind::NoDatabase => 404,
                _ => 500,
            };
            Response::error(status, &error.to_string())
        }
    }
}

/// Returns a number of the query, if the query has it.
fn number(request: &Request, name: &str) -> Result<Option<u64>> {
    let parse = |text: &str| {
        let parsed = text.parse();
        parsed.map_err(|_| Error::invalid_argument(format!("{name} must be a number")))
    };
    request.value(name).map(parse).transpose()
}

fn edits(source: &Source, request: &Request) -> Result<Value> {
    let from = number(request, "from")?.unwrap_or(1);
    let limit = number(request, "limit")?.unwrap_or(MAX_EDITS);
    source.edits(from, limit.min(MAX_EDITS))
}

/// The request names a table by its number, so that no path comes from a request.
fn file(source: &Source, request: &Request) -> Result<Value> {
    let table = number(request, "number")?;
    let table = table.ok_or_else(|| Error::invalid_argument("the query must have the number of a table"))?;
    let keys = number(request, "keys")?.unwrap_or(KEYS.0).min(KEYS.1);
    source.file(table, keys)
}
