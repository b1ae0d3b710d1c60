//! `rocksdb_eventlistener_t`: functions of the caller that are called for events. Options take it over.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use base::filename;
use base::sync::Mutex;
use esker::StallCondition;
use esker::{ColumnFamily, CompactionReason, Error, Event, EventListener, FlushReason, IngestedFile};

use crate::db::rocksdb_t;
use crate::ffi::*;
use crate::generated::fields::{
    BlobFileAdditionInfoFields, CompactionFileInfoFields, CompactionJobStatsFields, CompactionjobinfoFields,
    ExternalfileingestioninfoFields, FlushjobinfoFields, MemtableinfoFields, SubcompactionjobinfoFields,
    WritestallinfoFields,
};
use crate::generated::structs::{
    rocksdb_blob_file_addition_info_t, rocksdb_compaction_file_info_t, rocksdb_compaction_job_stats_t,
    rocksdb_memtableinfo_t,
};
use crate::options::{DatabaseListener, rocksdb_options_t};
use crate::table_properties::rocksdb_table_properties_t;

/// The C object `rocksdb_flushjobinfo_t`.
#[derive(Default)]
pub struct rocksdb_flushjobinfo_t {
    pub fields: FlushjobinfoFields,
    pub blobs: Additions,
    properties: rocksdb_table_properties_t,
}

/// The C object `rocksdb_compactionjobinfo_t`.
#[derive(Default)]
pub struct rocksdb_compactionjobinfo_t {
    pub fields: CompactionjobinfoFields,
    pub blobs: Additions,
    inputs: Vec<Vec<u8>>,
    input_infos: Vec<rocksdb_compaction_file_info_t>,
    outputs: Vec<Vec<u8>>,
    output_infos: Vec<rocksdb_compaction_file_info_t>,
    properties: Vec<(Vec<u8>, rocksdb_table_properties_t)>,
    stats: rocksdb_compaction_job_stats_t,
}

/// The C object `rocksdb_subcompactionjobinfo_t`.
#[derive(Default)]
pub struct rocksdb_subcompactionjobinfo_t {
    pub fields: SubcompactionjobinfoFields,
    stats: rocksdb_compaction_job_stats_t,
    error: Option<Error>,
}

/// The C object `rocksdb_externalfileingestioninfo_t`.
#[derive(Default)]
pub struct rocksdb_externalfileingestioninfo_t {
    pub fields: ExternalfileingestioninfoFields,
    properties: rocksdb_table_properties_t,
}

/// `rocksdb_writestallcondition_t`: RocksDB's number, opaque in C.
pub struct rocksdb_writestallcondition_t(
    #[expect(dead_code, reason = "C is given a pointer to it, and no function reads it")] c_int,
);

/// The C object `rocksdb_writestallinfo_t`.
pub struct rocksdb_writestallinfo_t {
    pub fields: WritestallinfoFields,
    current: rocksdb_writestallcondition_t,
    previous: rocksdb_writestallcondition_t,
}

/// The C object `rocksdb_status_ptr_t`.
pub struct rocksdb_status_ptr_t(Option<Error>);

type FlushFn = Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_flushjobinfo_t)>;
type CompactionFn =
    Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_compactionjobinfo_t)>;
type SubcompactionFn = Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_subcompactionjobinfo_t)>;
type IngestedFn =
    Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_externalfileingestioninfo_t)>;
type ErrorFn = Option<unsafe extern "C" fn(*mut c_void, u32, *mut rocksdb_status_ptr_t)>;
type StallFn = Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_writestallinfo_t)>;
type SealedFn = Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_memtableinfo_t)>;

