//! The thread that accepts connections.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::sync::{Mutex, thread};
use base::{Error, ErrorKind, Result};

use crate::config::Config;
use crate::connection;
use crate::request::Request;
use crate::response::Response;

/// A running server. Dropping it closes its connections and waits for the threads that answer them.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<thread::JoinHandle<()>>,
}

type Handler = Box<dyn Fn(&Request) -> Response + Send + Sync>;

struct Shared {
    config: Config,
    handler: Handler,
    stopped: AtomicBool,
    open: Mutex<Open>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The open connections.
#[derive(Default)]
struct Open {
    next: u64,
    /// The streams by the numbers of their connections.
    streams: HashMap<u64, TcpStream>,
    /// The threads of open connections, and of some that have ended.
    threads: Vec<thread::JoinHandle<()>>,
}

impl Server {
    /// Listens at the address of `config`, and answers each request with the result of `handler`. A handler
    /// that panics ends its own request with status 500.
    ///
    /// # Errors `InvalidArgument` if the address is not loopback and no token is set, I/O errors if it cannot
    /// be bound.
    pub fn start(
        config: Config,
        handler: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Result<Server> {
        config.check()?;
        let failed = |what: &str, error: io::Error| {
            Error::new(ErrorKind::Io, format!("While {what} {}: {error}", config.address))
        };
        let listener = TcpListener::bind(config.address).map_err(|error| failed("binding", error))?;
        let address = listener.local_addr().map_err(|error| failed("binding", error))?;
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            stopped: AtomicBool::new(false),
            open: Mutex::default(),
            config: config.clone(),
        });
        let accepting = {
            let shared = shared.clone();
            let builder = thread::Builder::new().name("esker-http".to_owned());
            builder.spawn(move || accept(&listener, &shared))
        };
        Ok(Server {
            address,
            shared,
            accepting: Some(accepting.map_err(|error| failed("starting a thread for", error))?),
        })
    }

    /// The address at which the server listens, with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        // A connection wakes the accepting thread.
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let woken = TcpStream::connect((ip, self.address.port()));
        // The connection only wakes the accepting thread. If it cannot be made, the thread ends at the next
        // connection that it accepts.
        if let (Ok(_), Some(accepting)) = (woken, self.accepting.take()) {
            // The result is ignored: a panic of the accepting thread was reported when it happened.
            let _ = accepting.join();
        }
        let threads = {
            let mut open = self.shared.open.lock();
            for stream in open.streams.values() {
                // A connection that is closed already has ended.
                let _ = stream.shutdown(Shutdown::Both);
            }
            std::mem::take(&mut open.threads)
        };
        for thread in threads {
            // The result is ignored: a handler's panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopped.load(Ordering::Acquire) {
            return;
        }
        // An error of an accept concerns one connection, or is a lack of file descriptors, which lasts until
        // another connection ends.
        let Ok(stream) = stream else {
            thread::yield_now();
            continue;
        };
        let Some(connection) = Connection::register(shared, &stream) else {
            continue;
        };
        // The deadline of the request counts from here, however late the connection's thread starts.
        let accepted = shared.config.clock.now();
        let builder = thread::Builder::new().name("esker-http".to_owned());
        let thread = builder.spawn(move || {
            let shared = &connection.shared;
            connection::serve(stream, &shared.config, &*shared.handler, accepted);
        });
        let mut open = shared.open.lock();
        open.threads.retain(|thread| !thread.is_finished());
        // If the thread cannot be started, the connection is dropped, which closes it.
        open.threads.extend(thread);
    }
}

/// A registered connection, which is removed when it is dropped.
struct Connection {
    shared: Arc<Shared>,
    number: u64,
}

impl Connection {
    /// Registers a connection. `None` if there are too many.
    fn register(shared: &Arc<Shared>, stream: &TcpStream) -> Option<Connection> {
        let mut open = shared.open.lock();
        if open.streams.len() >= shared.config.max_connections {
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.streams.insert(number, stream.try_clone().ok()?);
        Some(Connection {
            shared: shared.clone(),
            number,
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.open.lock().streams.remove(&self.number);
    }
}
