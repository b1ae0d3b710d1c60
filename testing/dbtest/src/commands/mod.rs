//! The commands of data-driven tests: one set for all tests that use a database as its users do.
//!
//! Keys and values are written as in [`testkit::keys`]: printable, with `\xNN` for other bytes, `""` if
//! empty. `<100>` is a value of 100 bytes that do not compress, `<100*x>` is 100 times `x`. In a family with
//! timestamps a written key has the form `key/5`. Each command that may start background work waits for it to
//! end, unless it has `no_wait`, so that its output is deterministic.
//!
//! | command | does |
//! |---|---|
//! | `new [gate] [gate=(EVENT,...)] [clock] [calls] [no_auto_recovery]` | a database in an empty file system, with default options and those of the lines below: `name=value`, as in [`crate::settings::set`]; `clock`: with a clock that only `advance` moves; `calls`: with a log of the file system's operations; `no_auto_recovery`: with a listener that forbids automatic recoveries |
//! | `hold`, `go` | pauses and continues compactions, and flushes that merge, inside user code, or at the listeners of these events; for a database made with `new gate` |
//! | `wait_held count=`, `let_one_pass` | waits until so many threads are paused; lets one of them continue |
//! | `advance secs= micros=` | moves the clock |
//! | `open [read_only] [secondary_of=DB] [trim_to=] [second]` | closes the database, and opens it with default options and those of the lines below; `second` does not close it |
//! | `reopen [read_only] [kill]` | closes the database, or with `kill` ends its process, and opens it with the previous options and those of the lines below |
//! | `use db=` | the database `/NAME`, `/db` at first, to which the later commands apply |
//! | `close`, `destroy` | |
//! | `write [sync] [disable_wal] [no_slowdown] [low_pri] [ignore_missing_column_families] [no_wait] [seqno]` | one batch, with `seqno` printing its sequence number: `put K V`, `del K`, `sdel K`, `merge K V`, `delrange A B`, `entity K NAME=V ...`, `log TEXT`; after `@FAMILY`, in that family |
//! | `fill from= to= [len=] [step=] [salt=] [same] [cf=]` | puts `key000000`, ... one by one, with the flags of `write`; `same`: with values that compress; `salt`: with other values |
//! | `filled from= to= [len=] [step=] [salt=] [same] [cf=] [multi_get]` | compares rows with those of `fill`; `multi_get`: asks for all at once, the last key first |
//! | `get [pinned]`, `multi_get`, `key_may_exist` | keys, one a line |
//! | `get_entity`, `multi_get_entity` | keys, one a line: their columns |
//! | `get_operands [max=]` | keys, one a line: their merge operands |
//! | `scan [reverse]` | every row |
//! | `scan_families [reverse] [groups]` | families, one a line: every key with its columns, or with `groups` those of each family |
//! | `iter [as=]` | `first`, `last`, `next`, `prev`, `seek K`, `seek_for_prev K`, `next_to_end`, `next_prefix`, `max_prefix_steps N`, `filled FROM TO LEN` (over rows of `fill`), `bounds A B` (`-`: none), `refresh [SNAPSHOT]`, each printing the position; `as` keeps the iterator under a name |
//! | `versions [reverse]` | all versions of keys between the timestamps `iter_start_ts=` and `ts=` |
//! | `history [low=] [newest]` | the lowest timestamp that is read, or the newest one; raises the lowest |
//! | `snapshot as=`, `release as=` | takes a snapshot; releases a snapshot, iterator, handle or prepared ingestion |
//! | `flush [cf=(A,...)] [begin] [wait_for_stall] [listener_wait]` | `begin` does not wait for its end; `wait_for_stall` waits until it stalls no writer |
//! | `wait`, `sync_wal`, `flush_wal`, `lock_wal`, `unlock_wal` | |
//! | `compact [begin=] [end=] [bottommost=] [change_level] [target=] [exclusive_manual_compaction] [full_history_ts_low=] [blobs=collect\|keep] [blob_cutoff=]` | a manual compaction |
//! | `compact_files output= [level=] [smallest=] [missing=] [compression=] [temperature=] [allow_trivial_move=] [output_path_id=]` | a compaction of the files of a level, of those with this smallest key, and of files that do not exist |
//! | `suggest [begin=] [end=] [files] [level=]`, `promote_l0 target=`, `delete_files_in_range [begin=] [end=]`, `delete_files_in_ranges [include_end]`, `clip begin= end=` | ranges of keys, one a line, `-` for none |
//! | `pause`, `continue`, `cancel_background_work`, `disable_manual_compaction`, `enable_manual_compaction`, `abort_compactions`, `resume_compactions`, `disable_file_deletions`, `enable_file_deletions`, `wait_for_purge`, `resume`, `reset_stats`, `verify_checksum`, `verify_file_checksums`, `catch_up` | the call of that name |
//! | `set_options [cf=]`, `set_db_options`, `enable_auto_compaction` | changes options, one a line, while the database is open |
//! | `options [cf=] [opened] [stored]` | names, one a line: the values in force, those of the open, or those of the OPTIONS file |
//! | `lsm [entries] [stored] [rows] [seqnos] [compression] [temperature]` | levels and files |
//! | `lsm counts`, `lsm places` | the number of files of each level, their directories |
//! | `blob_files` | the blob files, checked against the disk and the properties |
//! | `check` | the invariants of [`crate::files`] |
//! | `property name=`, `approximate_sizes [include_memtables] [include_files=] [bytes]`, `memtable_stats` | with lines below, the lines of the property with such a text |
//! | `numbers [until]` | names, compares and prints numbers: properties, tickers, sizes, waits of writers; `until` waits until all comparisons hold |
//! | `files` | the number of files of each kind, for a closed database: an open one deletes files in the background |
//! | `list [dir=] [inner=] [with=] [ending=] [sizes]`, `log [of=FILE] [count]` | the names in the directory `/DIR/INNER`; the lines of the info log, or of another file, with a text of the lines below; `OPTIONS-` is the newest such file |
//! | `events [kinds=(KIND,...)] [cf=] [show=(FIELD,...)] [unique] [sorted] [open]` | the number of events of each kind since the last `events` or `new`, or those of the kinds, for a closed database, because events arrive with a delay |
//! | `next_event kinds=(KIND,...) [show=(FIELD,...)] [keep=(FIELD,...)]` | waits for the next event of the kinds; names the fields of `keep` as numbers |
//! | `calls [lengths] [largest] [text]` | lines of words: the number of operations of the file system since the last `calls` with all words, or their bytes, the most bytes, or their text |
//! | `create_cf as=`, `drop_cf as=`, `cfs` | |
//! | `write_file name= [cf=] [info] [go_on]`, `edit_file name= [dir=] [new]`, `copy_table to=` | an external file: lines as of `write`, and `set NAME=VALUE`, of which `go_on` passes over those that fail; bytes of it and those in their place, or all bytes of a new one; a copy of a table |
//! | `remove_files dir= with=`, `repair` | removes files by a text in their names; repairs the closed database |
//! | `ingest`, `prepare as=`, `commit as=`, `abort as=` | lines of files, after `@FAMILY` into that family; arguments are the options of the ingestion, and `replace begin= end=` |
//! | `export to=`, `import as= from=(DIR,...) [move_files]`, `checkpoint to=` | directories `/DIR` |
//! | `fault op=(OP,...) [path=] [skip=] [times=] [kind=]`, `clear_faults` | makes operations of the file system fail |
//! | `join as=`, `state as=` | the output of a command in the background; whether it runs |
//!
//! Reads take `cf=`, `snapshot=`, `lower=`, `upper=`, `ts=`, and the options of RocksDB's `ReadOptions` by
//! name. Every command takes `background=NAME`: it runs on a thread of its own, and the script continues when
//! it has ended or waits for another thread. Every command takes `mask`: its output has `#` for each number.