/// The functions of a listener.
pub struct CallbackListener {
    state: CallbackState,
    flush_begin: FlushFn,
    flush_completed: FlushFn,
    compaction_begin: CompactionFn,
    compaction_completed: CompactionFn,
    subcompaction_begin: SubcompactionFn,
    subcompaction_completed: SubcompactionFn,
    ingested: IngestedFn,
    background_error: ErrorFn,
    stall_changed: StallFn,
    memtable_sealed: SealedFn,
    /// The database of the events, from its open to its close.
    db: AtomicPtr<rocksdb_t>,
    seen: Mutex<Seen>,
}

/// The numbers of tables by level.
type Inputs = Vec<(usize, Vec<u64>)>;

/// The blob files of one job, in the order of their ends.
pub type Additions = Vec<rocksdb_blob_file_addition_info_t>;

/// The blob files of running jobs.
#[derive(Default)]
pub struct BlobsOfJobs(HashMap<u64, Additions>);

impl BlobsOfJobs {
    /// Adds a file of a job.
    pub fn add(&mut self, job: u64, dir: &Path, number: u64, count: u64, bytes: u64) {
        use std::os::unix::ffi::OsStrExt;
        let path = filename::blob(dir, number);
        let fields = BlobFileAdditionInfoFields {
            blob_file_path: path.as_os_str().as_bytes().to_vec(),
            blob_file_number: number,
            total_blob_count: count,
            total_blob_bytes: bytes,
        };
        let files = self.0.entry(job).or_default();
        files.push(rocksdb_blob_file_addition_info_t { fields });
    }

    /// Takes the files of a job.
    pub fn take(&mut self, job: u64) -> Additions {
        self.0.remove(&job).unwrap_or_default()
    }
}

/// Facts from earlier events that are passed with later events.
#[derive(Default)]
struct Seen {
    /// The properties of tables created since the open, until their deletion.
    tables: HashMap<u64, rocksdb_table_properties_t>,
    /// The reasons of running flushes.
    flushes: HashMap<u64, FlushReason>,
    /// The inputs by level, and the reason, of each running compaction.
    compactions: HashMap<u64, (Inputs, u32)>,
    blobs: BlobsOfJobs,
}

/// The C object `rocksdb_eventlistener_t`.
pub struct rocksdb_eventlistener_t(Arc<CallbackListener>);

impl CallbackListener {
    fn pointer(&self) -> *mut rocksdb_t {
        self.db.load(Ordering::Acquire)
    }

    /// Returns the id of a family; 0 while the database is being opened.
    fn family_id(&self, name: &str) -> u32 {
        // SAFETY: the pointer is removed before the database is freed, and its threads have ended before
        // that.
        let db = unsafe { self.pointer().as_ref() };
        db.and_then(|db| db.db.column_family(name))
            .map_or(0, |family| family.id())
    }

    fn path_of(&self, number: u64) -> Vec<u8> {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: the pointer is removed before the database is freed, after the threads of the database have
        // ended.
        let db = unsafe { self.pointer().as_ref() };
        let dir = db.map_or(Path::new(""), |db| db.db.path());
        filename::table(dir, number).as_os_str().as_bytes().to_vec()
    }

    fn notify_flush(&self, call: FlushFn, info: rocksdb_flushjobinfo_t) {
        if let Some(call) = call {
            // SAFETY: the caller passed the function for this state; the database is that of `family_id`.
            unsafe { call(self.state.pointer, self.pointer(), &info) }
        }
    }

    fn notify_compaction(&self, call: CompactionFn, info: rocksdb_compactionjobinfo_t) {
        if let Some(call) = call {
            // SAFETY: the caller passed the function for this state; the database is that of the listener.
            unsafe { call(self.state.pointer, self.pointer(), &info) }
        }
    }

    fn flush_info(&self, family: &str, job: u64, reason: FlushReason) -> rocksdb_flushjobinfo_t {
        rocksdb_flushjobinfo_t {
            fields: FlushjobinfoFields {
                cf_id: self.family_id(family),
                cf_name: family.as_bytes().to_vec(),
                job_id: job as c_int,
                flush_reason: reason_number(reason),
                ..FlushjobinfoFields::default()
            },
            ..rocksdb_flushjobinfo_t::default()
        }
    }

