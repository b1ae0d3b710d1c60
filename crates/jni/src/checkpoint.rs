//! `org.rocksdb.Checkpoint`.

use esker::{CheckpointOptions, Db};

use crate::database::ExportObject;
use crate::env::JString;
use crate::frame::native;
use crate::handles;
use crate::objects::{FamilyObject, database};

struct CheckpointObject(Db);

native!("Checkpoint_newCheckpoint" "J" fn(env, db: i64) -> i64 {
    Ok(handles::insert(CheckpointObject(database(db)?.db.clone())))
});

native!("Checkpoint_createCheckpoint" "JLjava_lang_String_2" fn(env, checkpoint: i64, dir: JString) {
    let dir = env.string(dir)?;
    handles::get::<CheckpointObject>(checkpoint)?.0.create_checkpoint(dir, &CheckpointOptions::default())?;
    Ok(())
});

native!("Checkpoint_exportColumnFamily" "JJLjava_lang_String_2" fn(
    env, checkpoint: i64, family: i64, dir: JString
) -> i64 {
    let db = handles::get::<CheckpointObject>(checkpoint)?.0.clone();
    let family = handles::get::<FamilyObject>(family)?;
    Ok(handles::insert(ExportObject(db.export_column_family(&family.0, env.string(dir)?)?)))
});
