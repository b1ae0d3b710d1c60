//! Opens databases through the engine.

use std::path::Path;

use base::filename::FileKind;
use base::{Error, ErrorKind, Result};
use esker::{ColumnFamily, CompactionStyle, Db, Options, OptionsFile};

use crate::args::{Database, Reading};
use crate::directory;
use crate::log;

/// The maximum number of levels, whatever the database was written with.
const MOST_LEVELS: i32 = manifest::MAX_LEVELS as i32;

/// The value of the option `wal_dir`.
pub fn wal_dir(database: &Database) -> Result<String> {
    wal_dir_text(database.wal_dir.as_deref())
}

/// Returns the directory of WALs as [`wal_dir`] does, from the flag alone.
pub fn wal_dir_text(dir: Option<&Path>) -> Result<String> {
    let dir = dir.unwrap_or(Path::new(""));
    let text = dir
        .to_str()
        .ok_or_else(|| Error::invalid_argument("the path is not UTF-8").in_file(dir))?;
    Ok(text.to_owned())
}

/// A database open for reading only.
pub struct ReadOnly {
    pub db: Db,
    /// The corruption at which recovery stops, so that later rows are not visible.
    damage: Option<Error>,
}

impl ReadOnly {
    /// Must be called after the existing rows have been shown: an error if other rows may be lost.
    pub fn check(self) -> Result<()> {
        self.damage.map_or(Ok(()), Err)
    }
}

/// Opens a database for reading only.
pub fn read_only(database: &Database, reading: &Reading) -> Result<ReadOnly> {
    directory::check_is_database(&database.db)?;
    let mut options = Options {
        wal_dir: wal_dir(database)?,
        // A reader only sees committed rows.
        allow_2pc: true,
        ..Options::default()
    };
    match OptionsFile::newest(&directory::fs(), &database.db) {
        Ok(Some((_, file))) => {
            let stored = file.options().0;
            let families = std::iter::once(&stored.column_family).chain(stored.column_families.values());
            let most = families.map(|family| family.num_levels).max().unwrap_or(0);
            options.column_family.num_levels = most.clamp(options.column_family.num_levels, MOST_LEVELS);
        }
        _ => options.column_family.num_levels = MOST_LEVELS,
    }
    let db = match &reading.secondary_path {
        Some(own) => Db::open_as_secondary(&options, &database.db, own)?,
        None => Db::open_read_only(&options, &database.db)?,
    };
    let damage = match damage(database) {
        // A file that does not exist any more was replaced by the process that has the database open, which
        // has begun another MANIFEST or WAL.
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        result => result?,
    };
    Ok(ReadOnly { db, damage })
}

/// The first corruption in the current MANIFEST, or in a WAL whose rows may be in no table.
fn damage(database: &Database) -> Result<Option<Error>> {
    let manifest = directory::current_manifest(&database.db)?;
    let damage_of = |path: &Path, number| {
        Ok(log::check(&directory::open(path)?, number)?
            .damage
            .into_iter()
            .next())
    };
    if let Some(damage) = damage_of(&manifest, None)? {
        return Ok(Some(damage));
    }
    let state = directory::manifest_state(&manifest)?;
    let needed = state
        .families
        .values()
        .map(|family| family.log_number)
        .min()
        .unwrap_or(0);
    for file in directory::files(&database.db, database.wal_dir.as_deref())? {
        if let FileKind::Wal(number) = file.kind
            && number >= needed
            && let Some(damage) = damage_of(&file.path, Some(number))?
        {
            return Ok(Some(damage));
        }
    }
    Ok(None)
}

/// Opens a database for writing, with its last options.
pub fn writable(database: &Database, create_if_missing: bool) -> Result<Db> {
    let exists = directory::check_is_database(&database.db);
    let mut options = match (&exists, create_if_missing) {
        (Ok(()), _) => stored_options(&database.db)?,
        (Err(_), true) => Options::default(),
        (Err(error), false) => return Err(error.clone()),
    };
    options.create_if_missing = create_if_missing;
    options.wal_dir = wal_dir(database)?;
    Db::open(&options, &database.db)
}

fn stored_options(dir: &Path) -> Result<Options> {
    let Some((_, file)) = OptionsFile::newest(&directory::fs(), dir)? else {
        return Ok(Options::default());
    };
    let (mut options, unknown) = file.options();
    options.error_if_exists = false;
    options.create_missing_column_families = false;
    let families = Db::list_column_families(&Options::default(), dir)?;
    options.column_families.retain(|name, _| families.contains(name));
    // If the family's compaction style is unknown here, writing one row must not compact it in another style.
    if unknown.iter().any(|(_, name)| name == "compaction_style") {
        options.column_family.compaction_style = CompactionStyle::None;
        let others = options.column_families.values_mut();
        others.for_each(|family| family.compaction_style = CompactionStyle::None);
    }
    Ok(options)
}

/// The family called `name`, or the default one.
pub fn column_family(db: &Db, name: Option<&str>) -> Result<ColumnFamily> {
    let Some(name) = name else {
        return Ok(db.default_column_family());
    };
    db.column_family(name).ok_or_else(|| {
        let families = db.column_families();
        let names: Vec<&str> = families.iter().map(ColumnFamily::name).collect();
        Error::new(
            ErrorKind::NotFound,
            format!("no column family {name}; there are: {}", names.join(", ")),
        )
        .in_file(db.path())
    })
}