mod control;
mod levels;
mod numbers;
mod outside;
mod reads;
mod reports;
mod session;
mod text;
mod writes;

use std::sync::mpsc::channel;

use esker::{Db, Result};
use testkit::Task;
use testkit::datadriven::TestCase;

pub use self::session::Session;
use self::text::{flag, masked, misuse, optional, optional_bytes, required, without_ids};
use crate::{files, settings};

impl Session {
    /// Runs one command and returns its output. Errors are part of the output.
    pub fn run(&mut self, case: &mut TestCase) -> String {
        if let Ok(Some(name)) = optional::<String>(case, "background") {
            return self.run_in_background(case, name);
        }
        let mask = flag(case, "mask");
        let mut out = String::new();
        if let Err(error) = self.command(case, &mut out) {
            // The number of a MANIFEST is cut off: it depends on the number of files that background work has
            // created.
            let text = error.to_string();
            let text = match text.split_once("/MANIFEST-") {
                Some((before, _)) => format!("{before}/MANIFEST"),
                None => text,
            };
            out.push_str(&format!("{text}\n"));
        }
        let out = without_ids(&out);
        if mask { masked(&out) } else { out }
    }

    /// Runs a command on a thread of its own, and returns when it has ended or waits for another thread.
    fn run_in_background(&mut self, case: &mut TestCase, name: String) -> String {
        let (mut session, mut own) = (self.of_thread(), case.clone());
        case.args.clear();
        let (begin, begun) = channel();
        let thread = std::thread::spawn(move || {
            // The receiver waits for this message.
            begin.send(Task::current()).expect("the receiver waits");
            let mut output = session.run(&mut own);
            own.args.keys().for_each(|name| {
                output.push_str(&format!("argument not understood: {name}\n"));
            });
            output
        });
        let task = testkit::receive("the thread of a command", &begun);
        task.wait_until_asleep_or(|| thread.is_finished());
        self.background.insert(name, thread);
        String::new()
    }

