//! A wholesale supplier after the manner of TPC-C, at the serializable level: threads that take orders,
//! payments and deliveries, and the conditions that its books meet at the end.
//!
//! `cargo run -p esker-txn --example orders`
//!
//! ```text
//! w                    year to date
//! w/DISTRICT           year to date, next order
//! c/DISTRICT/CUSTOMER  balance
//! s/ITEM               quantity, ordered so far
//! o/DISTRICT/ORDER     customer, lines
//! l/DISTRICT/ORDER/N   item, quantity, amount
//! n/DISTRICT/ORDER     the order is not delivered yet
//! ```

use esker::{ColumnFamily, Db, ErrorKind, Options, ReadOptions, Result, WriteOptions};
use esker_txn::{
    IsolationLevel, OptimisticTransactionDB, OptimisticTransactionOptions, Transaction, TransactionDB,
    TransactionDBOptions, TransactionOptions,
};

const DISTRICTS: u64 = 2;
const CUSTOMERS: u64 = 5;
const ITEMS: u64 = 20;
const THREADS: u64 = 3;
const ROUNDS: u64 = 60;

/// Pseudo-random numbers, the same in each run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

/// The numbers of a row; empty if the row does not exist.
fn row(transaction: &Transaction, family: &ColumnFamily, key: &str) -> Result<Option<Vec<i64>>> {
    let value = transaction.get_cf(family, key.as_bytes())?;
    Ok(value.map(|value| numbers(&value)))
}

fn numbers(value: &[u8]) -> Vec<i64> {
    let text = String::from_utf8_lossy(value);
    text.split(' ').filter_map(|number| number.parse().ok()).collect()
}

fn set(transaction: &mut Transaction, family: &ColumnFamily, key: &str, row: &[i64]) -> Result<()> {
    transaction.put_cf(family, key.as_bytes(), text(row).as_bytes())
}

fn text(row: &[i64]) -> String {
    let numbers: Vec<String> = row.iter().map(i64::to_string).collect();
    numbers.join(" ")
}

/// The columns of a row that must exist.
fn columns<const N: usize>(row: Option<Vec<i64>>) -> [i64; N] {
    row.and_then(|row| row.try_into().ok())
        .expect("the row was filled in")
}

fn fill(db: &Db) -> Result<()> {
    db.put(b"w", b"0")?;
    for district in 0..DISTRICTS {
        db.put(format!("w/{district}").as_bytes(), b"0 1")?;
        for customer in 0..CUSTOMERS {
            db.put(format!("c/{district}/{customer}").as_bytes(), b"0")?;
        }
    }
    for item in 0..ITEMS {
        db.put(format!("s/{item:02}").as_bytes(), b"50 0")?;
    }
    Ok(())
}

/// A customer orders some items.
fn new_order(transaction: &mut Transaction, family: &ColumnFamily, draw: &mut Draw) -> Result<()> {
    let district = draw.below(DISTRICTS);
    let customer = draw.below(CUSTOMERS) as i64;
    let at = format!("w/{district}");
    let [paid, order] = columns(row(transaction, family, &at)?);
    set(transaction, family, &at, &[paid, order + 1])?;
    let lines = 1 + draw.below(4) as i64;
    for line in 0..lines {
        let (item, quantity) = (draw.below(ITEMS), 1 + draw.below(9) as i64);
        let stock = format!("s/{item:02}");
        let [left, ordered] = columns(row(transaction, family, &stock)?);
        let left = if left >= quantity + 10 {
            left - quantity
        } else {
            left - quantity + 91
        };
        set(transaction, family, &stock, &[left, ordered + quantity])?;
        let at = format!("l/{district}/{order:06}/{line}");
        set(transaction, family, &at, &[item as i64, quantity, quantity * 3])?;
    }
    set(
        transaction,
        family,
        &format!("o/{district}/{order:06}"),
        &[customer, lines],
    )?;
    set(transaction, family, &format!("n/{district}/{order:06}"), &[])
}

/// A customer pays.
fn payment(transaction: &mut Transaction, family: &ColumnFamily, draw: &mut Draw) -> Result<()> {
    let (district, customer) = (draw.below(DISTRICTS), draw.below(CUSTOMERS));
    let amount = 1 + draw.below(50) as i64;
    let [all] = columns(row(transaction, family, "w")?);
    set(transaction, family, "w", &[all + amount])?;
    let at = format!("w/{district}");
    let [paid, next] = columns(row(transaction, family, &at)?);
    set(transaction, family, &at, &[paid + amount, next])?;
    let at = format!("c/{district}/{customer}");
    let [balance] = columns(row(transaction, family, &at)?);
    set(transaction, family, &at, &[balance - amount])
}

/// The rows whose keys begin with `prefix`.
fn rows(transaction: &Transaction, family: &ColumnFamily, prefix: &str) -> Result<Vec<(String, Vec<i64>)>> {
    let mut found = Vec::new();
    let mut iter = transaction.scan(family, &ReadOptions::default())?;
    iter.seek(prefix.as_bytes());
    while iter.valid() && iter.key().starts_with(prefix.as_bytes()) {
        found.push((
            String::from_utf8_lossy(iter.key()).into_owned(),
            numbers(iter.value()),
        ));
        iter.next();
    }
    iter.status()?;
    Ok(found)
}

