//! `idump`: every version of every key, with sequence number and type.

use std::io::Write;

use base::internal_key::encode;
use base::{Kind, UserComparator};

use crate::ldb::count::ByDelimiter;
use crate::ldb::line::{Line, unhex_if};
use crate::ldb::open;
use crate::ldb::outcome::Outcome;
use crate::output::Out;
use crate::rocksdb_text::{columns, hex_if, key, table};

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let hex = line.flag("input_key_hex");
    let bound = |name: &str| line.value(name).map(|text| unhex_if(hex, text)).transpose();
    let (from, to) = (bound("from")?, bound("to")?);
    let most = line.int("max_keys")?.unwrap_or(-1);
    let (key_hex, value_hex) = (line.key_hex()?, line.value_hex()?);
    let session = open::read_only(line)?;
    if line.flag("stats")
        && let Some(stats) = session.db.property(&session.family, "rocksdb.stats")
    {
        writeln!(out, "{stats}")?;
    }
    let order: UserComparator = session.family.comparator().clone();
    let limit = usize::try_from(most).ok().filter(|&most| most > 0);
    let versions = session.db.get_all_key_versions(
        &session.family,
        from.as_deref(),
        to.as_deref(),
        limit.unwrap_or(usize::MAX),
    )?;
    let mut groups = ByDelimiter::new(line);
    let mut count = 0;
    for version in &versions {
        count += 1;
        let internal = encode(&version.user_key, version.sequence, version.kind);
        if let Some(groups) = &mut groups {
            let ends = |byte: &u8| matches!(byte, 0 | 1);
            let len = |bytes: &[u8]| bytes.iter().position(ends).unwrap_or(bytes.len());
            let size = len(&internal) + len(&version.value);
            groups.add(&internal, size as u64, b"\0\x01", out)?;
        } else if !line.flag("count_only") {
            out.write_all(&key::internal_key(&internal, key_hex, Some(&order)))?;
            out.write_all(b" => ")?;
            out.write_all(&match version.kind {
                Kind::WideColumnEntity => columns::of_entity(&version.value, value_hex)?,
                Kind::BlobIndex if line.flag("decode_blob_index") => {
                    table::blob_index(&version.value, value_hex)?
                }
                _ => hex_if(value_hex, &version.value),
            })?;
            out.write_all(b"\n")?;
        }
    }
    match groups {
        Some(groups) => groups.print(out)?,
        None => writeln!(out, "Internal keys in range: {count}")?,
    }
    Ok(String::new())
}
