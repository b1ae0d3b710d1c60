//! Events of a database as events of `tracing`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use esker::{Db, Options};
use esker_metrics::TracingListener;
use tempfile::TempDir;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

type Seen = Arc<Mutex<Vec<(Level, BTreeMap<String, String>)>>>;

/// Keeps every event of the target `esker`.
struct Kept(Seen);

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "esker"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.0.lock().unwrap().push((*event.metadata().level(), fields.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

#[test]
fn a_flush_is_an_event_with_its_family_and_job() {
    let seen = Seen::default();
    // Flushes run in threads of the engine, so the subscriber is that of the process. No other test sets one.
    tracing::subscriber::set_global_default(Kept(seen.clone())).unwrap();
    let dir = TempDir::new().unwrap();
    let options = Options {
        create_if_missing: true,
        listeners: vec![Arc::new(TracingListener::new("orders"))],
        ..Options::default()
    };
    let db = Db::open(&options, dir.path()).unwrap();
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let seen = seen.lock().unwrap();
    let of = |name: &str| {
        let mut found = seen
            .iter()
            .filter(|(_, fields)| fields["event"] == name && fields["db"] == "orders");
        found.next().unwrap_or_else(|| panic!("no {name}"))
    };
    let (level, fields) = of("Flushed");
    assert_eq!(*level, Level::INFO);
    assert_eq!(fields["family"], "default");
    assert!(fields["job"].parse::<u64>().is_ok(), "{fields:?}");
    assert!(
        fields["message"].starts_with("[default] flushed 1 entries"),
        "{fields:?}"
    );
    let (level, _) = of("TableCreationStarted");
    assert_eq!(*level, Level::DEBUG);
    let (_, fields) = of("WalCreated");
    assert!(!fields.contains_key("family"), "{fields:?}");
}
