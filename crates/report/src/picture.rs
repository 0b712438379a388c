//! Lines over time, as PNG.
//!
//! There is no text in a picture: what its lines mean, and how high it reaches, stands beside it,
//! where a reader's own font, size and colours show it. The ground is transparent, and each colour
//! has a contrast of 3 to 1 or more to white and to the dark of mail readers.

use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, Transform};

/// Pixels. It is shown at half of that, so that it is sharp on a phone.
pub const WIDTH: u32 = 1_200;
pub const HEIGHT: u32 = 300;
/// Bytes of a picture at the most. Lines of [`WIDTH`] points take less.
pub const MOST_BYTES: usize = 96 << 10;
/// Values of a line at the most.
pub const POINTS: usize = WIDTH as usize / 8;
/// Lines across, the lowest and the highest among them.
const ACROSS: u32 = 5;
const MARGIN: f32 = 6.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Blue,
    Orange,
}

impl Colour {
    pub fn rgb(self) -> [u8; 3] {
        match self {
            Colour::Blue => [0x3b, 0x82, 0xf6],
            Colour::Orange => [0xea, 0x58, 0x0c],
        }
    }
}

/// Values at even distances over the whole width.
#[derive(Clone, Debug)]
pub struct Line {
    pub colour: Colour,
    /// At most [`POINTS`] are drawn; `None` where nothing is known: the line has a gap there.
    pub values: Vec<Option<f64>>,
    /// Whether what is below it is filled.
    pub filled: bool,
}

/// Draws lines from 0 to `top`, with a line down at the beginning of each of `spans` equal parts
/// of the time. `None`: there is no memory for it, or it came out too large.
pub fn draw(lines: &[Line], top: f64, spans: u32) -> Option<Vec<u8>> {
    let mut map = Pixmap::new(WIDTH, HEIGHT)?;
    let (width, height) = (WIDTH as f32, HEIGHT as f32);
    let place = |part: f32| MARGIN + (1.0 - part) * (height - 2.0 * MARGIN);
    for nth in 0..ACROSS {
        let y = place(nth as f32 / (ACROSS - 1) as f32);
        let strong = if nth == 0 { 0xc0 } else { 0x60 };
        stroke(&mut map, &straight((0.0, y), (width, y))?, [0x80; 3], strong, 2.0);
    }
    for nth in 1..spans {
        let x = width * nth as f32 / spans as f32;
        stroke(&mut map, &straight((x, place(0.0)), (x, place(1.0)))?, [0x80; 3], 0x30, 2.0);
    }
    for line in lines {
        let known = |value: &Option<f64>| value.filter(|value| value.is_finite());
        let values: Vec<Option<f64>> = line.values.iter().take(POINTS).map(known).collect();
        let count = values.len();
        let x = |nth: usize| width * (nth as f32 + 0.5) / count as f32;
        let y = |value: f64| place(if top > 0.0 { (value / top).clamp(0.0, 1.0) as f32 } else { 0.0 });
        for run in runs(&values) {
            let points: Vec<(f32, f32)> = run.map(|(nth, value)| (x(nth), y(value))).collect();
            draw_run(&mut map, line, &points, place(0.0));
        }
    }
    map.encode_png().ok().filter(|png| png.len() <= MOST_BYTES)
}

/// Stretches of values that are known, one after the other.
fn runs(values: &[Option<f64>]) -> impl Iterator<Item = impl Iterator<Item = (usize, f64)> + '_> {
    let stretches = values.chunk_by(|a, b| a.is_some() == b.is_some());
    let placed = stretches.scan(0, |next, stretch| {
        let first = *next;
        *next += stretch.len();
        Some((first, stretch))
    });
    let known = placed.filter(|(_, stretch)| stretch[0].is_some());
    known.map(|(first, stretch)| (first..).zip(stretch.iter().flatten().copied()))
}

