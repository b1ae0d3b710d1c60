//! Version edits and versions: what files a database consists of. Pure: edits in, version out.
