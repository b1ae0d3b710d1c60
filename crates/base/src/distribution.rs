//! The distributions of RocksDB's mixgraph: ranks of keys and sizes of values, fitted to the traces of a
//! social graph (Cao and others, FAST 2020).

/// A power-law distribution: rank `x` has the probability `a x^b`, and rank 1 the highest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// The probability of rank 1.
    pub a: f64,
    /// The exponent.
    pub b: f64,
}

impl Power {
    /// The rank at `u` of the distribution, from 0 to 1; at least 1, except for `u` of 0.
    #[inline]
    pub fn rank(self, u: f64) -> u64 {
        (u / self.a).powf(1.0 / self.b).ceil() as u64
    }

    /// The probability of the ranks up to `rank`.
    pub fn up_to(self, rank: f64) -> f64 {
        let share = self.a * rank.powf(self.b);
        if self.b > 0.0 {
            share.min(1.0)
        } else {
            (1.0 - share).max(0.0)
        }
    }
}

/// A generalized Pareto distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// The location parameter of the Pareto distribution.
    pub theta: f64,
    /// The shape parameter of the Pareto distribution.
    pub k: f64,
    /// The scale parameter of the Pareto distribution.
    pub sigma: f64,
}

impl Pareto {
    /// The number that is exceeded with probability `u`, rounded up.
    #[inline]
    pub fn exceeded(self, u: f64) -> i64 {
        let number = if self.k == 0.0 {
            self.theta - self.sigma * u.ln()
        } else {
            self.theta + self.sigma * (u.powf(-self.k) - 1.0) / self.k
        };
        number.ceil() as i64
    }
}