    fn command(&mut self, case: &mut TestCase, out: &mut String) -> Result<()> {
        match case.directive.clone().as_str() {
            "new" => {
                self.begin(case)?;
                self.open(case)
            }
            "open" => {
                if !flag(case, "second") {
                    self.close()?;
                }
                self.reset_options();
                self.open(case)
            }
            "reopen" => {
                if flag(case, "kill") {
                    self.kill();
                }
                self.close()?;
                self.open(case)
            }
            "use" => {
                self.path = format!("/{}", required::<String>(case, "db")?);
                Ok(())
            }
            "close" => self.close(),
            "destroy" => Db::destroy(&self.options, &self.path),
            "write" => self.write(case, out),
            "fill" => self.fill(case),
            "filled" => self.filled(case, out),
            "get" => self.get(case, out),
            "key_may_exist" => self.key_may_exist(case, out),
            "multi_get" => self.multi_get(case, out),
            "get_entity" => self.get_entity(case, out),
            "multi_get_entity" => self.multi_get_entity(case, out),
            "get_operands" => self.get_operands(case, out),
            "scan" => self.scan(case, out),
            "scan_families" => self.scan_families(case, out),
            "versions" => self.versions(case, out),
            "iter" => self.iter(case, out),
            "snapshot" => {
                let snapshot = self.db()?.snapshot();
                self.snapshots.insert(required(case, "as")?, snapshot);
                Ok(())
            }
            "release" => self.release(&required::<String>(case, "as")?),
            _ => self.command_of_files(case, out),
        }
    }

