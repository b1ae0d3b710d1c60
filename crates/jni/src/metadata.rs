//! Metadata of tables, as objects of Java.

use std::path::Path;

use jni_sys::jvalue;

use crate::env::JObjects;
use crate::frame::native;
use crate::objects::database;

native!("RocksDB_getLiveFilesMetaData" "J" fn(env, db: i64) -> JObjects {
    let files = database(db)?.db.live_files();
    let class = env.class("org/rocksdb/LiveFileMetaData")?;
    let signature = "([BILjava/lang/String;Ljava/lang/String;JJJ[B[BJZJJ[B)V";
    let constructor = env.method(class, "<init>", signature)?;
    let array = env.object_array("org/rocksdb/LiveFileMetaData", files.len())?;
    for (at, file) in files.iter().enumerate() {
        let directory = file.path.parent().unwrap_or(Path::new("")).display().to_string();
        let family = env.byte_array(file.column_family.as_bytes())?;
        let name = env.new_string(&format!("/{:06}.sst", file.number))?;
        let path = env.new_string(&directory)?;
        let (smallest, largest) = (env.byte_array(&file.smallest_key)?, env.byte_array(&file.largest_key)?);
        let checksum = env.byte_array(&file.file_checksum)?;
        let arguments = [
            jvalue { l: family.0 },
            jvalue { i: file.level as i32 },
            jvalue { l: name.0 },
            jvalue { l: path.0 },
            jvalue { j: file.size as i64 },
            jvalue { j: file.smallest_seqno as i64 },
            jvalue { j: file.largest_seqno as i64 },
            jvalue { l: smallest.0 },
            jvalue { l: largest.0 },
            jvalue { j: 0 },
            jvalue { z: file.being_compacted },
            jvalue { j: file.num_entries as i64 },
            jvalue { j: file.num_deletions as i64 },
            jvalue { l: checksum.0 },
        ];
        let object = env.construct(class, constructor, &arguments)?;
        env.set_element(array, at, object)?;
        for made in [family.0, name.0, path.0, smallest.0, largest.0, checksum.0, object] {
            env.forget(made);
        }
    }
    Ok(JObjects(array))
});