/// Delivers the oldest order of each district and charges its customer.
fn delivery(transaction: &mut Transaction, family: &ColumnFamily) -> Result<()> {
    for district in 0..DISTRICTS {
        let prefix = format!("n/{district}/");
        // The scan goes up to the first order and no further, so that later orders cause no conflict.
        let mut iter = transaction.scan(family, &ReadOptions::default())?;
        iter.seek(prefix.as_bytes());
        let first = iter
            .valid()
            .then(|| String::from_utf8_lossy(iter.key()).into_owned());
        iter.status()?;
        drop(iter);
        let Some(key) = first.filter(|key| key.starts_with(&prefix)) else {
            continue;
        };
        let order = &key[prefix.len()..];
        transaction.delete_cf(family, key.as_bytes())?;
        let [customer, _] = columns(row(transaction, family, &format!("o/{district}/{order}"))?);
        let lines = rows(transaction, family, &format!("l/{district}/{order}/"))?;
        let amount: i64 = lines.iter().map(|(_, line)| line[2]).sum();
        let at = format!("c/{district}/{customer}");
        let [balance] = columns(row(transaction, family, &at)?);
        set(transaction, family, &at, &[balance + amount])?;
    }
    Ok(())
}

/// Counts items of the last orders whose stock is low.
fn stock_level(transaction: &Transaction, family: &ColumnFamily, draw: &mut Draw) -> Result<usize> {
    let district = draw.below(DISTRICTS);
    let lines = rows(transaction, family, &format!("l/{district}/"))?;
    let mut short = 0;
    for (_, line) in lines.iter().rev().take(20) {
        let [left, _] = columns(row(transaction, family, &format!("s/{:02}", line[0]))?);
        short += usize::from(left < 15);
    }
    Ok(short)
}

/// Repeats one of the five kinds of transactions until it is committed. Returns the number of repetitions.
fn do_one(begin: &dyn Fn() -> Transaction, family: &ColumnFamily, seed: u64) -> Result<u64> {
    let mut again = 0;
    loop {
        let mut draw = Draw(seed);
        let mut transaction = begin();
        let done = match draw.below(100) {
            0..45 => new_order(&mut transaction, family, &mut draw),
            45..88 => payment(&mut transaction, family, &mut draw),
            88..94 => delivery(&mut transaction, family),
            _ => stock_level(&transaction, family, &mut draw).map(drop),
        };
        match done.and_then(|()| transaction.commit()) {
            Ok(()) => return Ok(again),
            Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::TimedOut) => again += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Checks the conditions that the books must meet. Returns the number of orders.
fn check(begin: &dyn Fn() -> Transaction, family: &ColumnFamily) -> Result<i64> {
    let books = begin();
    let [all] = columns(row(&books, family, "w")?);
    let (mut paid_in_all, mut orders_in_all) = (0, 0);
    for district in 0..DISTRICTS {
        let [paid, next] = columns(row(&books, family, &format!("w/{district}"))?);
        let orders = rows(&books, family, &format!("o/{district}/"))?;
        assert_eq!(orders.len() as i64, next - 1, "orders are numbered without a gap");
        let lines = rows(&books, family, &format!("l/{district}/"))?;
        let counted: i64 = orders.iter().map(|(_, order)| order[1]).sum();
        assert_eq!(lines.len() as i64, counted, "each order has its lines");
        let open = rows(&books, family, &format!("n/{district}/"))?;
        let is_open = |key: &str| {
            let order = &key[..key.rfind('/').unwrap_or(0)];
            open.iter().any(|(open, _)| open[1..] == order[1..])
        };
        let delivered = lines.iter().filter(|(key, _)| !is_open(key));
        let charged: i64 = delivered.map(|(_, line)| line[2]).sum();
        let customers = rows(&books, family, &format!("c/{district}/"))?;
        let balances: i64 = customers.iter().map(|(_, row)| row[0]).sum();
        assert_eq!(
            balances,
            charged - paid,
            "customers owe what was delivered and not paid"
        );
        paid_in_all += paid;
        orders_in_all += orders.len() as i64;
    }
    assert_eq!(all, paid_in_all, "the warehouse has what its districts have");
    let ordered: i64 = rows(&books, family, "s/")?.iter().map(|(_, row)| row[1]).sum();
    let of_lines: i64 = rows(&books, family, "l/")?.iter().map(|(_, row)| row[1]).sum();
    assert_eq!(ordered, of_lines, "stock knows each line");
    Ok(orders_in_all)
}

fn run(db: &Db, begin: &(dyn Fn() -> Transaction + Sync)) -> Result<(i64, u64)> {
    let family = db.default_column_family();
    fill(db)?;
    let again: u64 = std::thread::scope(|scope| {
        let work = |thread: u64| {
            let family = &family;
            move || -> Result<u64> {
                let seeds = (0..ROUNDS).map(|round| 1_000 * thread + round);
                seeds.map(|seed| do_one(begin, family, seed)).sum()
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(work(thread))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"))
            .sum::<Result<u64>>()
    })?;
    Ok((check(begin, &family)?, again))
}

fn main() -> Result<()> {
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let write = WriteOptions::default();
    let locked = TransactionDB::open(
        &options,
        &TransactionDBOptions::default(),
        dir.path().join("locks"),
    )?;
    let with_locks = TransactionOptions {
        isolation_level: IsolationLevel::Serializable,
        deadlock_detect: true,
        ..TransactionOptions::default()
    };
    let (orders, again) = run(locked.db(), &|| locked.begin_transaction(&write, &with_locks))?;
    println!("with locks: {orders} orders, {again} transactions done again");
    let optimistic = OptimisticTransactionDB::open(&options, dir.path().join("optimistic"))?;
    let without = OptimisticTransactionOptions {
        isolation_level: IsolationLevel::Serializable,
        ..OptimisticTransactionOptions::default()
    };
    let (orders, again) = run(optimistic.db(), &|| {
        optimistic.begin_transaction(&write, &without)
    })?;
    println!("without locks: {orders} orders, {again} transactions done again");
    Ok(())
}