    /// The commands about files, levels and families.
    fn command_of_files(&mut self, case: &mut TestCase, out: &mut String) -> Result<()> {
        match case.directive.clone().as_str() {
            "flush" => self.flush(case),
            "wait" => self.db()?.wait_for_compact(),
            "compact" => self.compact(case),
            "compact_files" => self.compact_files(case),
            "suggest" => self.suggest(case),
            "promote_l0" => {
                let family = self.family(case)?;
                self.db()?.promote_l0(&family, required(case, "target")?)
            }
            "delete_files_in_range" => {
                let family = self.family(case)?;
                let (begin, end) = (optional_bytes(case, "begin")?, optional_bytes(case, "end")?);
                self.db()?
                    .delete_files_in_range(&family, begin.as_deref(), end.as_deref())
            }
            "delete_files_in_ranges" => self.delete_files_in_ranges(case),
            "clip" => {
                let family = self.family(case)?;
                let (begin, end) = (optional_bytes(case, "begin")?, optional_bytes(case, "end")?);
                let (begin, end) = (begin.unwrap_or_default(), end.unwrap_or_default());
                self.db()?.clip_column_family(&family, begin, end)
            }
            "lsm" => self.lsm(case, out),
            "check" => {
                out.push_str(&files::check(self.db()?)?);
                Ok(())
            }
            "approximate_sizes" => self.approximate_sizes(case, out),
            "memtable_stats" => self.memtable_stats(case, out),
            "files" => self.files(out),
            "blob_files" => self.blob_files(case, out),
            "create_cf" => self.create_family(case),
            "drop_cf" => {
                let name: String = required(case, "as")?;
                let family = self.named_family(&name)?;
                self.db()?.drop_column_family(&family)?;
                self.options.column_families.remove(&name);
                self.handles.insert(name, family);
                Ok(())
            }
            "cfs" => {
                let names = Db::list_column_families(&self.options, &self.path)?;
                out.push_str(&names.join(" "));
                Ok(())
            }
            "write_file" => self.write_file(case, out),
            "edit_file" => self.edit_file(case),
            "remove_files" => self.remove_files(case),
            "repair" => self.repair(case, out),
            "copy_table" => self.copy_table(case),
            "ingest" => self.ingest(case),
            "prepare" => self.prepare(case),
            "commit" | "abort" => self.end_ingestion(case),
            "export" => self.export(case),
            "import" => self.import(case),
            "checkpoint" => self.checkpoint(case),
            "list" => self.list(case, out),
            _ => self.command_of_control(case, out),
        }
    }

    /// The commands that control background work, and those that print reports.
    fn command_of_control(&mut self, case: &mut TestCase, out: &mut String) -> Result<()> {
        match case.directive.clone().as_str() {
            "hold" => {
                self.gate.close();
                Ok(())
            }
            "go" => {
                self.gate.open();
                self.settle(case)
            }
            "wait_held" => {
                self.gate.wait_for(required(case, "count")?);
                Ok(())
            }
            "let_one_pass" => {
                self.gate.let_one_pass();
                Ok(())
            }
            "advance" => self.advance(case),
            "history" => self.history(case, out),
            "verify_checksum" => self.db()?.verify_checksum_opt(&self.read_options(case)?),
            "set_options" | "set_db_options" => self.change_options(case),
            "enable_auto_compaction" => {
                let families = self.families(case)?;
                self.db()?.enable_auto_compaction(&families)?;
                self.settle(case)
            }
            "options" => self.print_options(case, out),
            "property" => self.property(case, out),
            "numbers" => self.numbers(case, out),
            "events" => self.events(case, out),
            "next_event" => self.next_event(case, out),
            "calls" => self.calls(case, out),
            "log" => self.log(case, out),
            "fault" => self.fault(case),
            "clear_faults" => {
                self.faults.clear_rules();
                Ok(())
            }
            "join" => {
                let name: String = required(case, "as")?;
                let thread = self.background.remove(&name);
                let thread = thread.ok_or_else(|| misuse(format!("nothing runs as {name}")))?;
                out.push_str(&thread.join().expect("a command does not panic"));
                Ok(())
            }
            "state" => {
                let name: String = required(case, "as")?;
                let thread = self.background.get(&name);
                let thread = thread.ok_or_else(|| misuse(format!("nothing runs as {name}")))?;
                out.push_str(if thread.is_finished() { "ended" } else { "waits" });
                Ok(())
            }
            other => {
                let unknown = || Err(misuse(format!("unknown command {other}")));
                self.call(case).unwrap_or_else(unknown)
            }
        }
    }

    /// Releases what is held under a name.
    fn release(&mut self, name: &str) -> Result<()> {
        let held = self.snapshots.remove(name).is_some() | self.iterators.remove(name).is_some();
        if held | self.handles.remove(name).is_some() | self.prepared.remove(name).is_some() {
            Ok(())
        } else {
            Err(misuse(format!("nothing is held as {name}")))
        }
    }

    fn create_family(&mut self, case: &mut TestCase) -> Result<()> {
        let name: String = required(case, "as")?;
        let mut options = self.options.column_family.clone();
        let settings = case.input.split_whitespace();
        for (name, value) in settings.filter_map(|setting| setting.split_once('=')) {
            settings::set_family(&mut options, name, value)?;
        }
        self.db()?.create_column_family(&name, &options)?;
        self.options.column_families.insert(name, options);
        Ok(())
    }
}
