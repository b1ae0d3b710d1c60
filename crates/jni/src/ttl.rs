//! `org.rocksdb.TtlDB`: rows with a time to live.

use std::collections::BTreeMap;

use esker::{DbWithTtl, FamilyTtl, TtlOptions};

use crate::database::{check_all_named, default_alone, family_name, open_families, open_one};
use crate::env::{JByteArray, JByteArrays, JIntArray, JLongArray, JString};
use crate::fail::Fail;
use crate::frame::native;
use crate::handles;
use crate::objects::{Database, FamilyObject, Layer, database};
use crate::settings::Settings;

native!("TtlDB_open" "JLjava_lang_String_2IZ" fn(env, options: i64, dir: JString, ttl: i32, read_only: bool) -> i64 {
    open_one(&env, options, dir, |options, dir| {
        if !read_only {
            check_all_named(options, dir, &default_alone())?;
        }
        let ttl = TtlOptions {
            default: FamilyTtl::RocksDb(ttl),
            families: BTreeMap::new(),
            read_only,
        };
        let db = DbWithTtl::open_with(options, dir, &ttl)?;
        Ok(Database::with(db.db().clone(), Layer::Ttl(db)))
    })
});

native!("TtlDB_openCF" "JLjava_lang_String_2_3_3B_3J_3IZ" fn(
    env, options: i64, dir: JString, names: JByteArrays, family_options: JLongArray, times: JIntArray, read_only: bool
) -> JLongArray {
    let times = env.ints(times)?;
    open_families(&env, options, dir, (names, family_options), |options, dir, names| {
        if times.len() != names.len() {
            return Err(Fail::argument("each family needs its time to live"));
        }
        if !read_only {
            check_all_named(options, dir, names)?;
        }
        let families: BTreeMap<String, FamilyTtl> =
            names.iter().cloned().zip(times.iter().map(|ttl| FamilyTtl::RocksDb(*ttl))).collect();
        let ttl = TtlOptions {
            default: families.get(esker::DEFAULT_COLUMN_FAMILY).copied().unwrap_or(FamilyTtl::RocksDb(0)),
            families,
            read_only,
        };
        let db = DbWithTtl::open_with(options, dir, &ttl)?;
        Ok(Database::with(db.db().clone(), Layer::Ttl(db)))
    })
});

native!("TtlDB_createColumnFamilyWithTtl" "J_3BJI" fn(env, db: i64, name: JByteArray, options: i64, ttl: i32) -> i64 {
    let db = database(db)?;
    let Layer::Ttl(with_ttl) = &db.layer else {
        return Err(Fail::state("the database was opened without a time to live"));
    };
    let options = handles::get::<Settings>(options)?.look(|inner| inner.family())?;
    let name = family_name(env.whole(name)?.to_vec())?;
    let family = with_ttl.create_column_family(&name, &options, FamilyTtl::RocksDb(ttl))?;
    Ok(FamilyObject::insert(&db, family))
});

native!("TtlDB_closeDatabase" "J" fn(env, db: i64) { Ok(database(db)?.db.close()?) });
