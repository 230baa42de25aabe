// Optional: the page works without it. Adds suggestions while typing, "/" for the search box, and keys to move between results.
"use strict";

const box = document.getElementById("q");
const list = document.getElementById("suggestions");
const TYPING_MS = 120;
let timer = 0;
let asked = 0;

function shown() {
  return [...list.children];
}

function close() {
  list.hidden = true;
  list.replaceChildren();
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
}

function choose(text) {
  box.value = text;
  close();
  box.form.requestSubmit();
}

function show(texts) {
  list.replaceChildren(...texts.map((text, number) => {
    const item = document.createElement("li");
    item.id = `suggestion-${number}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.textContent = text;
    item.addEventListener("mousedown", (event) => { event.preventDefault(); choose(text); });
    return item;
  }));
  list.hidden = texts.length === 0;
  box.setAttribute("aria-expanded", String(texts.length > 0));
}

async function suggest() {
  const text = box.value.trim();
  const turn = ++asked;
  if (text.length < 2) { close(); return; }
  try {
    const answer = await fetch(`/suggest?q=${encodeURIComponent(text)}`);
    const [, texts] = answer.ok ? await answer.json() : ["", []];
    // Ignore a response to an outdated query.
    if (turn === asked && document.activeElement === box) show(texts.filter((each) => each !== text));
  } catch {
    close();
  }
}

function step(by) {
  const items = shown();
  const now = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
  const next = now < 0 ? (by > 0 ? 0 : items.length - 1) : (now + by + items.length) % items.length;
  items.forEach((item, number) => item.setAttribute("aria-selected", String(number === next)));
  box.setAttribute("aria-activedescendant", items[next].id);
}

function typed(event) {
  if (event.key === "Escape") { close(); return; }
  if (list.hidden) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    step(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter") {
    const chosen = shown().find((item) => item.getAttribute("aria-selected") === "true");
    if (chosen) { event.preventDefault(); choose(chosen.textContent); }
  }
}

function walk(by) {
  const titles = [...document.querySelectorAll(".results a.go")];
  if (titles.length === 0) return false;
  const now = titles.findIndex((title) => title.closest("article").contains(document.activeElement));
  const next = now < 0 ? (by > 0 ? 0 : titles.length - 1) : Math.min(titles.length - 1, Math.max(0, now + by));
  titles[next].focus();
  return true;
}

function pressed(event) {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const steps = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };
  const isArrow = event.key.startsWith("Arrow");
  // Arrow keys scroll until a result has the focus.
  const isAmong = document.activeElement.closest(".results") !== null;
  if (event.key === "/" && box) {
    event.preventDefault();
    box.focus();
    box.select();
  } else if (event.key in steps && (!isArrow || isAmong) && walk(steps[event.key])) {
    event.preventDefault();
  }
}

if (box && list) {
  box.setAttribute("role", "combobox");
  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-controls", "suggestions");
  box.setAttribute("aria-expanded", "false");
  box.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(suggest, TYPING_MS); });
  box.addEventListener("keydown", typed);
  box.addEventListener("blur", close);
  if (document.body.classList.contains("home")) box.focus({ preventScroll: true });
}
document.addEventListener("keydown", pressed);