    fn notify_sealed(&self, family: &str, first_seqno: u64, entries: u64, deletes: u64) {
        let Some(call) = self.memtable_sealed else {
            return;
        };
        let info = rocksdb_memtableinfo_t {
            fields: MemtableinfoFields {
                cf_name: family.as_bytes().to_vec(),
                first_seqno,
                earliest_seqno: first_seqno,
                num_entries: entries,
                num_deletes: deletes,
                ..MemtableinfoFields::default()
            },
        };
        // SAFETY: the caller passed the function for this state; the database is that of the listener.
        unsafe { call(self.state.pointer, &info) }
    }

    fn notify_flushed(&self, family: &str, job: u64, file: u64) {
        let (reason, properties, blobs) = {
            let mut seen = self.seen.lock();
            (
                seen.flushes.get(&job).copied(),
                seen.tables.get(&file).cloned().unwrap_or_default(),
                seen.blobs.take(job),
            )
        };
        let mut info = self.flush_info(family, job, reason.unwrap_or(FlushReason::WriteBufferFull));
        info.fields.file_path = self.path_of(file);
        info.fields.file_number = file;
        info.fields.smallest_seqno = properties.fields.key_smallest_seqno;
        info.fields.largest_seqno = properties.fields.key_largest_seqno;
        info.properties = properties;
        info.blobs = blobs;
        self.notify_flush(self.flush_completed, info);
    }

    fn keep_blob_file(&self, job: u64, file: u64, count: u64, bytes: u64) {
        // SAFETY: the pointer is removed before the database is freed, after the threads of the database have
        // ended.
        if let Some(db) = unsafe { self.pointer().as_ref() } {
            let mut seen = self.seen.lock();
            seen.blobs.add(job, db.db.path(), file, count, bytes);
        }
    }

    fn compaction_info(
        &self,
        family: &str,
        job: u64,
        level: usize,
        outputs: &[u64],
    ) -> rocksdb_compactionjobinfo_t {
        let (inputs, reason) = self
            .seen
            .lock()
            .compactions
            .get(&job)
            .cloned()
            .unwrap_or_default();
        let mut info = rocksdb_compactionjobinfo_t {
            fields: CompactionjobinfoFields {
                cf_id: self.family_id(family),
                cf_name: family.as_bytes().to_vec(),
                job_id: job as c_int,
                base_input_level: inputs.first().map_or(0, |(level, _)| *level as c_int),
                output_level: level as c_int,
                compaction_reason: reason,
                ..CompactionjobinfoFields::default()
            },
            ..rocksdb_compactionjobinfo_t::default()
        };
        for (level, numbers) in &inputs {
            for number in numbers {
                info.add_input(*level, *number, self.path_of(*number));
            }
        }
        for number in outputs {
            info.add_output(level, *number, self.path_of(*number));
        }
        let seen = self.seen.lock();
        let numbers = inputs.iter().flat_map(|(_, numbers)| numbers).chain(outputs);
        for number in numbers {
            if let Some(properties) = seen.tables.get(number) {
                info.properties.push((self.path_of(*number), properties.clone()));
            }
        }
        info
    }

    fn notify_ingested(&self, family: &str, files: &[IngestedFile]) {
        let Some(call) = self.ingested else {
            return;
        };
        for file in files {
            let info = rocksdb_externalfileingestioninfo_t {
                fields: ExternalfileingestioninfoFields {
                    cf_name: family.as_bytes().to_vec(),
                    external_file_path: file.external_path.clone().into_bytes(),
                    internal_file_path: self.path_of(file.file),
                    global_seqno: file.global_seqno,
                },
                properties: self.properties_of(family, file.file),
            };
            // SAFETY: the caller passed the function for this state; the database is that of the listener.
            unsafe { call(self.state.pointer, self.pointer(), &info) }
        }
    }

