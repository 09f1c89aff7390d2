// What pages do besides showing: ages that count, copies, questions before harm, live parts, light and dark.
"use strict";

const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
function age(milliseconds) {
  const future = milliseconds < 0;
  let seconds = Math.floor(Math.abs(milliseconds) / 1000);
  if (seconds < 1) return "now";
  const place = units.findIndex(([size]) => seconds >= size);
  const [size, name] = units[place];
  let text = `${Math.floor(seconds / size)} ${name}`;
  const next = units[place + 1];
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
  if (rest && size < 86400 * 7) text += ` ${rest} ${next[1]}`;
  return future ? `in ${text}` : `${text} ago`;
}
function ages(root = document) {
  for (const time of root.querySelectorAll("time[data-age]")) {
    const text = age(Date.now() - Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}
ages();
setInterval(ages, 1000);

document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    navigator.clipboard?.writeText(document.getElementById(copy.dataset.copy).textContent.trim());
    const said = copy.textContent;
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = said; }, 1500);
  }
  if (event.target.closest("[data-theme-switch]")) {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    document.cookie = `theme=${root.dataset.theme}; Path=/; Max-Age=31536000; SameSite=Lax`;
  }
});

// Whatever cannot be taken back says first what it will do.
document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
}, true);

// On wide screens the menu is always there.
const menu = document.querySelector(".menu");
const wide = matchMedia("(min-width: 861px)");
const spread = () => { if (menu) menu.open = wide.matches; };
spread();
wide.addEventListener("change", spread);

// A live page: the server sends its main part whenever that changed; elements marked data-live are replaced.
const dot = () => document.querySelector("[data-dot]");
let source = null;
function say(state, text) {
  const mark = dot();
  if (!mark) return;
  mark.className = `dot ${state}`;
  mark.firstElementChild.textContent = text;
}
function follow() {
  if (source || document.hidden || !document.body.hasAttribute("data-live-page")) return;
  const page = location.pathname + location.search;
  source = new EventSource(`/dashboard/live?page=${encodeURIComponent(page)}`);
  source.addEventListener("open", () => say("on", "live"));
  source.addEventListener("error", () => say("off", "not connected"));
  source.addEventListener("page", (event) => {
    const fresh = new DOMParser().parseFromString(event.data, "text/html");
    const parts = (root) => [...root.querySelectorAll("[data-live]")].map((part) => part.id).join();
    // Something is there that was not, such as a first row: then the page is another.
    if (parts(fresh) !== parts(document)) {
      document.querySelector("main").replaceWith(document.importNode(fresh.querySelector("main"), true));
      ages();
      htmx.process(document.querySelector("main"));
      say("on", "live");
    }
    for (const old of document.querySelectorAll("[data-live]")) {
      const now = fresh.getElementById(old.id);
      if (!now) continue;
      ages(now);
      if (now.outerHTML === old.outerHTML || old.contains(document.activeElement) && old.matches("form, form *")) continue;
      old.replaceWith(document.importNode(now, true));
      htmx.process(document.getElementById(old.id));
    }
    document.dispatchEvent(new CustomEvent("page:changed"));
  });
}
function rest() { source?.close(); source = null; say("", "paused"); }
document.addEventListener("visibilitychange", () => (document.hidden ? rest() : follow()));
addEventListener("pagehide", rest);
document.addEventListener("htmx:pushedIntoHistory", () => { if (source) { rest(); follow(); } });
addEventListener("load", follow);
