//! The picture: one self-contained SVG. Callers are above the functions that they call; the width of a box is
//! the CPU time of the function and all its callees. A click widens a box to the whole width, a click on the
//! top row undoes that.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Group, Profile};

const WIDTH: f64 = 1_200.0;
const MARGIN: f64 = 10.0;
const ROW: f64 = 17.0;
/// The approximate width of a character in a box.
const LETTER: f64 = 6.6;
/// The narrowest box that is drawn.
const NARROWEST: f64 = 0.4;

/// A function called from one place, and its callees.
#[derive(Debug, Default)]
struct Node {
    /// Nanoseconds of the function and all its callees.
    nanos: f64,
    calls: BTreeMap<String, Node>,
}

impl Node {
    fn add(&mut self, stack: &[String], nanos: f64) {
        self.nanos += nanos;
        if let Some((first, rest)) = stack.split_first() {
            self.calls.entry(first.clone()).or_default().add(rest, nanos);
        }
    }

    /// The number of rows of the function and its callees that are drawn if a nanosecond has the width
    /// `scale`.
    fn rows(&self, scale: f64) -> usize {
        let calls = self.calls.values().filter(|call| call.nanos * scale >= NARROWEST);
        1 + calls.map(|call| call.rows(scale)).max().unwrap_or(0)
    }
}

/// Draws `profile`.
pub fn svg(profile: &Profile) -> String {
    let total = (profile.nanos() as f64).max(1.0);
    let scale = (WIDTH - 2.0 * MARGIN) / total;
    let groups: Vec<(Group, Node)> = profile
        .shares
        .iter()
        .map(|share| {
            let mut node = Node::default();
            for (stack, nanos) in &share.stacks {
                node.add(stack, *nanos);
            }
            (share.group, node)
        })
        .collect();
    let rows = 1 + groups.iter().map(|(_, node)| node.rows(scale)).max().unwrap_or(0);
    let lines = profile.lines();
    let top = MARGIN + (lines.len() + 1) as f64 * ROW;
    let height = top + rows as f64 * ROW + MARGIN;
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"11\">\n<title>CPU time of a run of db_bench\
         </title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fdfdfb\"/>\n"
    );
    for (at, line) in lines.iter().enumerate() {
        let y = MARGIN + (at as f64 + 0.8) * ROW;
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"{y:.1}\" xml:space=\"preserve\">{}</text>",
            escaped(line)
        );
    }
    let mut picture = Picture {
        out,
        scale,
        total,
        top,
    };
    picture.frame("all", MARGIN, 0, total, "#d8d8d2");
    let mut x = MARGIN;
    for (group, node) in &groups {
        picture.node(group.name(), node, *group, x, 1);
        x += node.nanos * scale;
    }
    picture.out.push_str(SCRIPT);
    picture.out.push_str("</svg>\n");
    picture.out
}

struct Picture {
    out: String,
    /// The width of a nanosecond.
    scale: f64,
    total: f64,
    top: f64,
}

impl Picture {
    fn node(&mut self, name: &str, node: &Node, group: Group, x: f64, depth: usize) {
        if node.nanos * self.scale < NARROWEST && depth > 1 {
            return;
        }
        self.frame(name, x, depth, node.nanos, &colour(group, name));
        let mut x = x;
        for (name, call) in &node.calls {
            self.node(name, call, group, x, depth + 1);
            x += call.nanos * self.scale;
        }
    }

    fn frame(&mut self, name: &str, x: f64, depth: usize, nanos: f64, colour: &str) {
        let (y, width) = (self.top + depth as f64 * ROW, nanos * self.scale);
        let shown = escaped(&shortened(name, width));
        let name = escaped(name);
        let _ = writeln!(
            self.out,
            "<g class=\"f\" data-depth=\"{depth}\" data-nanos=\"{nanos:.0}\"><title>{name}: {:.3} s, {:.2}%</title>\
             <rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{:.1}\" rx=\"1\" fill=\"{colour}\"/>\
             <text x=\"{:.2}\" y=\"{:.1}\">{}</text></g>",
            nanos / 1e9,
            nanos * 100.0 / self.total,
            ROW - 1.0,
            x + 3.0,
            y + 12.0,
            shown,
        );
    }
}

/// The part of `name` that fits, or an empty text if too little of it fits. A name that does not fit is
/// shortened to its end, its most informative part.
fn shortened(name: &str, width: f64) -> String {
    let fits = ((width - 6.0) / LETTER).max(0.0) as usize;
    let letters = name.chars().count();
    if letters <= fits {
        return name.to_owned();
    }
    if fits < 4 {
        return String::new();
    }
    let end: String = name.chars().skip(letters - fits + 1).collect();
    format!("…{end}")
}

/// The colour of the group, slightly different for each function.
fn colour(group: Group, name: &str) -> String {
    let hue = match group {
        Group::Foreground => 28,
        Group::Flush => 140,
        Group::Compaction => 210,
        Group::Deletion => 290,
        Group::Harness | Group::Ended => 55,
    };
    let hash = name.bytes().fold(0u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    let saturation = match group {
        Group::Harness | Group::Ended => 12,
        _ => 75,
    };
    format!("hsl({hue},{saturation}%,{}%)", 66 + hash % 14)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Widens the box that is clicked to the whole width.
const SCRIPT: &str = r#"<script><![CDATA[
const frames = [...document.querySelectorAll("g.f")].map(g => {
  const rect = g.querySelector("rect"), text = g.querySelector("text");
  const name = g.querySelector("title").textContent.replace(/: [0-9.]+ s, [0-9.]+%$/, "");
  return {g, rect, text, name, depth: +g.dataset.depth, x: +rect.getAttribute("x"), w: +rect.getAttribute("width")};
});
const left = frames[0].x, whole = frames[0].w;
function zoom(to) {
  const factor = whole / to.w;
  for (const f of frames) {
    const around = f.depth < to.depth && f.x <= to.x + 0.01 && f.x + f.w >= to.x + to.w - 0.01;
    const x = around ? left : left + (f.x - to.x) * factor, w = around ? whole : f.w * factor;
    const seen = around || (f.depth >= to.depth && x >= left - 0.01 && x + w <= left + whole + 0.01);
    f.g.style.display = seen ? "" : "none";
    f.g.style.opacity = around && f.depth > 0 ? 0.5 : 1;
    f.rect.setAttribute("x", x);
    f.rect.setAttribute("width", w);
    f.text.setAttribute("x", x + 3);
    const fits = Math.floor((w - 6) / 6.6);
    f.text.textContent = f.name.length <= fits ? f.name : fits < 4 ? "" : "…" + f.name.slice(f.name.length - fits + 1);
  }
}
for (const f of frames) f.g.addEventListener("click", () => zoom(f));
]]></script>
<style>g.f { cursor: pointer } g.f:hover rect { stroke: #333 } g.f text { pointer-events: none }</style>
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_to_their_boxes() {
        assert_eq!(shortened("esker::get", 200.0), "esker::get");
        assert_eq!(shortened("esker::get", 60.0), "…er::get");
        assert_eq!(shortened("esker::get", 20.0), "");
    }
}
