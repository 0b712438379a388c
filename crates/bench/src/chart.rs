//! One drawing for each part: a row for each measurement, on the left bars of rates, on the right
//! latencies.
//!
//! Rates of different rows have different units, so each row is scaled to its fastest; the bar
//! carries its figure. Latencies share one logarithmic axis: a line from p50 (dot) over p99
//! (stroke) to p99.9 (stroke).

use std::fmt::Write;

use crate::results::{Results, Row};

/// Widths and heights in pixels.
const NAMES: f64 = 265.0;
const BARS: f64 = 330.0;
const FIGURES: f64 = 62.0;
const LATENCIES: f64 = 330.0;
const MARGIN: f64 = 16.0;
const HEAD: f64 = 78.0;
const BAR: f64 = 12.0;
const GAP: f64 = 12.0;
const AXIS: f64 = 34.0;

/// Ours, then the peers: apart also in print and for the colour-blind (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#e69f00", "#999999", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];

/// `None`: there is nothing to compare.
pub fn draw(results: &Results) -> Option<String> {
    let names = results.contenders();
    if names.len() < 2 || results.rows.len() < 2 {
        return None;
    }
    let row_height = names.len() as f64 * BAR + GAP;
    let bottom = HEAD + results.rows.len() as f64 * row_height;
    let (width, height) = (3.0 * MARGIN + NAMES + BARS + FIGURES + LATENCIES, bottom + AXIS);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\">\n<title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n",
        title = escape(&results.title),
    );
    heading(&mut svg, results, &names);
    let axis = Axis::over(results)?;
    axis.draw(&mut svg, bottom);
    for (i, row) in results.rows.iter().enumerate() {
        draw_row(&mut svg, row, &names, &axis, HEAD + i as f64 * row_height);
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn text(svg: &mut String, x: f64, y: f64, attributes: &str, words: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{}</text>", escape(words));
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
    );
}

fn heading(svg: &mut String, results: &Results, names: &[&str]) {
    text(svg, MARGIN, 24.0, "font-size=\"16\" font-weight=\"600\"", &results.title);
    let mut x = MARGIN;
    for (name, colour) in names.iter().zip(COLOURS) {
        let _ = writeln!(svg, "<rect x=\"{x:.1}\" y=\"36\" width=\"12\" height=\"12\" fill=\"{colour}\"/>");
        text(svg, x + 17.0, 46.0, "", name);
        x += 40.0 + 6.6 * name.len() as f64;
    }
    let grey = "fill=\"#666\"";
    text(svg, MARGIN + NAMES, HEAD - 10.0, grey, "rate, longer is better");
    let right = MARGIN + NAMES + BARS + FIGURES;
    text(svg, right, HEAD - 10.0, grey, "latency, further left is better: p50 ●, p99 and p99.9 |");
}

fn draw_row(svg: &mut String, row: &Row, names: &[&str], axis: &Axis, top: f64) {
    let middle = top + (names.len() as f64 * BAR) / 2.0 + 4.0;
    text(svg, MARGIN, middle, "", &row.name);
    let rates = names.iter().filter_map(|name| Some(row.cell(name)?.rate));
    let fastest = rates.fold(f64::MIN_POSITIVE, f64::max);
    for (i, (name, colour)) in names.iter().zip(COLOURS).enumerate() {
        let y = top + i as f64 * BAR;
        let left = MARGIN + NAMES;
        let Some(cell) = row.cell(name) else {
            text(svg, left, y + BAR - 2.5, "font-size=\"10\" fill=\"#666\"", "failed");
            continue;
        };
        let length = (BARS * cell.rate / fastest).max(1.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{:.1}\" width=\"{length:.1}\" height=\"{}\" fill=\"{colour}\"/>",
            y + 1.0,
            BAR - 2.0,
        );
        let figure = format!("{:.0} {}", cell.rate, row.unit);
        text(svg, left + length + 4.0, y + BAR - 2.5, "font-size=\"10\"", &figure);
        let (at, y) = (cell.latencies.map(|micros| axis.x(micros)), y + BAR / 2.0);
        line(svg, (at[0], y), (at[2], y), colour, 2.0);
        let _ = writeln!(svg, "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>", at[0]);
        for x in [at[1], at[2]] {
            line(svg, (x, y - 4.0), (x, y + 4.0), colour, 2.0);
        }
    }
}

/// Powers of ten of a microsecond, `from` to `to`.
struct Axis {
    from: i32,
    to: i32,
}

impl Axis {
    /// `None`: nothing was measured.
    fn over(results: &Results) -> Option<Axis> {
        let cells =
            results.rows.iter().flat_map(|row| row.cells.iter().filter_map(|(_, cell)| cell.as_ref()));
        let all: Vec<f64> = cells.flat_map(|cell| cell.latencies).filter(|micros| *micros > 0.0).collect();
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(0.0, f64::max);
        let from = (!all.is_empty()).then(|| low.log10().floor() as i32)?;
        Some(Axis { from, to: (high.log10().ceil() as i32).max(from + 1) })
    }

    fn x(&self, micros: f64) -> f64 {
        let share = (micros.max(1e-3).log10() - f64::from(self.from)) / f64::from(self.to - self.from);
        MARGIN + NAMES + BARS + FIGURES + LATENCIES * share.clamp(0.0, 1.0)
    }

    fn draw(&self, svg: &mut String, bottom: f64) {
        for power in self.from..=self.to {
            let micros = 10f64.powi(power);
            let x = self.x(micros);
            line(svg, (x, HEAD - 4.0), (x, bottom), "#ddd", 1.0);
            let shown = match power {
                ..3 => format!("{micros} µs"),
                3..6 => format!("{} ms", micros / 1e3),
                _ => format!("{} s", micros / 1e6),
            };
            text(svg, x, bottom + 16.0, "text-anchor=\"middle\" fill=\"#666\"", &shown);
        }
    }
}