fn draw_run(map: &mut Pixmap, line: &Line, points: &[(f32, f32)], floor: f32) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let rgb = line.colour.rgb();
    let mut along = PathBuilder::new();
    along.move_to(first.0, first.1);
    points[1..].iter().for_each(|(x, y)| along.line_to(*x, *y));
    if points.len() == 1 {
        // A line of no length has no ends to be seen.
        along.line_to(first.0 + 0.1, first.1);
    }
    if line.filled && points.len() > 1 {
        let mut below = along.clone();
        below.line_to(last.0, floor);
        below.line_to(first.0, floor);
        below.close();
        if let Some(below) = below.finish() {
            map.fill_path(&below, &paint(rgb, 0x38), FillRule::Winding, Transform::identity(), None);
        }
    }
    if let Some(along) = along.finish() {
        stroke(map, &along, rgb, 0xff, 5.0);
    }
}

fn straight(from: (f32, f32), to: (f32, f32)) -> Option<Path> {
    let mut path = PathBuilder::new();
    path.move_to(from.0, from.1);
    path.line_to(to.0, to.1);
    path.finish()
}

fn paint([red, green, blue]: [u8; 3], alpha: u8) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(Color::from_rgba8(red, green, blue, alpha));
    paint
}

fn stroke(map: &mut Pixmap, path: &Path, rgb: [u8; 3], alpha: u8, width: f32) {
    let stroke = Stroke { width, line_cap: LineCap::Round, line_join: LineJoin::Round, ..Stroke::default() };
    map.stroke_path(path, &paint(rgb, alpha), &stroke, Transform::identity(), None);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: Vec<Option<f64>>) -> Line {
        Line { colour: Colour::Blue, values, filled: false }
    }

    fn drawn(lines: &[Line], top: f64) -> Pixmap {
        Pixmap::decode_png(&draw(lines, top, 7).expect("drawn")).expect("a PNG")
    }

    /// Whether a pixel has the colour of a line.
    fn is_blue(map: &Pixmap, x: u32, y: u32) -> bool {
        let pixel = map.pixel(x, y).expect("inside").demultiply();
        [pixel.red(), pixel.green(), pixel.blue()] == Colour::Blue.rgb() && pixel.alpha() == 0xff
    }

    #[test]
    fn a_line_stands_where_its_values_say_and_has_a_gap_where_there_is_none() {
        let mut values = vec![Some(50.0); 100];
        values[40..60].fill(None);
        let map = drawn(&[line(values)], 100.0);
        let middle = HEIGHT / 2;
        assert!(is_blue(&map, 100, middle) && is_blue(&map, 1_100, middle));
        assert!(!is_blue(&map, 600, middle) && !is_blue(&map, 100, middle + 20));
        // One value alone is a dot.
        let mut one = vec![None; 100];
        one[50] = Some(100.0);
        assert!(is_blue(&drawn(&[line(one)], 100.0), 606, MARGIN as u32));
    }

    #[test]
    fn no_values_make_a_picture_too_large_or_none_at_all() {
        let wild = |seed: usize| (0..5_000).map(|n| Some(((n * 7_919 + seed) % 101) as f64)).collect();
        let line = |values| Line { filled: true, ..line(values) };
        let png = draw(&[line(wild(1)), line(wild(50))], 100.0, 28).expect("drawn");
        assert!(png.len() <= MOST_BYTES, "{}", png.len());
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300].map(Some).to_vec();
        for top in [0.0, 1.0, f64::NAN, f64::INFINITY] {
            assert!(draw(&[line(odd.clone())], top, 7).is_some(), "{top}");
        }
        assert!(draw(&[], 0.0, 0).is_some());
    }

    #[test]
    fn each_colour_can_be_seen_on_white_and_on_black() {
        let luminance = |[red, green, blue]: [u8; 3]| {
            let linear = |part: u8| match f64::from(part) / 255.0 {
                part if part <= 0.03928 => part / 12.92,
                part => ((part + 0.055) / 1.055).powf(2.4),
            };
            0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
        };
        let contrast = |a: [u8; 3], b: [u8; 3]| {
            let (a, b) = (luminance(a), luminance(b));
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        for colour in [Colour::Blue, Colour::Orange] {
            for ground in [[0xff; 3], [0x00; 3], [0x20; 3]] {
                assert!(contrast(colour.rgb(), ground) >= 3.0, "{colour:?} {ground:?}");
            }
        }
    }
}
