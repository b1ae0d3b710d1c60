//! Plots as SVG: scales, axes, lines, areas. Colours are classes; the page's style sheet defines them.

use std::fmt::Write;

/// Width and height of every plot, in its own units; the page stretches it.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 236.0;
/// The margins around the plot area.
const LEFT: f64 = 54.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 28.0;

/// Escapes text between tags or in an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A number with three digits and a suffix for thousands, as `1.23M`.
pub fn short(value: f64) -> String {
    let size = value.abs();
    let (divisor, letter) = match size {
        _ if size >= 999.5e9 => (1e12, "T"),
        _ if size >= 999.5e6 => (1e9, "G"),
        _ if size >= 999.5e3 => (1e6, "M"),
        _ if size >= 9_999.5 => (1e3, "k"),
        _ => (1.0, ""),
    };
    format!("{}{letter}", digits(value / divisor))
}

/// At most three significant digits.
fn digits(value: f64) -> String {
    let size = value.abs();
    let places = match size {
        _ if size >= 99.95 || size == 0.0 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.995 => 2,
        _ => 3,
    };
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Microseconds in a suitable unit.
pub fn micros(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size >= 999.5e3 => format!("{} s", digits(value / 1e6)),
        _ if size >= 999.5 => format!("{} ms", digits(value / 1e3)),
        _ if size >= 0.9995 || size == 0.0 => format!("{} µs", digits(value)),
        _ => format!("{} ns", digits(value * 1e3)),
    }
}

/// Bytes in binary units.
pub fn bytes(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size >= 1_099_511_627_776.0 => format!("{} TiB", digits(value / 1_099_511_627_776.0)),
        _ if size >= 1_073_741_824.0 => format!("{} GiB", digits(value / 1_073_741_824.0)),
        _ if size >= 1_048_576.0 => format!("{} MiB", digits(value / 1_048_576.0)),
        _ if size >= 1_024.0 => format!("{} KiB", digits(value / 1_024.0)),
        _ => format!("{} B", digits(value)),
    }
}

/// Seconds on the time axis.
pub fn seconds(value: f64) -> String {
    format!("{} s", digits(value))
}

/// Maps values to positions between 0 and 1.
#[derive(Clone, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
    ticks: Vec<f64>,
}

impl Scale {
    /// Creates a scale from 0 to exactly `most`, for time.
    pub fn exact(most: f64) -> Scale {
        let mut scale = Scale::linear(most);
        scale.high = if most > 0.0 { most } else { 1.0 };
        scale.ticks.retain(|tick| *tick <= scale.high * 1.000_001);
        scale
    }