    /// Returns the properties of a table whose creation no event has reported.
    fn properties_of(&self, family: &str, number: u64) -> rocksdb_table_properties_t {
        // SAFETY: the pointer is removed before the database is freed, after the threads of the database have
        // ended.
        let Some(db) = (unsafe { self.pointer().as_ref() }) else {
            return rocksdb_table_properties_t::default();
        };
        let tables = db
            .db
            .column_family(family)
            .and_then(|family| db.db.properties_of_all_tables(&family).ok());
        let path = filename::table(db.db.path(), number);
        tables
            .and_then(|tables| tables.get(&path).map(rocksdb_table_properties_t::of))
            .unwrap_or_default()
    }

    fn notify_subcompaction(&self, call: SubcompactionFn, info: rocksdb_subcompactionjobinfo_t) {
        if let Some(call) = call {
            // SAFETY: the caller passed the function for this state; the database is that of the listener.
            unsafe { call(self.state.pointer, &info) }
        }
    }

    fn notify_stall(&self, family: &str, previous: StallCondition, current: StallCondition) {
        if let Some(call) = self.stall_changed {
            let info = rocksdb_writestallinfo_t {
                fields: WritestallinfoFields {
                    cf_name: family.as_bytes().to_vec(),
                },
                current: condition(current),
                previous: condition(previous),
            };
            // SAFETY: the caller passed the function for this state; the database is that of the listener.
            unsafe { call(self.state.pointer, &info) }
        }
    }

    fn notify_error(&self, action: &str, error: &Error) {
        if let Some(call) = self.background_error {
            let reason = match action {
                "flush" => 0,
                "compaction" => 1,
                _ => 2,
            };
            let mut status = rocksdb_status_ptr_t(Some(error.clone()));
            // SAFETY: the caller passed the function for this state; the database is that of the listener.
            unsafe { call(self.state.pointer, reason, &mut status) }
        }
    }
}

/// Returns RocksDB's number of a stall: delayed, stopped, normal.
fn condition(condition: StallCondition) -> rocksdb_writestallcondition_t {
    rocksdb_writestallcondition_t(match condition {
        StallCondition::Delayed { .. } => 0,
        StallCondition::Stopped { .. } => 1,
        StallCondition::Normal => 2,
    })
}

/// Returns RocksDB's number of the reason of a compaction; unknown for a reason that RocksDB does not have.
pub fn compaction_reason_number(reason: CompactionReason) -> u32 {
    match reason {
        CompactionReason::LevelL0FilesNum => 1,
        CompactionReason::LevelMaxLevelSize => 2,
        CompactionReason::UniversalSizeAmplification => 3,
        CompactionReason::UniversalSizeRatio => 4,
        CompactionReason::UniversalSortedRunNum => 5,
        CompactionReason::FIFOMaxSize => 6,
        CompactionReason::FIFOReduceNumFiles => 7,
        CompactionReason::FIFOTtl => 8,
        CompactionReason::ManualCompaction => 9,
        CompactionReason::FilesMarkedForCompaction => 10,
        CompactionReason::BottommostFiles => 11,
        CompactionReason::Ttl => 12,
        CompactionReason::PeriodicCompaction => 15,
        CompactionReason::ChangeTemperature => 16,
        CompactionReason::ForcedBlobGC => 17,
        CompactionReason::RefitLevel => 19,
        CompactionReason::FilesCoveredByRangeTombstone => 0,
    }
}

fn reason_number(reason: FlushReason) -> u32 {
    match reason {
        FlushReason::WriteBufferManager => 0x05,
        FlushReason::WriteBufferFull => 0x06,
        FlushReason::ManualFlush => 0x0a,
        FlushReason::ErrorRecovery => 0x0b,
        FlushReason::WalFull => 0x0d,
    }
}

