//! Rates that rise and fall over a day: of mixgraph's operations, `--sine_mix_rate`, and of bytes written,
//! `--sine_write_rate`.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base::env::Rng;

use crate::flags::Flags;
use crate::schedule::Schedule;

/// A rate of `a sin(bx + c) + d` units a second, `x` in seconds since the start. The rate is that of the
/// whole run: in RocksDB's db_bench each thread replaces the rate of the others by its own. One rate applies
/// to all kinds of operations: with separate rates for reads and writes, as in RocksDB, a random surplus of
/// one kind would delay the other, although the engine was not slow.
#[derive(Debug)]
pub struct SineRate {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    noise: f64,
    interval: Duration,
    start: Instant,
    now: Mutex<Now>,
}

/// The schedule of an interval.
#[derive(Debug)]
struct Now {
    until: Instant,
    rng: Rng,
    schedule: Option<Arc<Schedule>>,
}

impl SineRate {
    /// Refuses rates that fall to 0.
    pub fn check(flags: &Flags) -> Result<(), String> {
        if !flags.sine_mix_rate {
            return Ok(());
        }
        above_zero(flags, "--sine_mix_rate", "operations")?;
        if !(0.0..=1.0).contains(&flags.sine_mix_rate_noise) {
            return Err("--sine_mix_rate_noise must be between 0 and 1".into());
        }
        if flags.sine_mix_rate_interval_milliseconds == 0 {
            return Err("--sine_mix_rate_interval_milliseconds must be at least 1".into());
        }
        if flags.benchmark_read_rate_limit > 0 || flags.benchmark_write_rate_limit > 0 {
            return Err(
                "--sine_mix_rate and --benchmark_read_rate_limit or --benchmark_write_rate_limit: not both"
                    .into(),
            );
        }
        Ok(())
    }

    /// Refuses rates of bytes that fall to 0.
    pub fn check_writes(flags: &Flags) -> Result<(), String> {
        above_zero(flags, "--sine_write_rate", "bytes")?;
        if flags.sine_write_rate_interval_milliseconds == 0 {
            return Err("--sine_write_rate_interval_milliseconds must be at least 1".into());
        }
        match flags.sine_mix_rate || flags.benchmark_write_rate_limit > 0 {
            true => {
                Err("--sine_write_rate and --sine_mix_rate or --benchmark_write_rate_limit: not both".into())
            }
            false => Ok(()),
        }
    }

    /// The rate of mixgraph's operations, if `flags` ask for one.
    pub fn new(flags: &Flags, seed: u64) -> Option<SineRate> {
        let interval = flags.sine_mix_rate_interval_milliseconds;
        flags
            .sine_mix_rate
            .then(|| SineRate::of(flags, interval, flags.sine_mix_rate_noise, seed))
    }

    /// The rate of bytes written, if `flags` ask for one.
    pub fn of_writes(flags: &Flags) -> Option<SineRate> {
        let interval = flags.sine_write_rate_interval_milliseconds;
        flags
            .sine_write_rate
            .then(|| SineRate::of(flags, interval, 0.0, 0))
    }

    fn of(flags: &Flags, milliseconds: u64, noise: f64, seed: u64) -> SineRate {
        let start = Instant::now();
        SineRate {
            a: flags.sine_a,
            b: flags.sine_b,
            c: flags.sine_c,
            d: flags.sine_d,
            noise,
            interval: Duration::from_millis(milliseconds),
            start,
            now: Mutex::new(Now {
                until: start,
                rng: Rng::with_seed(seed),
                schedule: None,
            }),
        }
    }

    /// The schedule of operations as of `time`.
    pub fn schedule(&self, time: Instant) -> Option<Arc<Schedule>> {
        let mut now = self.now.lock().expect("no thread panics in here");
        if time >= now.until {
            now.until = time + self.interval;
            let seconds = time.saturating_duration_since(self.start).as_secs_f64();
            let rate = self.rate(seconds, &mut now.rng).ceil() as u64;
            now.schedule = match &now.schedule {
                Some(before) => before.followed_by(rate),
                None => Schedule::new(rate),
            }
            .map(Arc::new);
        }
        now.schedule.clone()
    }

