//! Charts as SVG: they need no script, print well and work with screen readers.

use std::fmt::Write as _;

use crate::text::{Markup, count, escape_html};

/// One column of a column chart.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChartColumn {
    /// The hour or day that it shows.
    pub(crate) label: String,
    /// The link target, such as the same page filtered to this hour.
    pub(crate) href: Option<String>,
    pub(crate) is_selected: bool,
    /// From bottom to top: a class of style.css (`good`, `bad`, `calm`, `warm`, `s1` to `s6`),
    /// the label, the size.
    pub(crate) parts: Vec<(&'static str, String, u64)>,
}

const WIDTH: f64 = 1000.0;

/// A chart of stacked columns.
pub(crate) fn column_chart(name: &str, height: f64, columns: &[ChartColumn]) -> Markup {
    column_chart_with(name, height, columns, count)
}

/// A chart of stacked columns whose sizes are formatted by `write`.
#[expect(clippy::cast_precision_loss, reason = "pixels are coarser")]
pub(crate) fn column_chart_with(
    name: &str,
    height: f64,
    columns: &[ChartColumn],
    write: fn(u64) -> String,
) -> Markup {
    let total = |column: &ChartColumn| column.parts.iter().map(|(_, _, size)| size).sum::<u64>();
    let highest = columns.iter().map(total).max().unwrap_or_default().max(1);
    let step = WIDTH / columns.len().max(1) as f64;
    let gap = (step * 0.15).min(3.0);
    // Screen readers skip links inside role="img".
    let has_links = columns.iter().any(|column| column.href.is_some());
    let role = if has_links { "group" } else { "img" };
    let mut svg = format!(
        "<svg class=\"columns\" viewBox=\"0 0 {WIDTH} {height}\" preserveAspectRatio=\"none\" \
         role=\"{role}\" aria-label=\"{}\">",
        escape_html(name)
    );
    for (index, column) in columns.iter().enumerate() {
        let left = index as f64 * step;
        let mut title = column.label.clone();
        for (_, part, size) in &column.parts {
            let _ = write!(title, "\n{part}: {}", write(*size));
        }
        if let Some(href) = &column.href {
            let _ = write!(
                svg,
                "<a href=\"{}\" aria-label=\"{}\">",
                escape_html(href),
                escape_html(&title)
            );
        }
        let chosen = if column.is_selected { " chosen" } else { "" };
        let _ = write!(
            svg,
            "<g class=\"column{chosen}\"><title>{}</title>\
             <rect class=\"behind\" x=\"{left:.2}\" y=\"0\" width=\"{step:.2}\" height=\"{height}\"/>",
            escape_html(&title)
        );
        let mut bottom = height;
        for (class, _, size) in &column.parts {
            let tall = *size as f64 / highest as f64 * height;
            // Every part above zero stays visible.
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

/// A sparkline: a small line chart without axes.
#[expect(clippy::cast_precision_loss, reason = "pixels are coarser")]
pub(crate) fn sparkline(name: &str, values: &[u64]) -> Markup {
    let highest = values.iter().copied().max().unwrap_or_default().max(1) as f64;
    let step = 100.0 / values.len().saturating_sub(1).max(1) as f64;
    let points = values.iter().enumerate().map(|(index, value)| {
        format!(
            "{:.1},{:.1}",
            index as f64 * step,
            23.0 - *value as f64 / highest * 22.0
        )
    });
    let points = points.collect::<Vec<_>>().join(" ");
    Markup(format!(
        "<svg class=\"spark\" viewBox=\"0 0 100 24\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{}\"><polyline points=\"{points}\"/></svg>",
        escape_html(name)
    ))
}

/// A progress bar. Each part has a class, a label and a size; the rest of `whole` stays empty.
#[expect(clippy::cast_precision_loss, reason = "pixels are coarser")]
pub(crate) fn progress_bar(name: &str, whole: u64, parts: &[(&'static str, &str, u64)]) -> Markup {
    let mut label = name.to_owned();
    let mut svg = String::new();
    let mut left = 0.0;
    for (class, part, size) in parts {
        let wide = *size as f64 * 100.0 / whole.max(1) as f64;
        let _ = write!(label, ", {part}: {}", count(*size));
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{left:.2}\" y=\"0\" width=\"{wide:.2}\" height=\"8\"/>"
        );
        left += wide;
    }
    let label = escape_html(&label);
    Markup(format!(
        "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{label}\"><title>{label}</title>\
         <rect class=\"behind\" x=\"0\" y=\"0\" width=\"100\" height=\"8\"/>{svg}</svg>"
    ))
}

/// A stacked bar whose parts fill it, each with a class and a size. `name` describes the parts.
pub(crate) fn stacked_bar(name: &str, parts: &[(&'static str, u64)]) -> Markup {
    let whole = parts.iter().map(|(_, size)| size).sum::<u64>().max(1);
    let mut svg = String::new();
    let mut left = 0.0;
    for (class, size) in parts {
        #[expect(clippy::cast_precision_loss, reason = "pixels are coarser")]
        let wide = *size as f64 * 100.0 / whole as f64;
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{left:.2}\" y=\"0\" width=\"{wide:.2}\" height=\"8\"/>"
        );
        left += wide;
    }
    let label = escape_html(name);
    Markup(format!(
        "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{label}\"><title>{label}</title>\
         <rect class=\"behind\" x=\"0\" y=\"0\" width=\"100\" height=\"8\"/>{svg}</svg>"
    ))
}
