//! A database under load with its page: `cargo run -p esker-serve --example live -- DIR [SECONDS]`.

use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};

use esker::{ColumnFamilyOptions, Db, Options, Statistics};
use esker_serve::Page;
use esker_serve::http::Config;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let usage = || Error::new(ErrorKind::InvalidInput, "usage: live DIR [SECONDS]");
    let dir = args.next().ok_or_else(usage)?;
    let seconds = args.next().map_or(Ok(600), |seconds| seconds.parse())?;
    let mut options = Options {
        create_if_missing: true,
        statistics: Some(Statistics::new()),
        stats_dump_period_sec: 5,
        ..Options::default()
    };
    options.column_family = small();
    let db = Db::open(&options, &dir)?;
    let users = match db.column_family("users") {
        Some(users) => users,
        None => db.create_column_family("users", &small())?,
    };
    let page = Page::of_database(&db, Config::default())?;
    println!("{}", page.url());
    let snapshot = db.snapshot();
    let mut iterator = db.iter();
    iterator.seek_to_first();
    let mut rng = base::env::Rng::with_seed(1);
    let start = Instant::now();
    let mut round = 0u64;
    while start.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..500 {
            let key = format!("order/{:08}", rng.u32(..200_000));
            match rng.u32(..5) {
                0 => db.delete(key.as_bytes())?,
                _ => db.put(key.as_bytes(), vec![b'x'; rng.usize(50..400)])?,
            }
            let user = format!("user/{:06}", rng.u32(..20_000));
            db.put_cf(&users, user.as_bytes(), b"some data of a user")?;
        }
        // Four of five reads go to the first tenth of the orders, so that the page's colours by reads differ.
        for _ in 0..2_000 {
            let orders = if rng.u32(..5) == 0 { 200_000 } else { 20_000 };
            db.get(format!("order/{:08}", rng.u32(..orders)))?;
        }
        round += 1;
        if round == 20 {
            db.flush()?;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    drop((iterator, snapshot));
    drop(page);
    Ok(db.close()?)
}

/// Options with which a little load fills several levels.
fn small() -> ColumnFamilyOptions {
    ColumnFamilyOptions {
        write_buffer_size: 256 << 10,
        target_file_size_base: 128 << 10,
        max_bytes_for_level_base: 1 << 20,
        max_bytes_for_level_multiplier: 4.0,
        ..ColumnFamilyOptions::default()
    }
}