    /// The rate at that time, in operations a second.
    fn rate(&self, seconds: f64, rng: &mut Rng) -> f64 {
        let rate = self.a * (self.b * seconds + self.c).sin() + self.d;
        let noisy = rate + (rng.f64() - 0.5) * self.a.abs() * self.noise;
        if noisy > 0.0 { noisy } else { rate }
    }
}

fn above_zero(flags: &Flags, flag: &str, units: &str) -> Result<(), String> {
    if flags.sine_d > flags.sine_a.abs() {
        return Ok(());
    }
    Err(format!(
        "{flag}: the rate, {} sin({}x + {}) + {} {units} a second, falls to 0; --sine_d must be greater than --sine_a",
        flags.sine_a, flags.sine_b, flags.sine_c, flags.sine_d
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> Flags {
        Flags {
            sine_mix_rate: true,
            sine_a: 1_000.0,
            sine_b: 0.5,
            sine_d: 4_500.0,
            ..Flags::default()
        }
    }

    #[test]
    fn the_rate_follows_the_sine_and_the_noise_stays_in_its_band() {
        let plain = SineRate::new(&flags(), 1).unwrap();
        let mut rng = Rng::with_seed(1);
        let at = |rate: &SineRate, angle: f64, rng: &mut Rng| rate.rate(angle * 2.0, rng);
        assert!((at(&plain, 0.0, &mut rng) - 4_500.0).abs() < 1e-6);
        assert!((at(&plain, std::f64::consts::FRAC_PI_2, &mut rng) - 5_500.0).abs() < 1e-6);
        assert!((at(&plain, -std::f64::consts::FRAC_PI_2, &mut rng) - 3_500.0).abs() < 1e-6);
        let noisy = Flags {
            sine_mix_rate_noise: 0.5,
            ..flags()
        };
        let noisy = SineRate::new(&noisy, 1).unwrap();
        let rates: Vec<f64> = (0..1_000).map(|_| noisy.rate(0.0, &mut rng)).collect();
        assert!(rates.iter().all(|rate| (4_250.0..4_750.0).contains(rate)));
        assert!(rates.iter().any(|rate| *rate < 4_300.0) && rates.iter().any(|rate| *rate > 4_700.0));
    }

    #[test]
    fn threads_share_one_schedule_an_interval() {
        let rate = SineRate::new(&flags(), 1).unwrap();
        let start = rate.start;
        let schedule = |after: u64| rate.schedule(start + Duration::from_secs(after)).unwrap();
        let first = schedule(0);
        assert!(Arc::ptr_eq(&first, &schedule(9)));
        assert!(!Arc::ptr_eq(&first, &schedule(10)), "a new interval, a new rate");
    }

    #[test]
    fn rates_that_fall_to_nothing_are_refused() {
        SineRate::check(&flags()).unwrap();
        let refused = |change: fn(&mut Flags)| {
            let mut flags = flags();
            change(&mut flags);
            SineRate::check(&flags).unwrap_err()
        };
        assert!(refused(|flags| flags.sine_d = 1_000.0).contains("falls to 0"));
        assert!(refused(|flags| flags.sine_mix_rate_noise = 1.5).contains("between 0 and 1"));
        assert!(refused(|flags| flags.sine_mix_rate_interval_milliseconds = 0).contains("at least 1"));
        assert!(refused(|flags| flags.benchmark_read_rate_limit = 1).contains("not both"));
        let of_writes = Flags {
            sine_write_rate: true,
            sine_mix_rate: false,
            ..flags()
        };
        SineRate::check_writes(&of_writes).unwrap();
        assert!(SineRate::of_writes(&of_writes).is_some() && SineRate::of_writes(&flags()).is_none());
        for change in [
            |flags: &mut Flags| flags.sine_a = 5_000.0,
            |flags: &mut Flags| flags.sine_mix_rate = true,
            |flags: &mut Flags| flags.sine_write_rate_interval_milliseconds = 0,
        ] {
            let mut flags = of_writes.clone();
            change(&mut flags);
            assert!(SineRate::check_writes(&flags).is_err());
        }
    }
}
