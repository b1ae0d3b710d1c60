//! The Java object that is notified, and the listeners of one database.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::filename;
use base::sync::Mutex;
use esker::{CompactionReason, FlushReason, TableProperties};
use jni_sys::{jlong, jvalue};

use crate::callback::{Classes, Global, attached};
use crate::env::Env;
use crate::fail::Result;
use crate::frame::native;
use crate::handles;
use crate::table_properties;

/// The bits of the methods that a listener overrides, in RocksJava's order.
#[derive(Clone, Copy)]
pub(super) enum Callback {
    FlushCompleted = 0,
    FlushBegin = 1,
    TableFileDeleted = 2,
    CompactionBegin = 3,
    CompactionCompleted = 4,
    TableFileCreated = 5,
    TableFileCreationStarted = 6,
    MemtableSealed = 7,
    FamilyHandleDeletionStarted = 8,
    ExternalFileIngested = 9,
    BackgroundError = 0xA,
    StallConditionsChanged = 0xB,
    FileReadFinish = 0xC,
    FileWriteFinish = 0xD,
    FileFlushFinish = 0xE,
    FileSyncFinish = 0xF,
    FileTruncateFinish = 0x11,
    FileCloseFinish = 0x12,
    ShouldBeNotifiedOnFileIo = 0x13,
    ErrorRecoveryBegin = 0x14,
    ErrorRecoveryCompleted = 0x15,
}

/// The class of statuses.
pub(super) const STATUS: &str = "org/rocksdb/Status";

/// The classes of the objects that listeners receive. Threads of the library cannot look them up.
const CLASSES: &[&str] = &[
    "org/rocksdb/FlushJobInfo",
    "org/rocksdb/TableFileDeletionInfo",
    "org/rocksdb/CompactionJobInfo",
    "org/rocksdb/TableFileCreationInfo",
    "org/rocksdb/TableFileCreationBriefInfo",
    "org/rocksdb/MemTableInfo",
    "org/rocksdb/ColumnFamilyHandle",
    "org/rocksdb/ExternalFileIngestionInfo",
    "org/rocksdb/WriteStallInfo",
    "org/rocksdb/FileOperationInfo",
    STATUS,
    "org/rocksdb/AbstractEventListener",
    table_properties::CLASS,
];

/// `org.rocksdb.AbstractEventListener`.
pub struct JavaListener {
    /// The Java object.
    pub object: Global,
    classes: Classes,
    enabled: i64,
}

/// The listener of a handle.
pub struct ListenerObject(pub Arc<JavaListener>);

native!("AbstractEventListener_createNewEventListener" "J" fn(env, enabled: i64) -> i64 {
    Ok(handles::insert(ListenerObject(Arc::new(JavaListener {
        object: Global::strong(&env, env.this)?,
        classes: Classes::of(&env, CLASSES)?,
        enabled,
    }))))
});

impl JavaListener {
    fn wants(&self, callback: Callback) -> bool {
        self.enabled & (1 << callback as i64) != 0
    }

    /// Calls a method whose last parameter is the object that `make` creates.
    pub(super) fn call(
        &self,
        callback: Callback,
        name: &str,
        signature: &str,
        make: impl FnOnce(&Env<'_>, &Classes) -> Result<Vec<jvalue>>,
    ) {
        if !self.wants(callback) {
            return;
        }
        // If Java cannot be called any more, the event is lost.
        let _ = attached(|env| {
            env.in_frame(|| {
                let arguments = make(env, &self.classes)?;
                let class = self.classes.class("org/rocksdb/AbstractEventListener");
                let method = env.method(class, name, signature)?;
                let result = env.call_void(self.object.reference(), method, &arguments);
                env.describe();
                result
            })
        });
    }

    /// Calls a method with a result. Returns `otherwise` if it throws.
    pub(super) fn ask(
        &self,
        callback: Callback,
        name: &str,
        signature: &str,
        otherwise: bool,
        make: impl FnOnce(&Env<'_>, &Classes) -> Result<Vec<jvalue>>,
    ) -> bool {
        if !self.wants(callback) {
            return otherwise;
        }
        let answer = attached(|env| {
            env.in_frame(|| {
                let arguments = make(env, &self.classes)?;
                let class = self.classes.class("org/rocksdb/AbstractEventListener");
                let method = env.method(class, name, signature)?;
                let answer = env.call_bool(self.object.reference(), method, &arguments);
                env.describe();
                answer
            })
        });
        answer.unwrap_or(otherwise)
    }
}

/// The listeners of one database, the facts of earlier events that later ones need, and Java's handle of the
/// database.
pub struct Listeners {
    pub(super) list: Vec<Arc<JavaListener>>,
    /// Java's handle of the database; 0 until it exists.
    db: AtomicI64,
    pub(super) dir: String,
    pub(super) seen: Mutex<Seen>,
}

/// The numbers of tables by level.
pub(super) type Inputs = Vec<(usize, Vec<u64>)>;

/// Facts from earlier events that are passed with later events.
#[derive(Default)]
pub(super) struct Seen {
    /// The properties of tables created since the database was opened, until their deletion.
    pub tables: HashMap<u64, TableProperties>,
    pub flushes: HashMap<u64, FlushReason>,
    /// The inputs by level and the reason of each running compaction.
    pub compactions: HashMap<u64, (Inputs, CompactionReason)>,
}

impl Listeners {
    pub(super) fn new(list: Vec<Arc<JavaListener>>, dir: &Path) -> Listeners {
        Listeners {
            list,
            db: AtomicI64::new(0),
            dir: dir.display().to_string(),
            seen: Mutex::default(),
        }
    }

    /// Sets Java's handle of the database.
    pub fn attach(&self, db: jlong) {
        self.db.store(db, Ordering::Release);
    }

    pub(super) fn db(&self) -> jvalue {
        jvalue {
            j: self.db.load(Ordering::Acquire),
        }
    }

    pub(super) fn table_path(&self, number: u64) -> String {
        filename::table(Path::new(&self.dir), number)
            .display()
            .to_string()
    }
}
