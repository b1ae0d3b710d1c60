//! Clicks on the page in headless Chromium, by its WebDriver, if the machine has both.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use esker::{Db, Options};
use esker_serve::Page;
use esker_serve::http::Config;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The name that WebDriver gives to the field with an element's identity.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one window.
struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    _profile: TempDir,
}

impl Browser {
    /// Opens `url`. `None` without Chromium or its WebDriver.
    fn open(url: &str) -> Option<Browser> {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut driver = Command::new("chromedriver");
        driver
            .arg(format!("--port={}", address.port()))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let driver = driver.spawn().ok()?;
        testkit::wait_until("chromedriver", || TcpStream::connect(address).is_ok());
        let profile = TempDir::new().unwrap();
        let mut browser = Browser {
            driver,
            address,
            session: String::new(),
            _profile: profile,
        };
        let profile = format!("--user-data-dir={}", browser._profile.path().display());
        let args = ["--headless=new", "--no-sandbox", "--disable-gpu", &profile];
        let wanted = json!({ "alwaysMatch": { "goog:chromeOptions": { "args": args } } });
        let answer = browser.ask("POST", "", &json!({ "capabilities": wanted }));
        browser.session = answer["sessionId"].as_str()?.to_owned();
        browser.ask("POST", "/url", &json!({ "url": url }));
        Some(browser)
    }

    /// Sends a command of the WebDriver session, and returns the value of the response.
    fn ask(&self, method: &str, command: &str, body: &Value) -> Value {
        let session = match self.session.as_str() {
            "" => String::new(),
            session => format!("/{session}"),
        };
        // A GET command has no body: WebDriver refuses a body that is not an object.
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream = TcpStream::connect(self.address).unwrap();
        let head = format!(
            "{method} /session{session}{command} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        let mut line = String::new();
        while answer.read_line(&mut line).unwrap() > 2 {
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut text = vec![0; length];
        answer.read_exact(&mut text).unwrap();
        let answer: Value = serde_json::from_slice(&text).unwrap();
        assert!(answer["value"]["error"].is_null(), "{command}: {answer}");
        answer["value"].clone()
    }

    /// Waits for the first element that a CSS selector names, and returns the path of its WebDriver commands.
    fn find(&self, selector: &str) -> String {
        let wanted = json!({ "using": "css selector", "value": selector });
        let mut found = Value::Null;
        testkit::wait_until(selector, || {
            found = self.ask("POST", "/elements", &wanted)[0][ELEMENT].clone();
            found.is_string()
        });
        format!("/element/{}", found.as_str().unwrap())
    }

    fn click(&self, selector: &str) {
        self.ask("POST", &format!("{}/click", self.find(selector)), &json!({}));
    }

    fn text(&self, selector: &str) -> String {
        let text = self.ask("GET", &format!("{}/text", self.find(selector)), &Value::Null);
        text.as_str().unwrap().to_owned()
    }

    /// Returns the background of an element.
    fn colour(&self, selector: &str) -> String {
        let command = format!("{}/css/background-color", self.find(selector));
        self.ask("GET", &command, &Value::Null)
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Presses a key at the element that has the focus.
    fn press(&self, key: &str) {
        let down = json!({ "type": "keyDown", "value": key });
        let up = json!({ "type": "keyUp", "value": key });
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": [down, up] });
        self.ask("POST", "/actions", &json!({ "actions": [keyboard] }));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.ask("DELETE", "", &Value::Null);
        }
        // A driver that has ended already needs no signal.
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Returns a database with two tables, of which the first one was read much, and their numbers.
fn one_hot_table(dir: &TempDir) -> (Db, [u64; 2]) {
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, dir.path()).unwrap();
    for letter in ["a", "b"] {
        for number in 0..100 {
            db.put(format!("{letter}{number:02}"), [7; 100]).unwrap();
        }
        db.flush().unwrap();
    }
    for _ in 0..40_000 {
        db.get(b"a07").unwrap();
    }
    let mut numbers: Vec<u64> = db.live_files().iter().map(|file| file.number).collect();
    numbers.sort_unstable();
    let numbers = numbers.try_into().unwrap();
    (db, numbers)
}

#[test]
#[ignore = "runs Chromium: cargo xtask nightly"]
fn clicks_show_the_heat_of_tables_their_keys_and_the_past() {
    let dir = TempDir::new().unwrap();
    let (db, [hot, cold]) = one_hot_table(&dir);
    let page = Page::of_database(&db, Config::default()).unwrap();
    let Some(browser) = Browser::open(&page.url()) else {
        testkit::skip("chromium and chromedriver");
        return;
    };
    let [hot, cold] = [hot, cold].map(|number| format!(".file[data-number=\"{number}\"]"));
    // Coloured by level, the tables of one level have one colour; coloured by reads, the table with many
    // reads has a colour of its own.
    assert_eq!(browser.colour(&hot), browser.colour(&cold));
    browser.click("#colour option[value=reads]");
    assert_ne!(browser.colour(&hot), browser.colour(&cold));
    let legend = browser.text("#legend");
    assert!(legend.contains("the most reads, about "), "{legend}");
    // A click on a table opens it, with its reads and its first keys; Esc closes it.
    browser.click(&hot);
    let detail = browser.text("#detail");
    assert!(detail.contains("reads, about"), "{detail}");
    browser.find("#detail table code");
    let detail = browser.text("#detail");
    assert!(
        detail.contains("a00") && detail.contains("PROPERTIES"),
        "{detail}"
    );
    browser.press("\u{e00c}");
    browser.find("#detail[hidden]");
    // In the state before the last edit the second table does not exist.
    browser.click("#back");
    browser.find("#now[aria-pressed=false]");
    testkit::wait_until("the past", || {
        let gone = json!({ "using": "css selector", "value": cold });
        browser.ask("POST", "/elements", &gone) == json!([])
    });
    browser.click("#now");
    browser.find(&cold);
}
