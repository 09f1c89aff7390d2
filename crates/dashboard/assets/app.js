// Scripts of all pages: relative times, copy buttons, confirmations, live updates, theme.
"use strict";

const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
function formatAge(milliseconds) {
  const future = milliseconds < 0;
  let seconds = Math.floor(Math.abs(milliseconds) / 1000);
  if (seconds < 1) return "now";
  const index = units.findIndex(([size]) => seconds >= size);
  const [size, name] = units[index];
  let text = `${Math.floor(seconds / size)} ${name}`;
  const next = units[index + 1];
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
  if (rest && size < 86400 * 7) text += ` ${rest} ${next[1]}`;
  return future ? `in ${text}` : `${text} ago`;
}
function updateAges(root = document) {
  for (const time of root.querySelectorAll("time[data-age]")) {
    const text = formatAge(Date.now() - Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}
updateAges();
setInterval(updateAges, 1000);

document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    navigator.clipboard?.writeText(document.getElementById(copy.dataset.copy).textContent.trim());
    const label = copy.textContent;
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = label; }, 1500);
  }
  if (event.target.closest("[data-theme-switch]")) {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    document.cookie = `theme=${root.dataset.theme}; Path=/; Max-Age=31536000; SameSite=Lax`;
  }
});

// Forms with data-confirm ask before they submit.
document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
}, true);

// On wide screens the menu is always open.
const menu = document.querySelector(".menu");
const wide = matchMedia("(min-width: 861px)");
const syncMenu = () => { if (menu) menu.open = wide.matches; };
syncMenu();
wide.addEventListener("change", syncMenu);

// Live pages: the server sends the main element when it changes; elements with data-live are replaced.
const dot = () => document.querySelector("[data-dot]");
let source = null;
function showLiveStatus(state, text) {
  const mark = dot();
  if (!mark) return;
  mark.className = `dot ${state}`;
  mark.firstElementChild.textContent = text;
}
function connect() {
  if (source || document.hidden || !document.body.hasAttribute("data-live-page")) return;
  const page = location.pathname + location.search;
  source = new EventSource(`/dashboard/live?page=${encodeURIComponent(page)}`);
  source.addEventListener("open", () => showLiveStatus("on", "live"));
  source.addEventListener("error", () => showLiveStatus("off", "disconnected"));
  source.addEventListener("page", (event) => {
    const fresh = new DOMParser().parseFromString(event.data, "text/html");
    const parts = (root) => [...root.querySelectorAll("[data-live]")].map((part) => part.id).join();
    // Live elements were added or removed: replace the whole page.
    if (parts(fresh) !== parts(document)) {
      document.querySelector("main").replaceWith(document.importNode(fresh.querySelector("main"), true));
      updateAges();
      htmx.process(document.querySelector("main"));
      showLiveStatus("on", "live");
    }
    for (const old of document.querySelectorAll("[data-live]")) {
      const now = fresh.getElementById(old.id);
      if (!now) continue;
      updateAges(now);
      if (now.outerHTML === old.outerHTML || old.contains(document.activeElement) && old.matches("form, form *")) continue;
      old.replaceWith(document.importNode(now, true));
      htmx.process(document.getElementById(old.id));
    }
    document.dispatchEvent(new CustomEvent("page:changed"));
  });
}
function disconnect() { source?.close(); source = null; showLiveStatus("", "paused"); }
document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
addEventListener("pagehide", disconnect);
document.addEventListener("htmx:pushedIntoHistory", () => { if (source) { disconnect(); connect(); } });
addEventListener("load", connect);
