// The zoomable chart of loads and completions by hour.
"use strict";

(() => {
  const container = document.getElementById("by-hour");
  const data = document.getElementById("by-hour-data");
  if (!container || !data) return;
  const rows = JSON.parse(data.textContent);
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // The first tick of a day shows the date, the others the time.
  const hours = (_, ticks) => ticks.map((tick, index) => {
    const at = new Date(tick * 1000).toISOString();
    const day = new Date(tick * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
    const clock = at.slice(11, 16);
    const isFirst = index === 0 || at.slice(0, 10) !== new Date(ticks[index - 1] * 1000).toISOString().slice(0, 10);
    if (clock === "00:00") return day;
    return isFirst ? `${clock}\n${day}` : clock;
  });
  let plot = null;
  function draw() {
    plot?.destroy();
    const line = (label, name, fill) => ({
      label, stroke: color(name), width: 1.5, points: { show: false },
      fill: fill ? color(name) + "22" : undefined, value: (_, value) => value == null ? "–" : value.toLocaleString("en"),
    });
    const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 } };
    plot = new uPlot({
      width: container.clientWidth, height: 240, tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      scales: { y: { range: (_, low, high) => [0, Math.max(4, high * 1.08)] } },
      series: [{ label: "Hour (UTC)", value: (_, at) => at == null ? "–" : new Date(at * 1000).toISOString().slice(0, 16).replace("T", " ") },
        line("Loaded", "--s1", true), line("Succeeded", "--good"), line("Failed", "--bad")],
      axes: [{ ...axis, values: hours }, { ...axis, size: 62, values: (_, ticks) => ticks.map((tick) => tick.toLocaleString("en")) }],
    }, rows, container);
  }
  draw();
  addEventListener("resize", () => plot.setSize({ width: container.clientWidth, height: 240 }));
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
