//! OPTIONS files: options that Esker does not have are refused under strict options, and many families are written
//! at once.

use std::path::Path;
use std::sync::Arc;

use base::filename::{self, FileKind};
use esker::{CompactionFilter, CompactionFilterFactory, Db, ErrorKind, FilterContext, Options, OptionsFile};
use vfs::{FileSystem, MemFs};

const DIR: &str = "/db";

/// A file in RocksDB's form, with one option of each kind, some of them at their defaults.
const OF_THE_DATABASE: &str = "  use_fsync=true\n  verify_manifest_content_on_close=true\n  async_wal_precreate=false\n  paranoid_checks=true\n  \
                               max_manifest_space_amp_pct=100\n  enable_pipelined_write=true\n  an_option_of_tomorrow=7\n";
const OF_THE_FAMILY: &str =
    "  inplace_update_support=true\n  compaction_filter_factory=Ours\n  force_consistency_checks=true\n";

/// The options that strict options refuse, as written in the file.
const REFUSED: [&str; 6] = [
    "use_fsync=true",
    "verify_manifest_content_on_close=true",
    "max_manifest_space_amp_pct=100",
    "an_option_of_tomorrow=7",
    "inplace_update_support=true",
    "compaction_filter_factory=Ours",
];

fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        ..Options::default()
    }
}

fn options_file(fs: &MemFs) -> (std::path::PathBuf, String) {
    let names = fs.list(Path::new(DIR)).unwrap();
    let numbers = names.iter().filter_map(|name| match filename::parse(name) {
        Some(FileKind::Options(number)) => Some((number, name)),
        _ => None,
    });
    let path = Path::new(DIR).join(numbers.max().unwrap().1);
    let text = String::from_utf8(fs.read_file(&path).unwrap()).unwrap();
    (path, text)
}

fn write(fs: &MemFs, path: &Path, text: &str) {
    fs.write_file(path, text.as_bytes()).unwrap();
}

/// A database with one row, whose OPTIONS file is RocksDB's, with options that Esker does not have.
fn foreign() -> MemFs {
    let fs = MemFs::new();
    let db = Db::open(&options(&fs), DIR).unwrap();
    db.put(b"a", b"1").unwrap();
    db.close().unwrap();
    let (path, text) = options_file(&fs);
    let text = text
        .replace("[DBOptions]\n", &format!("[DBOptions]\n{OF_THE_DATABASE}"))
        .replace(
            "[CFOptions \"default\"]\n",
            &format!("[CFOptions \"default\"]\n{OF_THE_FAMILY}"),
        );
    write(&fs, &path, &text);
    fs
}

struct Keeps;

impl CompactionFilterFactory for Keeps {
    fn name(&self) -> &str {
        "Ours"
    }
    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        None
    }
}

#[test]
fn strict_options_refuse_what_makes_a_difference() {
    let fs = foreign();
    let mut options = options(&fs);
    options.strict_options_file = true;
    let (path, text) = options_file(&fs);
    for open in [Db::open, Db::open_read_only] {
        let error = open(&options, DIR).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
        assert_eq!(error.file(), Some(&*path));
        let refused = error.message().split("; ").count();
        assert_eq!(refused, REFUSED.len(), "{error}");
        for option in REFUSED {
            assert!(
                error.message().contains(&format!(" {option} ")),
                "{option}: {error}"
            );
        }
    }
    assert_eq!(
        options_file(&fs),
        (path.clone(), text.clone()),
        "nothing has changed"
    );
    // The caller's filter replaces the file's.
    options.column_family.compaction_filter_factory = Some(Arc::new(Keeps));
    let error = Db::open(&options, DIR).err().unwrap();
    assert!(!error.message().contains("compaction_filter_factory"), "{error}");
    // Options that only influence costs are not refused.
    let lines = REFUSED.map(|option| format!("  {option}\n"));
    let less = lines.iter().fold(text, |text, line| text.replace(line, ""));
    write(&fs, &path, &less);
    let db = Db::open(&options, DIR).unwrap();
    db.close().unwrap();
    assert_eq!(OptionsFile::parse(&less).unwrap().lost().len(), 1);
    // The options of an unreadable file are unknown.
    let path = options_file(&fs).0;
    write(&fs, &path, "[DBOptions]\n");
    assert!(Db::open(&options, DIR).err().unwrap().is_corruption());
    options.strict_options_file = false;
    Db::open(&options, DIR).unwrap().close().unwrap();
}

/// The number of the OPTIONS file.
fn number(fs: &MemFs) -> u64 {
    let path = options_file(fs).0;
    match filename::parse(&path.file_name().unwrap().to_string_lossy()) {
        Some(FileKind::Options(number)) => number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn many_families_are_created_with_one_file() {
    let fs = MemFs::new();
    let mut options = options(&fs);
    options.create_if_missing = true;
    let db = Db::open(&options, DIR).unwrap();
    let before = number(&fs);
    let names: Vec<String> = (0..100).map(|number| format!("family{number}")).collect();
    let of = &options.column_family;
    let families: Vec<_> = names.iter().map(|name| (&**name, of)).collect();
    let created = db.create_column_families(&families).unwrap();
    assert!(created.iter().map(|family| family.name()).eq(&names));
    assert_eq!(number(&fs), before + 1, "one file, and no other has had a number");
    // If the creation of several families fails, the families before the failed one exist, and are in the
    // OPTIONS file.
    let error = db
        .create_column_families(&[("more", of), ("family7", of), ("others", of)])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(db.column_family("more").is_some() && db.column_family("others").is_none());
    let text = options_file(&fs).1;
    assert!(text.contains("[CFOptions \"more\"]") && text.contains("[CFOptions \"family99\"]"));
    assert!(db.create_column_families(&[]).unwrap().is_empty());
    db.close().unwrap();
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(db.column_families().len(), 102);
}