impl rocksdb_compactionjobinfo_t {
    fn add_input(&mut self, level: usize, number: u64, path: Vec<u8>) {
        self.inputs.push(path);
        self.input_infos.push(file_info(level, number));
        self.count();
    }

    fn add_output(&mut self, level: usize, number: u64, path: Vec<u8>) {
        self.outputs.push(path);
        self.output_infos.push(file_info(level, number));
        self.count();
    }

    /// Computes the statistics from the lists.
    fn count(&mut self) {
        let stats: &mut CompactionJobStatsFields = &mut self.stats.fields;
        stats.num_input_files = self.inputs.len();
        stats.num_output_files = self.outputs.len();
    }

    /// Describes a finished compaction of named files. `job` is its number.
    pub fn of_files(
        family: &ColumnFamily,
        inputs: &[(usize, u64, Vec<u8>)],
        outputs: &[(usize, u64, Vec<u8>)],
        job: c_int,
    ) -> rocksdb_compactionjobinfo_t {
        let mut info = rocksdb_compactionjobinfo_t::default();
        info.fields.cf_id = family.id();
        info.fields.cf_name = family.name().as_bytes().to_vec();
        info.fields.job_id = job;
        info.fields.base_input_level = inputs.first().map_or(0, |input| input.0 as c_int);
        info.fields.output_level = outputs.first().map_or(0, |output| output.0 as c_int);
        inputs
            .iter()
            .for_each(|(level, number, path)| info.add_input(*level, *number, path.clone()));
        outputs
            .iter()
            .for_each(|(level, number, path)| info.add_output(*level, *number, path.clone()));
        info
    }
}

fn file_info(level: usize, number: u64) -> rocksdb_compaction_file_info_t {
    rocksdb_compaction_file_info_t {
        fields: CompactionFileInfoFields {
            level: level as c_int,
            file_number: number,
            oldest_blob_file_number: 0,
        },
    }
}

impl DatabaseListener for CallbackListener {
    fn attach(&self, db: *mut c_void) {
        self.db.store(db.cast(), Ordering::Release);
    }
}

impl EventListener for CallbackListener {
    fn on_event(&self, event: &Event) {
        match event {
            Event::TableCreated { file, properties, .. } => {
                self.seen
                    .lock()
                    .tables
                    .insert(*file, rocksdb_table_properties_t::of(properties));
            }
            Event::BlobFileCreated {
                job,
                file,
                total_blob_count: count,
                total_blob_bytes: bytes,
                ..
            } => self.keep_blob_file(*job, *file, *count, *bytes),
            Event::FileDeleted { path } => {
                let name = path.rsplit('/').next().unwrap_or(path);
                if let Some(filename::FileKind::Table(number)) = filename::parse(name) {
                    self.seen.lock().tables.remove(&number);
                }
            }
            Event::FlushBegun {
                family, job, reason, ..
            } => {
                self.seen.lock().flushes.insert(*job, *reason);
                self.notify_flush(self.flush_begin, self.flush_info(family, *job, *reason));
            }
            Event::Flushed {
                family, job, file, ..
            } => self.notify_flushed(family, *job, *file),
            Event::JobEnded { job, .. } => {
                let mut seen = self.seen.lock();
                seen.flushes.remove(job);
                seen.compactions.remove(job);
                seen.blobs.take(*job);
            }
            Event::CompactionBegun { .. } => self.notify_compaction_begun(event),
            Event::Compacted { .. } => self.notify_compacted(event),
            Event::Moved { .. } => self.notify_moved(event),
            Event::SubcompactionBegun { .. } => {
                self.notify_subcompaction(self.subcompaction_begin, self.subcompaction_info(event));
            }
            Event::SubcompactionCompleted { .. } => {
                self.notify_subcompaction(self.subcompaction_completed, self.subcompaction_info(event));
            }
            Event::Ingested { family, files, .. } => self.notify_ingested(family, files),
            Event::BackgroundError { action, error, .. } => self.notify_error(action, error),
            Event::Stall {
                family,
                previous,
                condition,
                ..
            } => self.notify_stall(family, *previous, *condition),
            Event::MemtableSealed {
                family,
                first_seqno,
                entries,
                deletes,
                ..
            } => self.notify_sealed(family, *first_seqno, *entries, *deletes),
            _ => {}
        }
    }
}

