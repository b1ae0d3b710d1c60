use crate::state::level_stats::*;

#[test]
fn numbers_are_short() {
    assert_eq!(
        [0, 1536, 5 << 20, 3 << 40].map(size),
        ["0.00 B", "1.50 KB", "5.00 MB", "3.00 TB"]
    );
    assert_eq!(
        [7, 9999, 876_543, 12_345_678, 10_000_000_000].map(count),
        ["7", "9999", "876K", "12M", "10G"]
    );
}

#[test]
fn totals_have_rocksdbs_lines() {
    let cmp = base::InternalComparator::new(base::UserComparator::Bytewise);
    let mut version = Version::empty(cmp, 7);
    let mut stats = FamilyStats::default();
    let ingested = IngestedStats {
        bytes: 3 << 30,
        files: 3,
        l0_files: 1,
        keys: 70,
    };
    stats.ingested(ingested);
    stats.begin_interval(Duration::from_secs(60));
    stats.ingested(ingested);
    stats.flushed(6 << 30, Duration::from_secs(4), Duration::from_secs(1));
    let totals = stats.totals(Duration::from_secs(90));
    assert_eq!(
        totals,
        "Uptime(secs): 90.0 total, 30.0 interval\n\
         Flush(GB): cumulative 6.000, interval 6.000\n\
         AddFile(GB): cumulative 6.000, interval 3.000\n\
         AddFile(Total Files): cumulative 6, interval 3\n\
         AddFile(L0 Files): cumulative 2, interval 1\n\
         AddFile(Keys): cumulative 140, interval 70\n\
         Cumulative compaction: 6.00 GB write, 68.27 MB/s write, 0.00 GB read, 0.00 MB/s read, 4.0 seconds\n\
         Interval compaction: 6.00 GB write, 204.80 MB/s write, 0.00 GB read, 0.00 MB/s read, 4.0 seconds\n"
    );
    // Write amplification counts the ingested files too.
    let table = stats.table("f", &version, &Scores::new(&version, &Default::default()));
    let row = table.lines().find(|line| line.starts_with(" Sum")).unwrap();
    assert_eq!(row.split_whitespace().nth(11), Some("0.5"), "{row}");
    let none = "\nBlob file count: 0, total size: 0.0 GB, garbage size: 0.0 GB, space amp: 0.0\n\n";
    assert!(table.ends_with(none), "{table}");
    let mut edit = manifest::VersionEdit::default();
    edit.blob_file_additions.push(manifest::BlobFileAddition {
        number: 7,
        total_blob_count: 8,
        total_blob_bytes: 8 << 30,
        ..Default::default()
    });
    edit.blob_file_garbages.push(manifest::BlobFileGarbage {
        number: 7,
        garbage_blob_count: 4,
        garbage_blob_bytes: 4 << 30,
        ..Default::default()
    });
    edit.new_files.push((
        1,
        std::sync::Arc::new(FileMetadata {
            number: 8,
            smallest: base::internal_key::encode(b"k", 1, base::Kind::Value).into(),
            largest: base::internal_key::encode(b"k", 1, base::Kind::Value).into(),
            oldest_blob_file_number: Some(7),
            ..FileMetadata::default()
        }),
    ));
    let mut builder = manifest::VersionBuilder::new(&version);
    builder.apply(&edit).unwrap();
    version = builder.build().unwrap();
    let line = "\nBlob file count: 1, total size: 8.0 GB, garbage size: 4.0 GB, space amp: 2.0\n\n";
    assert_eq!(blob_files(&version), line);
}

#[test]
fn stalls_stand_where_benchmark_scripts_look() {
    let mut stats = FamilyStats::default();
    for (count, cause) in [
        (1, StallCause::L0FileCountLimit),
        (2, StallCause::PendingCompactionBytes),
        (4, StallCause::MemtableLimit),
    ] {
        for _ in 0..count {
            stats.stalls.add(StallCondition::Delayed { cause }, 5);
            stats.stalls.add(StallCondition::Stopped { cause }, 5);
        }
    }
    let line = stats.stalls_by_position();
    let fields: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(fields[0], "Stalls(count):");
    let sum: u32 = [2, 6, 10, 14, 18, 20]
        .map(|field| fields[field - 1].parse::<u32>().unwrap())
        .iter()
        .sum();
    assert_eq!(sum, 14, "{line}");
    assert!(line.contains("interval 14 total count"), "{line}");
}

#[test]
fn columns_stand_where_rocksdbs_stand() {
    let cmp = base::InternalComparator::new(base::UserComparator::Bytewise);
    let version = Version::empty(cmp, 7);
    let mut stats = FamilyStats::default();
    let file = FileMetadata {
        size: 3 << 30,
        ..FileMetadata::default()
    };
    stats.flushed(file.size, Duration::from_secs(6), Duration::from_secs(5));
    stats.flushed(file.size, Duration::from_secs(2), Duration::from_secs(1));
    let table = stats.table("f", &version, &Scores::new(&version, &Default::default()));
    let row: Vec<&str> = table
        .lines()
        .find(|line| line.starts_with("  L0"))
        .unwrap()
        .split_whitespace()
        .collect();
    // The expected figures by column number, as awk counts: written, write amplification, seconds, CPU
    // seconds, jobs, seconds per job.
    let at = |column: usize| row[column - 1];
    assert_eq!(
        [9, 12, 15, 16, 17, 18].map(at),
        ["6.0", "1.0", "8.00", "6.00", "2", "4.000"]
    );
    assert!(table.contains("\n Sum      0/0       0.00 B   0.0 "), "{table}");
    // Flushes are of high priority. The interval is empty, because a dump was made just before.
    let jobs = |stats: &FamilyStats, name: &str| {
        let table = stats.table("f", &version, &Scores::new(&version, &Default::default()));
        let row = table.lines().find(|line| line.trim_start().starts_with(name));
        row.map(|row| row.split_whitespace().nth(16).unwrap().to_owned())
    };
    assert_eq!(jobs(&stats, "High").as_deref(), Some("2"));
    assert_eq!(jobs(&stats, "Low"), None);
    assert_eq!(jobs(&stats, "Int").as_deref(), Some("2"));
    stats.begin_interval(Duration::from_secs(10));
    assert_eq!(jobs(&stats, "Int").as_deref(), Some("0"));
    assert_eq!(jobs(&stats, "Sum").as_deref(), Some("2"));
    // Blobs count as written, and in a column of their own too.
    stats.flushed_blobs(3 << 30);
    stats.compacted_blobs(0, 1 << 30, 2 << 30);
    let table = stats.table("f", &version, &Scores::new(&version, &Default::default()));
    let row = table.lines().find(|line| line.starts_with("  L0")).unwrap();
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        (row[8], &row[row.len() - 2..]),
        ("11.0", &["1.0", "5.0"][..]),
        "{table}"
    );
}
