// Loads and completions by hour, to be looked at closely.
"use strict";

(() => {
  const place = document.getElementById("by-hour");
  const data = document.getElementById("by-hour-data");
  if (!place || !data) return;
  const rows = JSON.parse(data.textContent);
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let plot = null;
  function draw() {
    plot?.destroy();
    const line = (label, name, fill) => ({
      label, stroke: color(name), width: 1.5, points: { show: false },
      fill: fill ? color(name) + "22" : undefined, value: (_, value) => (value ?? 0).toLocaleString("en"),
    });
    const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 } };
    plot = new uPlot({
      width: place.clientWidth, height: 240, tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      scales: { y: { range: (_, low, high) => [0, Math.max(4, high * 1.08)] } },
      series: [{ label: "Hour (UTC)", value: (_, at) => at == null ? "–" : new Date(at * 1000).toISOString().slice(0, 16).replace("T", " ") },
        line("Loaded", "--s1", true), line("Succeeded", "--good"), line("Failed", "--bad")],
      axes: [axis, { ...axis, size: 62, values: (_, ticks) => ticks.map((tick) => tick.toLocaleString("en")) }],
    }, rows, place);
  }
  draw();
  addEventListener("resize", () => plot.setSize({ width: place.clientWidth, height: 240 }));
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
