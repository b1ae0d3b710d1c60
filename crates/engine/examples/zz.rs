//! tmp
fn rss() -> String {
    let s = std::fs::read_to_string("/proc/self/status").unwrap();
    s.lines()
        .filter(|l| l.starts_with("RssAnon") || l.starts_with("RssFile"))
        .collect::<Vec<_>>()
        .join(" ")
}
fn main() {
    let cache = esker::Cache::lru(esker::CacheOptions {
        capacity: 8 << 20,
        ..Default::default()
    });
    let table = esker::BlockBasedOptions {
        filter_policy: esker::FilterPolicy::Bloom(10.0),
        block_cache: Some(cache),
        ..Default::default()
    };
    let column_family = esker::ColumnFamilyOptions {
        compression: esker::CompressionType::None,
        table,
        ..Default::default()
    };
    let options = esker::Options {
        column_family,
        ..Default::default()
    };
    println!("start {}", rss());
    let db = esker::Db::open(&options, std::path::Path::new("/dev/shm/pc")).unwrap();
    println!("open {}", rss());
    let family = db.default_column_family();
    let ro = esker::ReadOptions::default();
    let mut x = 88172645463325252u64;
    let mut found = 0;
    for i in 0..1_000_000u64 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        let mut key = [b'0'; 16];
        key[..8].copy_from_slice(&(x % 2_000_000).to_be_bytes());
        found += db.get_pinned(&ro, &family, &key).unwrap().is_some() as u64;
        if i == 10 || i == 100_000 {
            println!("{i} {}", rss());
        }
    }
    println!("{found} {}\n{}", rss(), db.memory());
    std::fs::copy("/proc/self/smaps", "/tmp/zz.smaps").unwrap();
}