/// The notifications of compactions.
impl CallbackListener {
    fn notify_compaction_begun(&self, event: &Event) {
        let Event::CompactionBegun {
            family,
            job,
            inputs,
            reason,
            output_level,
            ..
        } = event
        else {
            return;
        };
        self.seen
            .lock()
            .compactions
            .insert(*job, (inputs.clone(), compaction_reason_number(*reason)));
        let info = self.compaction_info(family, *job, *output_level, &[]);
        self.notify_compaction(self.compaction_begin, info);
    }

    fn notify_compacted(&self, event: &Event) {
        let Event::Compacted {
            family,
            job,
            output_level,
            outputs,
            bytes_read,
            bytes_written,
            entries_read,
            entries_written,
            micros,
            cpu_micros,
            compression,
            ..
        } = event
        else {
            return;
        };
        let mut info = self.compaction_info(family, *job, *output_level, outputs);
        info.fields.compression = *compression as u32;
        info.fields.elapsed_micros = *micros;
        info.fields.input_records = *entries_read;
        info.fields.output_records = *entries_written;
        info.fields.total_input_bytes = *bytes_read;
        info.fields.total_output_bytes = *bytes_written;
        info.fields.num_input_files = info.inputs.len();
        info.blobs = self.seen.lock().blobs.take(*job);
        let stats = &mut info.stats.fields;
        stats.elapsed_micros = *micros;
        stats.cpu_micros = *cpu_micros;
        stats.num_input_records = *entries_read;
        stats.num_output_records = *entries_written;
        stats.total_input_bytes = *bytes_read;
        stats.total_output_bytes = *bytes_written;
        self.notify_compaction(self.compaction_completed, info);
    }

    /// Notifies of the begin and the end of a compaction that only moved files: its outputs are its inputs,
    /// in another level.
    fn notify_moved(&self, event: &Event) {
        let Event::Moved {
            family,
            job,
            output_level,
            inputs,
            ..
        } = event
        else {
            return;
        };
        let moved: Vec<u64> = inputs.iter().flat_map(|(_, files)| files).copied().collect();
        let reason = compaction_reason_number(CompactionReason::ManualCompaction);
        self.seen
            .lock()
            .compactions
            .entry(*job)
            .or_insert_with(|| (inputs.clone(), reason));
        let begun = self.compaction_info(family, *job, *output_level, &[]);
        self.notify_compaction(self.compaction_begin, begun);
        let completed = self.compaction_info(family, *job, *output_level, &moved);
        self.notify_compaction(self.compaction_completed, completed);
    }

    /// Describes a subcompaction that begins or has ended.
    fn subcompaction_info(&self, event: &Event) -> rocksdb_subcompactionjobinfo_t {
        let mut info = rocksdb_subcompactionjobinfo_t::default();
        if let Event::SubcompactionBegun {
            family,
            job,
            subcompaction,
            reason,
            base_input_level,
            output_level,
            compression,
        }
        | Event::SubcompactionCompleted {
            family,
            job,
            subcompaction,
            reason,
            base_input_level,
            output_level,
            compression,
            ..
        } = event
        {
            info.fields = SubcompactionjobinfoFields {
                cf_id: self.family_id(family),
                cf_name: family.as_bytes().to_vec(),
                job_id: *job as c_int,
                subcompaction_job_id: *subcompaction as c_int,
                base_input_level: *base_input_level as c_int,
                output_level: *output_level as c_int,
                compaction_reason: compaction_reason_number(*reason),
                compression: *compression as u32,
                ..SubcompactionjobinfoFields::default()
            };
        }
        if let Event::SubcompactionCompleted {
            output_files,
            bytes_written,
            micros,
            cpu_micros,
            error,
            ..
        } = event
        {
            let stats = &mut info.stats.fields;
            stats.elapsed_micros = *micros;
            stats.cpu_micros = *cpu_micros;
            stats.num_output_files = *output_files;
            stats.total_output_bytes = *bytes_written;
            info.error = error.clone();
        }
        info
    }
}

