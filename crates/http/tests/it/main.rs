//! A server and its clients over real sockets: valid requests, invalid ones, and the end of a server.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use base::env::ManualClock;
use esker_http::{Access, Config, Response, Server};

fn echo(config: Config) -> Server {
    Server::start(config, |request| match request.path.as_str() {
        "/panic" => panic!("a handler that panics"),
        "/large" => Response::new("text/plain", vec![b'x'; 8 << 20]),
        "/" => Response::new("text/plain", format!("{:?}", request.query)),
        path => Response::error(404, path),
    })
    .unwrap()
}

/// Sends `bytes` and reads up to the end of the connection.
fn ask(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    // The server may refuse the request before all of it is sent.
    let _ = stream.write_all(bytes);
    answer(stream)
}

fn answer(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A refused client may find its connection reset after the response.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

fn status(answer: &str) -> &str {
    answer
        .strip_prefix("HTTP/1.1 ")
        .unwrap_or(answer)
        .split(' ')
        .next()
        .unwrap()
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

#[test]
fn requests_are_answered_or_refused() {
    let _watchdog = testkit::Watchdog::new("requests", Duration::from_secs(60), String::new);
    let server = echo(Config::default());
    let ask = |text: &str| ask(server.address(), text.as_bytes());
    let good = ask(&get("/?a=b%20c"));
    assert!(good.starts_with("HTTP/1.1 200 OK\r\n"), "{good}");
    assert!(good.ends_with("\r\n\r\n[(\"a\", \"b c\")]"), "{good}");
    assert!(
        good.contains("Content-Security-Policy: default-src 'none'"),
        "{good}"
    );
    let head = ask("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(
        head.contains("Content-Length: 2\r\n") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    for (request, expected) in [
        (get("/other"), "404"),
        (get("/panic"), "500"),
        (get("/?a=%"), "400"),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), "403"),
        (
            "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
            "400",
        ),
        ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), "405"),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello".to_owned(),
            "413",
        ),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
            "413",
        ),
        ("\x16\x03\x01 no HTTP at all\r\n\r\n".to_owned(), "400"),
        (format!("GET /{} HTTP/1.1\r\n", "x".repeat(100_000)), "431"),
        (
            format!(
                "GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
                "a: b\r\n".repeat(100)
            ),
            "431",
        ),
    ] {
        let answer = ask(&request);
        let begins = &request[..request.len().min(60)];
        assert_eq!(status(&answer), expected, "{begins:?}: {answer}");
    }
}

#[test]
fn tokens_are_asked_for() {
    let _watchdog = testkit::Watchdog::new("tokens", Duration::from_secs(60), String::new);
    let server = echo(Config {
        access: Access::Token("0123456789abcdef".to_owned()),
        ..Config::default()
    });
    assert_eq!(status(&ask(server.address(), get("/").as_bytes())), "401");
    let with = "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n";
    assert_eq!(status(&ask(server.address(), with.as_bytes())), "200");
}

#[test]
fn a_request_that_arrives_byte_by_byte_has_a_deadline() {
    let _watchdog = testkit::Watchdog::new("slow", Duration::from_secs(60), String::new);
    let clock = Arc::new(ManualClock::default());
    let server = echo(Config {
        deadline: Duration::from_secs(30),
        clock: clock.clone(),
        ..Config::default()
    });
    let mut slow = TcpStream::connect(server.address()).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nX-a: ").unwrap();
    // The slow connection does not delay a complete request on another connection.
    assert_eq!(status(&ask(server.address(), get("/").as_bytes())), "200");
    clock.advance(Duration::from_secs(31));
    slow.write_all(b"b").unwrap();
    assert_eq!(status(&answer(slow)), "408");
}

#[test]
fn a_client_that_says_nothing_is_cut_off() {
    let _watchdog = testkit::Watchdog::new("silent", Duration::from_secs(60), String::new);
    let server = echo(Config {
        deadline: Duration::from_millis(50),
        ..Config::default()
    });
    let silent = TcpStream::connect(server.address()).unwrap();
    assert_eq!(status(&answer(silent)), "408");
}

#[test]
fn more_connections_than_allowed_are_closed() {
    let _watchdog = testkit::Watchdog::new("connections", Duration::from_secs(60), String::new);
    let server = echo(Config {
        max_connections: 2,
        ..Config::default()
    });
    let held: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            stream.write_all(b"GET / ").unwrap();
            stream
        })
        .collect();
    assert_eq!(ask(server.address(), get("/").as_bytes()), "");
    drop(held);
    testkit::wait_until("a connection is free", || {
        status(&ask(server.address(), get("/").as_bytes())) == "200"
    });
}

#[test]
fn a_server_ends_with_its_connections() {
    let _watchdog = testkit::Watchdog::new("end", Duration::from_secs(60), String::new);
    let held = Arc::new(());
    let server = {
        let held = held.clone();
        Server::start(Config::default(), move |_| {
            let _held = &held;
            Response::new("text/plain", vec![b'x'; 64 << 20])
        })
        .unwrap()
    };
    let address = server.address();
    let partial = TcpStream::connect(address).unwrap();
    let mut unread = TcpStream::connect(address).unwrap();
    unread.write_all(get("/").as_bytes()).unwrap();
    // One byte of the response proves that it has begun.
    unread.read_exact(&mut [0]).unwrap();
    let gone = TcpStream::connect(address).unwrap();
    gone.shutdown(Shutdown::Both).unwrap();
    drop(server);
    assert_eq!(Arc::strong_count(&held), 1, "threads still have the handler");
    assert_eq!(answer(partial), "");
    assert!(TcpStream::connect(address).is_err());
}
