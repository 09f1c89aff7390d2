"""Draws spans as a picture: trace_picture.py EXPORT.jsonl OUT.svg.

The input has one OTLP request in JSON per line, as `./dev trace-picture` collects them. Time is not to scale:
every time at which a span starts or ends gets the same width.
"""

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path

LABEL_WIDTH, COLUMN_WIDTH, ROW_HEIGHT, MARGIN = 250, 88, 34, 16
KINDS = {1: "INTERNAL", 2: "SERVER", 3: "CLIENT"}
COLOURS = {1: "#7a8ba3", 2: "#2f6fb3", 3: "#b3662f"}
FAILED = "#b3382f"
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #222 }
.small { font-size: 11px; fill: #666 }
.title { font-weight: 600 }
.grid { stroke: #ddd }
.link { stroke: #888; stroke-dasharray: 4 3; fill: none; marker-end: url(#arrow) }
@media (prefers-color-scheme: dark) {
  text { fill: #eee } .small { fill: #aaa } .grid { stroke: #444 }
}
"""


@dataclass
class Span:
    trace: str
    id: str
    parent: str | None
    name: str
    kind: int
    start: int
    end: int
    links: list[str]
    failed: bool
    attempt: str


def read_spans(path):
    """The spans of all requests, each once."""
    spans = {}
    for line in Path(path).read_text().splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for raw in scope["spans"]:
                    span = read_span(raw)
                    spans[span.id] = span
    return list(spans.values())


def read_span(raw):
    attributes = {each["key"]: next(iter(each["value"].values())) for each in raw["attributes"]}
    return Span(
        trace=raw["traceId"],
        id=raw["spanId"],
        parent=raw.get("parentSpanId"),
        name=raw["name"],
        kind=raw["kind"],
        start=int(raw["startTimeUnixNano"]),
        end=int(raw["endTimeUnixNano"]),
        links=[link["spanId"] for link in raw.get("links", [])],
        failed="status" in raw,
        attempt=attributes.get("longshore.attempt", ""),
    )


def order_spans(spans):
    """Trace by trace, parents before their children; the trace of the load first."""
    known = {span.id for span in spans}
    roots = [span for span in spans if span.parent not in known]
    roots.sort(key=lambda span: (span.kind != 2, span.start))
    rows = []

    def add(span, depth):
        rows.append((span, depth))
        children = [each for each in spans if each.parent == span.id]
        for child in sorted(children, key=lambda each: (each.start, each.end)):
            add(child, depth + 1)

    for root in roots:
        add(root, 0)
    return rows


def seconds(moment, first):
    return f"{(moment - first) / 1e9:.3f}".rstrip("0").rstrip(".") + " s"


def describe(span):
    text = f"{span.name} ({KINDS[span.kind]})"
    return f"{text}, attempt {span.attempt}" if span.name == "deliver" else text


def draw(spans):
    rows = order_spans(spans)
    moments = sorted({moment for span in spans for moment in (span.start, span.end)})
    # Times in the same millisecond are drawn as one.
    columns, column_of = [], {}
    for moment in moments:
        if not columns or moment - columns[-1] >= 1_000_000:
            columns.append(moment)
        column_of[moment] = len(columns) - 1

    def x_of(moment):
        return LABEL_WIDTH + column_of[moment] * COLUMN_WIDTH

    traces = list(dict.fromkeys(span.trace for span, _ in rows))
    places, y, parts = {}, MARGIN + 20, []
    for trace in traces:
        is_batch = any(span.name == "batch" for span, _ in rows if span.trace == trace)
        title = "trace of the batch" if is_batch else "trace of the cargo"
        parts.append(f'<text class="title" x="{MARGIN}" y="{y}">{title}</text>')
        parts.append(f'<text class="small" x="{MARGIN + 140}" y="{y}">{trace}</text>')
        y += 12
        for span, depth in ((span, depth) for span, depth in rows if span.trace == trace):
            places[span.id] = y + ROW_HEIGHT / 2
            parts.extend(draw_span(span, depth, y, x_of))
            y += ROW_HEIGHT
        y += 28
    bottom = y - 12
    width = LABEL_WIDTH + len(columns) * COLUMN_WIDTH + MARGIN
    grid = []
    for number, moment in enumerate(columns):
        x = LABEL_WIDTH + number * COLUMN_WIDTH
        grid.append(f'<line class="grid" x1="{x}" y1="{MARGIN + 24}" x2="{x}" y2="{bottom - 8}"/>')
        grid.append(f'<text class="small" x="{x + 3}" y="{bottom + 6}">{seconds(moment, columns[0])}</text>')
    links = [draw_link(span, target, places, x_of) for span, _ in rows for target in span.links if target in places]
    began = datetime.fromtimestamp(columns[0] // 1_000_000_000, UTC).isoformat()
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 20}" role="img">',
        f"<title>{escape(f'{len(spans)} spans from {began} on')}</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#888"/></marker></defs>',
        *grid, *parts, *links,
        "</svg>",
        "",
    ])


def draw_span(span, depth, y, x_of):
    x, width = x_of(span.start), max(x_of(span.end) - x_of(span.start), 6)
    colour = FAILED if span.failed else COLOURS[span.kind]
    indent = MARGIN + depth * 18
    yield f'<text x="{indent}" y="{y + 21}">{escape(describe(span))}</text>'
    yield f'<rect x="{x}" y="{y + 8}" width="{width}" height="{ROW_HEIGHT - 16}" rx="3" fill="{colour}"/>'


def draw_link(span, target, places, x_of):
    """From the start of a span to the row of the span that it links to."""
    x, y, to_y = x_of(span.start), places[span.id], places[target]
    bend = LABEL_WIDTH - (14 if to_y > y else 30)
    return f'<path class="link" d="M{x} {y} L{bend + 8} {y} Q{bend} {y} {bend} {(y + to_y) / 2} L{bend} {to_y}"/>'


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Path(sys.argv[2]).write_text(draw(read_spans(sys.argv[1])))


if __name__ == "__main__":
    main()
