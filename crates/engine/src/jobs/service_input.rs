//! A compaction as it is passed to another process: RocksDB's `CompactionServiceInput`.

use base::Result;

use super::service_text::{TextReader, TextWriter, hexadecimal, list};

/// A compaction that another process is asked to run, on one key range of its inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompactionServiceInput {
    /// The name of the family.
    pub cf_name: String,
    /// The sequence numbers of the snapshots whose rows are kept.
    pub snapshots: Vec<u64>,
    /// The names of the input files, of all levels.
    pub input_files: Vec<String>,
    /// The level of the outputs.
    pub output_level: usize,
    /// The id of the database.
    pub db_id: String,
    /// The first user key of the range; `None`: no bound.
    pub begin: Option<Vec<u8>>,
    /// The first user key after the range; `None`: no bound.
    pub end: Option<Vec<u8>>,
    /// The number of the OPTIONS file.
    pub options_file_number: u64,
}

impl CompactionServiceInput {
    /// The job in RocksDB's form.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = TextWriter::default();
        text.bytes("cf_name", self.cf_name.as_bytes());
        text.write_field("snapshots", list(&self.snapshots));
        let files = self.input_files.iter().map(|file| hexadecimal(file.as_bytes()));
        text.write_field("input_files", list(files));
        text.write_field("output_level", self.output_level);
        text.bytes("db_id", self.db_id.as_bytes());
        text.write_field("has_begin", self.begin.is_some());
        text.bytes("begin", self.begin.as_deref().unwrap_or_default());
        text.write_field("has_end", self.end.is_some());
        text.bytes("end", self.end.as_deref().unwrap_or_default());
        text.write_field("options_file_number", self.options_file_number);
        text.encode()
    }

    /// Reads a job from RocksDB's form.
    ///
    /// # Errors
    /// `InvalidArgument` names the field that is missing or wrong; `NotSupported` for another version.
    pub fn decode(data: &[u8]) -> Result<CompactionServiceInput> {
        let text = TextReader::decode("Input", data)?;
        let bound = |has: &str, name: &str| match text.flag(has)? {
            true => text.bytes(name).map(Some),
            false => Ok(None),
        };
        Ok(CompactionServiceInput {
            cf_name: text.text("cf_name")?,
            snapshots: text.numbers("snapshots")?,
            input_files: text.texts("input_files")?,
            output_level: text.number("output_level")?,
            db_id: text.text("db_id")?,
            begin: bound("has_begin", "begin")?,
            end: bound("has_end", "end")?,
            options_file_number: text.number("options_file_number")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> CompactionServiceInput {
        CompactionServiceInput {
            cf_name: "default".to_owned(),
            snapshots: vec![7, 9],
            input_files: vec!["000004.sst".to_owned(), "000006.sst".to_owned()],
            output_level: 6,
            db_id: "id".to_owned(),
            begin: None,
            end: None,
            options_file_number: 12,
        }
    }

    #[test]
    fn a_job_has_rocksdb_s_words() {
        let encoded = input().encode();
        assert_eq!(encoded[..4], [1, 0, 0, 0]);
        let text = "cf_name=64656661756C74;snapshots=7:9;input_files=3030303030342E737374:3030303030362E737374;output_level=6;\
                    db_id=6964;has_begin=false;begin=;has_end=false;end=;options_file_number=12;";
        assert_eq!(String::from_utf8_lossy(&encoded[4..]), text);
    }

    #[test]
    fn a_job_is_read_as_it_was_written() {
        let whole = input();
        assert_eq!(CompactionServiceInput::decode(&whole.encode()).unwrap(), whole);
        let part = CompactionServiceInput {
            snapshots: Vec::new(),
            begin: Some(Vec::new()),
            end: Some(b"=;{}:".to_vec()),
            ..whole
        };
        assert_eq!(CompactionServiceInput::decode(&part.encode()).unwrap(), part);
    }

    /// Fields have any order in RocksDB's texts, and later releases add some.
    #[test]
    fn a_job_of_another_release_is_read() {
        let text = "options_file_number=12;later={a=1;b={c=2;};};end=;has_end=false;begin=61;has_begin=true;db_id=6964;\
                    output_level=6;input_files=3030303030342E737374;snapshots=;cf_name=64656661756C74;";
        let read = CompactionServiceInput::decode(&[&[1, 0, 0, 0], text.as_bytes()].concat()).unwrap();
        assert_eq!(read.input_files, ["000004.sst"]);
        assert_eq!((read.begin, read.end), (Some(b"a".to_vec()), None));
    }
}
