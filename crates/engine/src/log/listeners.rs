//! The receivers of the events of a database.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Error;
use base::sync::Mutex;
use base::user_code::{call, catch};
use vfs::{FileObserver, FileOperation, ObservedFs};

use crate::events::Event;
use crate::events::EventListener;
use crate::log::InfoLog;
use crate::options::ColumnFamilyOptions;
use crate::options::Options;

/// The listeners of a database that want notifications of file operations.
struct FileListeners(Vec<Arc<dyn EventListener>>);

impl fmt::Debug for FileListeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} listeners", self.0.len())
    }
}

impl FileObserver for FileListeners {
    fn finished(&self, operation: &FileOperation<'_>) {
        for listener in &self.0 {
            call("event listener", || "", || listener.on_file_operation(operation));
        }
    }
}

/// Returns `options` with a file system that notifies listeners of file operations, if any listener wants
/// that.
pub(crate) fn with_file_listeners(options: &Options) -> Cow<'_, Options> {
    let mut listeners = options.listeners.clone();
    listeners.retain(|listener| listener.should_be_notified_on_file_io());
    // The options of another database may have its file system.
    let mut below = options.fs.unwatched();
    while let Some(further) = below.as_ref().and_then(|fs| fs.unwatched()) {
        below = Some(further);
    }
    if listeners.is_empty() {
        return match below {
            None => Cow::Borrowed(options),
            Some(fs) => Cow::Owned(Options {
                fs,
                ..options.clone()
            }),
        };
    }
    let fs = ObservedFs::new(
        below.unwrap_or_else(|| options.fs.clone()),
        Arc::new(FileListeners(listeners)),
        options.clock.clone(),
    );
    Cow::Owned(Options {
        fs: Arc::new(fs),
        ..options.clone()
    })
}

/// The receivers of a database's events: its info log, and the listeners of its user.
#[derive(Clone)]
pub(crate) struct Listeners {
    all: Arc<[Arc<dyn EventListener>]>,
    panics: Arc<ListenerPanics>,
}

/// The panics of listeners that the database has not handled yet.
#[derive(Default)]
struct ListenerPanics {
    /// True once the database is open. Before that, the open itself handles panics.
    open: AtomicBool,
    any: AtomicBool,
    first: Mutex<Option<Error>>,
}

impl Listeners {
    pub fn new(log: Arc<InfoLog>, options: &Options) -> Listeners {
        let log: Arc<dyn EventListener> = log;
        let listeners = std::iter::once(log);
        Listeners {
            all: listeners.chain(options.listeners.iter().cloned()).collect(),
            panics: Arc::default(),
        }
    }

    /// No listeners.
    pub fn none() -> Listeners {
        Listeners {
            all: Arc::new([]),
            panics: Arc::default(),
        }
    }

    /// True if no listener forbids an automatic recovery. All listeners are queried; a listener that panics
    /// forbids it.
    pub fn allow_recovery(&self, background_error: &Error) -> bool {
        let answers = self.all.iter().map(|listener| {
            let ask = || listener.on_error_recovery_begin(background_error);
            catch(|| call("event listener", || "", ask)).unwrap_or_else(|error| {
                self.record_panic(error);
                false
            })
        });
        answers.fold(true, |all, allows| all & allows)
    }

    /// Notifies every listener, even if one panics. Called without locks; see [`EventListener`].
    pub fn notify(&self, event: &Event) {
        for listener in &*self.all {
            let told = catch(|| call("event listener", || "", || listener.on_event(event)));
            if let Err(error) = told {
                self.record_panic(error);
            }
        }
    }

    /// Records a panic in an operation whose caller cannot be notified.
    #[cold]
    pub fn record_panic(&self, error: Error) {
        self.panics.first.lock().get_or_insert(error);
        self.panics.any.store(true, Ordering::Release);
    }

    /// True if a panic was recorded and not taken.
    #[inline]
    pub fn has_panicked(&self) -> bool {
        self.panics.any.load(Ordering::Acquire)
    }

    /// Takes the first panic since the last call.
    pub fn take_panic(&self) -> Option<Error> {
        self.panics.any.store(false, Ordering::Release);
        self.panics.first.lock().take()
    }

    /// Records that the database is open.
    pub fn set_open(&self) {
        self.panics.open.store(true, Ordering::Release);
    }

    /// True if the database is open.
    pub fn is_open(&self) -> bool {
        self.panics.open.load(Ordering::Acquire)
    }
}

/// Reports the options of a family that have no effect, except those reported for the options `before`.
pub(crate) fn report_without_effect(
    name: &str,
    given: &ColumnFamilyOptions,
    before: Option<&ColumnFamilyOptions>,
    listeners: &Listeners,
) {
    let told = before.map_or_else(Vec::new, |before| before.without_effect(name));
    let mut now = given.without_effect(name);
    now.retain(|lost| !told.contains(lost));
    now.into_iter()
        .for_each(|lost| listeners.notify(&Event::OptionLost(lost)));
}
