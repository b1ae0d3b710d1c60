//! What to compact and how entries are dropped on the way. Pure: decides, never touches a disk.
