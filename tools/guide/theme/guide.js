// The search of the guide. It loads its index on first use, also from a folder of files.
"use strict";

const MAX_RESULTS = 30;
const SNIPPET_CHARACTERS = 180;

const root = document.documentElement.dataset.root;
const input = document.getElementById("search");
const results = document.getElementById("results");
const article = document.querySelector("article");
const menu = document.querySelector(".menu");
let loading = null;

// On small screens the list of pages would come before every text.
if (matchMedia("(max-width: 55rem)").matches) menu.open = false;

function loadIndex() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${root}search-index.js`;
    script.onload = () => resolve(window.guideIndex);
    script.onerror = () => {
      loading = null;
      reject(new Error("The search index could not be loaded. Reload the page."));
    };
    document.head.append(script);
  });
  return loading;
}

/** Rows that contain all words. Words in titles and headings count more than words in texts. */
function search(index, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (const row of index) {
    const [title, heading, text] = row.slice(1).map((part) => part.toLowerCase());
    let score = 0;
    const matches = words.every((word) => {
      const points = (heading.includes(word) ? 8 : 0) + (title.includes(word) ? 4 : 0) + (text.includes(word) ? 1 : 0);
      score += points + (heading === word ? 8 : 0);
      return points > 0;
    });
    if (matches) found.push({ row, score });
  }
  found.sort((one, other) => other.score - one.score);
  return { words, rows: found.slice(0, MAX_RESULTS).map(({ row }) => row), count: found.length };
}

/** The text around the first word, with all words marked. */
function snippet(text, words) {
  const small = text.toLowerCase();
  const places = words.map((word) => small.indexOf(word)).filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...places, text.length) - SNIPPET_CHARACTERS / 3);
  const part = text.slice(start, start + SNIPPET_CHARACTERS);
  const paragraph = document.createElement("p");
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  for (const piece of part.split(new RegExp(`(${escaped.join("|")})`, "i"))) {
    const isWord = words.includes(piece.toLowerCase());
    const node = isWord ? document.createElement("mark") : document.createTextNode(piece);
    if (isWord) node.textContent = piece;
    paragraph.append(node);
  }
  return paragraph;
}

function show({ words, rows, count }) {
  const list = document.createElement("ol");
  for (const [address, title, heading, text] of rows) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = root + address;
    link.textContent = heading === title ? title : `${title}: ${heading}`;
    // A result on this page changes the address only by its anchor.
    link.addEventListener("click", close);
    item.append(link, snippet(text, words));
    list.append(item);
  }
  const heading = document.createElement("h1");
  heading.textContent = count === 1 ? "1 section found" : `${count} sections found`;
  results.replaceChildren(heading, list);
}

function close() {
  results.hidden = true;
  article.hidden = false;
  input.value = "";
}

async function update() {
  const query = input.value.trim();
  if (query.length < 2) {
    results.hidden = true;
    article.hidden = false;
    return;
  }
  try {
    const index = await loadIndex();
    // The query may have changed while the index was loaded.
    if (input.value.trim() === query) show(search(index, query));
  } catch (error) {
    results.textContent = error.message;
  }
  results.hidden = false;
  article.hidden = true;
}

input.addEventListener("input", update);
input.form.addEventListener("submit", (event) => {
  event.preventDefault();
  results.querySelector("a")?.click();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  } else if (event.key === "Escape") {
    close();
  }
});