    /// Creates a scale from 0 to a round number that is at least `most`.
    pub fn linear(most: f64) -> Scale {
        let most = if most > 0.0 && most.is_finite() { most } else { 1.0 };
        let rough = most / 4.0;
        let unit = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * unit)
            .find(|step| *step >= rough * 0.999_999)
            .unwrap_or(10.0 * unit);
        let count = (most / step * 0.999_999).ceil().max(1.0) as usize;
        Scale {
            low: 0.0,
            high: step * count as f64,
            log: false,
            ticks: (0..=count).map(|at| at as f64 * step).collect(),
        }
    }

    /// Creates a logarithmic scale from a power of ten that is at most `least` to one that is at least
    /// `most`.
    pub fn log(least: f64, most: f64) -> Scale {
        let least = if least > 0.0 && least.is_finite() {
            least
        } else {
            1e-3
        };
        let most = if most.is_finite() { most.max(least) } else { least };
        let first = (least.log10() + 1e-9).floor() as i32;
        let last = ((most.log10() - 1e-9).ceil() as i32).max(first + 1);
        let every = ((last - first) as usize).div_ceil(7).max(1);
        Scale {
            low: f64::from(first),
            high: f64::from(last),
            log: true,
            ticks: (first..=last)
                .step_by(every)
                .map(|power| 10f64.powi(power))
                .collect(),
        }
    }

    fn at(&self, value: f64) -> f64 {
        let value = match self.log {
            true if value > 0.0 => value.log10(),
            true => self.low,
            false => value,
        };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// A plot under construction.
pub struct Plot {
    x: Scale,
    y: Scale,
    body: String,
    hits: String,
    label: String,
}

impl Plot {
    /// Makes a plot with the grid of `y`, whose values `unit` formats, and a time axis. `label` describes it
    /// for people who cannot see it.
    pub fn over_time(label: &str, x: Scale, y: Scale, unit: fn(f64) -> String) -> Plot {
        let mut plot = Plot::grid(label, x, y, unit);
        let ticks = plot.x.ticks.clone();
        let last = ticks.len().saturating_sub(1);
        for (at, tick) in ticks.iter().enumerate() {
            let anchor = if at == last && plot.x(*tick) > WIDTH - 30.0 {
                "end"
            } else {
                "middle"
            };
            plot.x_label(plot.x(*tick), &seconds(*tick), anchor);
        }
        plot
    }

    /// Makes a plot with names at even distances instead of time.
    pub fn over_names(label: &str, names: &[&str], y: Scale, unit: fn(f64) -> String) -> Plot {
        let x = Scale::exact(names.len().saturating_sub(1).max(1) as f64);
        let mut plot = Plot::grid(label, x, y, unit);
        for (at, name) in names.iter().enumerate() {
            let anchor = match at {
                0 => "start",
                _ if at + 1 == names.len() => "end",
                _ => "middle",
            };
            plot.x_label(plot.x(at as f64), name, anchor);
        }
        plot
    }

    fn grid(label: &str, x: Scale, y: Scale, unit: fn(f64) -> String) -> Plot {
        let mut plot = Plot {
            x,
            y,
            body: String::new(),
            hits: String::new(),
            label: label.to_owned(),
        };
        for (at, tick) in plot.y.ticks.clone().into_iter().enumerate() {
            let y = plot.y(tick);
            let class = if at == 0 { "axis" } else { "grid" };
            plot.push(format_args!(
                "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
                WIDTH - RIGHT
            ));
            plot.push(format_args!(
                "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 7.0,
                y + 3.8,
                escape(&unit(tick))
            ));
        }
        plot
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        self.body.write_fmt(text).expect("a string takes all");
    }

    fn x_label(&mut self, x: f64, text: &str, anchor: &str) {
        self.push(format_args!(
            "<text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{}</text>",
            HEIGHT - 9.0,
            escape(text)
        ));
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.at(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.at(value) * (HEIGHT - TOP - BOTTOM)
    }

    /// Draws a line through `points`, broken where a value is missing; a single point is drawn as a dot.
    pub fn line(&mut self, class: &str, points: &[(f64, Option<f64>)]) {
        let mut path = String::new();
        for run in points.split(|(_, value)| value.is_none()) {
            let places: Vec<(f64, f64)> = run
                .iter()
                .filter_map(|(x, value)| Some((self.x(*x), self.y((*value)?))))
                .collect();
            match places[..] {
                [] => {}
                [(x, y)] => self.push(format_args!(
                    "<circle class=\"dot {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>"
                )),
                _ => {
                    for (at, (x, y)) in places.iter().enumerate() {
                        let command = if at == 0 { 'M' } else { 'L' };
                        write!(path, "{command}{x:.1} {y:.1}").expect("a string takes all");
                    }
                }
            }
        }
        if !path.is_empty() {
            self.push(format_args!("<path class=\"line {class}\" d=\"{path}\"/>"));
        }
    }

    /// Fills the area between `low` and `high` at each x.
    pub fn area(&mut self, class: &str, points: &[(f64, f64, f64)]) {
        // A single point has no area, so it gets the whole width.
        let widened;
        let points = match points {
            [(_, low, high)] => {
                widened = [(0.0, *low, *high), (f64::MAX, *low, *high)];
                &widened[..]
            }
            points => points,
        };
        let mut path = String::new();
        let places = points
            .iter()
            .map(|(x, _, high)| (x, high))
            .chain(points.iter().rev().map(|(x, low, _)| (x, low)));
        for (at, (x, y)) in places.enumerate() {
            let command = if at == 0 { 'M' } else { 'L' };
            write!(path, "{command}{:.1} {:.1}", self.x(*x), self.y(*y)).expect("a string takes all");
        }
        if !path.is_empty() {
            self.push(format_args!("<path class=\"area {class}\" d=\"{path}Z\"/>"));
        }
    }

    /// Adds a tooltip for the pointer between `from` and `to`, about the values at `mark`: lines of `text`,
    /// the first of which is the heading.
    pub fn tip(&mut self, from: f64, to: f64, mark: f64, text: &str) {
        let (left, right, mark) = (self.x(from), self.x(to), self.x(mark));
        write!(
            self.hits,
            "<rect x=\"{left:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" data-x=\"{mark:.1}\" data-tip=\"{}\"/>",
            (right - left).max(0.5),
            HEIGHT - TOP - BOTTOM,
            escape(text)
        )
        .expect("a string takes all");
    }

    /// The finished element.
    pub fn finish(self) -> String {
        format!(
            "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">{}\
             <line class=\"cross\" y1=\"{TOP}\" y2=\"{}\"/><g class=\"hits\">{}</g></svg>",
            escape(&self.label),
            self.body,
            HEIGHT - BOTTOM,
            self.hits
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        let all = [
            0.0, 0.25, 1.0, 12.34, 999.0, 9_999.0, 10_000.0, 123_456.0, 999_999.0, 2.5e9, 3e13,
        ]
        .map(short);
        assert_eq!(
            all,
            [
                "0", "0.25", "1", "12.3", "999", "9999", "10k", "123k", "1M", "2.5G", "30T"
            ]
        );
        assert_eq!(
            [0.2, 7.0, 1_500.0, 2e6].map(micros),
            ["200 ns", "7 µs", "1.5 ms", "2 s"]
        );
        assert_eq!([12.0, 2_048.0, 5e6].map(bytes), ["12 B", "2 KiB", "4.77 MiB"]);
    }

    #[test]
    fn scales_are_round() {
        assert_eq!(Scale::linear(87.0).ticks, [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(Scale::linear(100.0).ticks, [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(Scale::exact(9.0).ticks, [0.0, 2.5, 5.0, 7.5]);
        assert_eq!(Scale::log(3.0, 700.0).ticks, [1.0, 10.0, 100.0, 1_000.0]);
        assert_eq!(Scale::log(10.0, 10.0).ticks, [10.0, 100.0]);
        assert_eq!(Scale::log(10.0, 1_000.0).at(100.0), 0.5);
        // The scale is valid even without data, or with invalid data.
        for scale in [
            Scale::linear(0.0),
            Scale::linear(f64::NAN),
            Scale::log(0.0, f64::INFINITY),
            Scale::exact(-1.0),
        ] {
            assert!(scale.high > scale.low && scale.ticks.len() < 12, "{scale:?}");
            assert!((0.0..=1.0).contains(&scale.at(1e9)));
        }
    }

    #[test]
    fn lines_break_where_values_are_missing() {
        let mut plot = Plot::over_time("x", Scale::exact(10.0), Scale::linear(10.0), short);
        let points = [(0.0, Some(1.0)), (1.0, Some(2.0)), (2.0, None), (3.0, Some(1.0))];
        plot.line("s0", &points);
        plot.tip(0.0, 1.0, 0.5, "a\n<b>");
        let svg = plot.finish();
        assert_eq!(svg.matches("<path").count(), 1);
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(svg.contains("&lt;b&gt;") && !svg.contains("<b>"));
    }
}
