//! Pictures of numbers: SVG from the server, which prints, needs no script and can be read aloud.

use std::fmt::Write as _;

use crate::text::{Markup, count, escaped};

/// One column of a histogram.
#[derive(Debug, Clone, Default)]
pub(crate) struct Column {
    /// What it stands for: an hour, a day.
    pub(crate) label: String,
    /// Where it leads, such as the same page for this time alone.
    pub(crate) href: Option<String>,
    pub(crate) is_chosen: bool,
    /// From the bottom up: a class of style.css (`good`, `bad`, `calm`, `warm`, `s1` to `s6`), its name, its size.
    pub(crate) parts: Vec<(&'static str, String, u64)>,
}

const WIDTH: f64 = 1000.0;

/// Stacked columns over the whole width.
pub(crate) fn columns(name: &str, height: f64, columns: &[Column]) -> Markup {
    columns_in(name, height, columns, count)
}

/// The same, of sizes that are written in another way, such as money.
#[expect(clippy::cast_precision_loss, reason = "pixels are coarser")]
pub(crate) fn columns_in(
    name: &str,
    height: f64,
    columns: &[Column],
    write: fn(u64) -> String,
) -> Markup {
    let total = |column: &Column| column.parts.iter().map(|(_, _, size)| size).sum::<u64>();
    let highest = columns.iter().map(total).max().unwrap_or_default().max(1);
    let step = WIDTH / columns.len().max(1) as f64;
    let gap = (step * 0.15).min(3.0);
    let mut svg = format!(
        "<svg class=\"columns\" viewBox=\"0 0 {WIDTH} {height}\" preserveAspectRatio=\"none\" \
         role=\"img\" aria-label=\"{}\">",
        escaped(name)
    );
    for (place, column) in columns.iter().enumerate() {
        let left = place as f64 * step;
        let mut title = column.label.clone();
        for (_, part, size) in &column.parts {
            let _ = write!(title, "\n{part}: {}", write(*size));
        }
        if let Some(href) = &column.href {
            let _ = write!(
                svg,
                "<a href=\"{}\" aria-label=\"{}\">",
                escaped(href),
                escaped(&title)
            );
        }
        let chosen = if column.is_chosen { " chosen" } else { "" };
        let _ = write!(
            svg,
            "<g class=\"column{chosen}\"><title>{}</title>\
             <rect class=\"behind\" x=\"{left:.2}\" y=\"0\" width=\"{step:.2}\" height=\"{height}\"/>",
            escaped(&title)
        );
        let mut bottom = height;
        for (class, _, size) in &column.parts {
            let tall = *size as f64 / highest as f64 * height;
            // What is there at all can be seen.
            let tall = if *size > 0 { tall.max(1.0) } else { 0.0 };
            bottom -= tall;
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{:.2}\" y=\"{bottom:.2}\" width=\"{:.2}\" height=\"{tall:.2}\"/>",
                left + gap / 2.0,
                step - gap
            );
        }
        svg.push_str("</g>");
        if column.href.is_some() {
            svg.push_str("</a>");
        }
    }
    svg.push_str("</svg>");
    Markup(svg)
}

/// A small line without axes.
#[expect(clippy::cast_precision_loss, reason = "pixels are coarser")]
pub(crate) fn spark(name: &str, values: &[u64]) -> Markup {
    let highest = values.iter().copied().max().unwrap_or_default().max(1) as f64;
    let step = 100.0 / values.len().saturating_sub(1).max(1) as f64;
    let points = values.iter().enumerate().map(|(place, value)| {
        format!(
            "{:.1},{:.1}",
            place as f64 * step,
            23.0 - *value as f64 / highest * 22.0
        )
    });
    let points = points.collect::<Vec<_>>().join(" ");
    Markup(format!(
        "<svg class=\"spark\" viewBox=\"0 0 100 24\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{}\"><polyline points=\"{points}\"/></svg>",
        escaped(name)
    ))
}

/// A bar of parts of a whole: class, name, size. What is missing stays empty.
#[expect(clippy::cast_precision_loss, reason = "pixels are coarser")]
pub(crate) fn bar(name: &str, whole: u64, parts: &[(&'static str, &str, u64)]) -> Markup {
    let mut told = name.to_owned();
    let mut svg = String::new();
    let mut left = 0.0;
    for (class, part, size) in parts {
        let wide = *size as f64 * 100.0 / whole.max(1) as f64;
        let _ = write!(told, ", {part}: {}", count(*size));
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{left:.2}\" y=\"0\" width=\"{wide:.2}\" height=\"8\"/>"
        );
        left += wide;
    }
    let told = escaped(&told);
    Markup(format!(
        "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{told}\"><title>{told}</title>\
         <rect class=\"behind\" x=\"0\" y=\"0\" width=\"100\" height=\"8\"/>{svg}</svg>"
    ))
}
