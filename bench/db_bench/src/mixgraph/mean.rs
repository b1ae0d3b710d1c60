//! The mean of a distribution.

/// The number of points at which a distribution is evaluated.
const POINTS: u32 = 1 << 18;

/// The mean of `of` over probabilities between 0 and 1.
pub fn mean(of: impl Fn(f64) -> i64) -> f64 {
    let points = f64::from(POINTS);
    let sum: f64 = (0..POINTS)
        .map(|point| of((f64::from(point) + 0.5) / points) as f64)
        .sum();
    sum / points
}