api!(
    fn rocksdb_eventlistener_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        flush_begin: FlushFn,
        flush_completed: FlushFn,
        compaction_begin: CompactionFn,
        compaction_completed: CompactionFn,
        subcompaction_begin: SubcompactionFn,
        subcompaction_completed: SubcompactionFn,
        ingested: IngestedFn,
        background_error: ErrorFn,
        stall_changed: StallFn,
        memtable_sealed: SealedFn,
    ) -> *mut rocksdb_eventlistener_t {
        boxed(rocksdb_eventlistener_t(Arc::new(CallbackListener {
            state: CallbackState::new(state, destructor),
            flush_begin,
            flush_completed,
            compaction_begin,
            compaction_completed,
            subcompaction_begin,
            subcompaction_completed,
            ingested,
            background_error,
            stall_changed,
            memtable_sealed,
            db: AtomicPtr::new(std::ptr::null_mut()),
            seen: Mutex::new(Seen::default()),
        })))
    }
);

api!(
    fn rocksdb_options_add_eventlistener(
        options: *mut rocksdb_options_t,
        listener: *mut rocksdb_eventlistener_t,
    ) {
        if let Some(listener) = taken(listener) {
            (&mut (*options).listeners).push(listener.0);
        }
    }
);

api!(
    fn rocksdb_flushjobinfo_table_properties(
        info: *const rocksdb_flushjobinfo_t,
    ) -> *const rocksdb_table_properties_t {
        std::ptr::from_ref(&(*info).properties)
    }
);

api!(
    fn rocksdb_externalfileingestioninfo_table_properties(
        info: *const rocksdb_externalfileingestioninfo_t,
    ) -> *const rocksdb_table_properties_t {
        std::ptr::from_ref(&(*info).properties)
    }
);

api!(
    fn rocksdb_compactionjobinfo_create() -> *mut rocksdb_compactionjobinfo_t {
        boxed(rocksdb_compactionjobinfo_t::default())
    }
);

api!(
    fn rocksdb_compactionjobinfo_status(
        _info: *const rocksdb_compactionjobinfo_t,
        _errptr: *mut *mut c_char,
    ) {
    }
);

api!(
    fn rocksdb_subcompactionjobinfo_status(
        info: *const rocksdb_subcompactionjobinfo_t,
        errptr: *mut *mut c_char,
    ) {
        if let Some(error) = &(*info).error {
            set_error(errptr, error);
        }
    }
);

unsafe fn named(list: &[Vec<u8>], at: usize, size: *mut usize) -> *const c_char {
    match list.get(at) {
        Some(name) => borrowed(name, size),
        None => nothing(size).cast_const(),
    }
}

fn pointer<T>(list: &[T], at: usize) -> *const T {
    list.get(at).map_or(std::ptr::null(), |item| item)
}

api!(
    fn rocksdb_compactionjobinfo_input_files_count(info: *const rocksdb_compactionjobinfo_t) -> usize {
        (&(*info).inputs).len()
    }
);

api!(
    fn rocksdb_compactionjobinfo_input_file_at(
        info: *const rocksdb_compactionjobinfo_t,
        at: usize,
        size: *mut usize,
    ) -> *const c_char {
        named(&(*info).inputs, at, size)
    }
);

api!(
    fn rocksdb_compactionjobinfo_output_files_count(info: *const rocksdb_compactionjobinfo_t) -> usize {
        (&(*info).outputs).len()
    }
);

api!(
    fn rocksdb_compactionjobinfo_output_file_at(
        info: *const rocksdb_compactionjobinfo_t,
        at: usize,
        size: *mut usize,
    ) -> *const c_char {
        named(&(*info).outputs, at, size)
    }
);

api!(
    fn rocksdb_compactionjobinfo_input_file_infos_count(info: *const rocksdb_compactionjobinfo_t) -> usize {
        (&(*info).input_infos).len()
    }
);

api!(
    fn rocksdb_compactionjobinfo_input_file_info_at(
        info: *const rocksdb_compactionjobinfo_t,
        at: usize,
    ) -> *const rocksdb_compaction_file_info_t {
        pointer(&(*info).input_infos, at)
    }
);

api!(
    fn rocksdb_compactionjobinfo_output_file_infos_count(info: *const rocksdb_compactionjobinfo_t) -> usize {
        (&(*info).output_infos).len()
    }
);

api!(
    fn rocksdb_compactionjobinfo_output_file_info_at(
        info: *const rocksdb_compactionjobinfo_t,
        at: usize,
    ) -> *const rocksdb_compaction_file_info_t {
        pointer(&(*info).output_infos, at)
    }
);

api!(
    fn rocksdb_compactionjobinfo_table_properties_count(info: *const rocksdb_compactionjobinfo_t) -> usize {
        (&(*info).properties).len()
    }
);

api!(
    fn rocksdb_compactionjobinfo_table_properties_key_at(
        info: *const rocksdb_compactionjobinfo_t,
        at: usize,
        size: *mut usize,
    ) -> *const c_char {
        match (&(*info).properties).get(at) {
            Some((path, _)) => borrowed(path, size),
            None => nothing(size).cast_const(),
        }
    }
);

api!(
    fn rocksdb_compactionjobinfo_table_properties_value_at(
        info: *const rocksdb_compactionjobinfo_t,
        at: usize,
    ) -> *const rocksdb_table_properties_t {
        (&(*info).properties)
            .get(at)
            .map_or(std::ptr::null(), |(_, properties)| properties)
    }
);

api!(
    fn rocksdb_compactionjobinfo_table_properties_for_file(
        info: *const rocksdb_compactionjobinfo_t,
        name: *const c_char,
        length: usize,
    ) -> *const rocksdb_table_properties_t {
        let name = bytes(name, length);
        let found = (&(*info).properties).iter().find(|(path, _)| path == name);
        found.map_or(std::ptr::null(), |(_, properties)| properties)
    }
);

api!(
    fn rocksdb_compactionjobinfo_stats(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> *const rocksdb_compaction_job_stats_t {
        std::ptr::from_ref(&(*info).stats)
    }
);

api!(
    fn rocksdb_subcompactionjobinfo_stats(
        info: *const rocksdb_subcompactionjobinfo_t,
    ) -> *const rocksdb_compaction_job_stats_t {
        std::ptr::from_ref(&(*info).stats)
    }
);

api!(
    fn rocksdb_writestallinfo_cur(
        info: *const rocksdb_writestallinfo_t,
    ) -> *const rocksdb_writestallcondition_t {
        std::ptr::from_ref(&(*info).current)
    }
);

api!(
    fn rocksdb_writestallinfo_prev(
        info: *const rocksdb_writestallinfo_t,
    ) -> *const rocksdb_writestallcondition_t {
        std::ptr::from_ref(&(*info).previous)
    }
);

api!(
    fn rocksdb_status_ptr_get_error(status: *mut rocksdb_status_ptr_t, errptr: *mut *mut c_char) {
        if let Some(error) = &(*status).0 {
            set_error(errptr, error);
        }
    }
);

api!(
    fn rocksdb_reset_status(status: *mut rocksdb_status_ptr_t) {
        (*status).0 = None;
    }
);
