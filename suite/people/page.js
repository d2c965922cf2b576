"use strict";

// What the pages for people share: who takes part, what is kept, and the file that is handed over.
// A page's own script has `blank` (of the state), `begin`, `resume`, and `written` (whether anything would be lost).
// Nothing is sent: the page's Content-Security-Policy forbids every request.

const element = (id) => document.getElementById(id);
const settings = JSON.parse(element("settings").textContent);

/** A text of the page in its language, with {name} filled in. */
function say(name, facts = settings) {
  const texts = settings.texts[state?.language] ?? settings.texts;
  return (texts[name] ?? name).replace(/\{(\w+)\}/g, (_, key) => facts[key]);
}

/** An element says a text of the page. */
function tell(id, name, facts) {
  element(id).textContent = say(name, facts);
}

function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** A table of texts or elements; the first of a row is its heading. */
function table(heads, rows) {
  const line = ([first, ...others]) =>
    make("tr", {}, make("th", { scope: "row" }, first), ...others.map((one) => make("td", {}, one)));
  const top = heads.map((head) => make("th", { scope: "col" }, head));
  return make("table", {}, make("thead", {}, make("tr", {}, ...top)), make("tbody", {}, ...rows.map(line)));
}

function mean(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

function show(stage) {
  for (const section of document.querySelectorAll("main > section")) {
    section.hidden = section.id !== stage;
  }
  scrollTo(0, 0);
  document.querySelector(`#${stage} h1`).focus({ preventScroll: true });
}

// ---- What is kept ----

const address = new URLSearchParams(location.search);
const place = `sozo-form ${location.pathname}${location.search}`;

const said = (name) => (address.get(name) ?? "").trim().slice(0, 100);

const fresh = () => ({
  stage: "start",
  participant: said("p"),
  group: said("c"),
  trial: said("t"),
  agreed: false,
  next: false, // not the first who takes part here
  saved: false,
  began: null, // milliseconds since 1970; all other times are by `now`
  started: null,
  clock: 0, // when the state was kept, by `now` and since 1970
  kept: Infinity,
  ...blank(),
});

let state = null; // until it is recalled
let before = 0; // what had passed when the page was loaded anew

/** Milliseconds by a clock that nobody sets; it goes on after a reload, and while the page was away. */
const now = () => before + performance.now();

/** A reload finds what was written, unless the browser forbids to keep it. */
function keep() {
  Object.assign(state, { clock: now(), kept: Date.now() });
  try {
    sessionStorage.setItem(place, JSON.stringify(state));
  } catch {}
}

function recall() {
  state = fresh();
  try {
    state = { ...state, ...JSON.parse(sessionStorage.getItem(place) ?? "{}") };
  } catch {}
  before = state.clock + Math.max(0, performance.timeOrigin - state.kept);
}

addEventListener("pagehide", keep);
addEventListener("beforeunload", (event) => {
  if (!state.saved && written()) {
    event.preventDefault();
  }
});

// ---- CSV ----

/** A cell; an apostrophe stands before what a spreadsheet would run as a formula. */
function cell(value) {
  const text = String(value ?? "");
  const formula = /^[=+\-@\t\r\n＝＋－＠]/u.test(text) && !/^[+-][0-9]+([.,][0-9]+)?$/.test(text);
  return `"${(formula ? `'${text}` : text).replaceAll('"', '""')}"`;
}

/** Rows, each from headings to values, as CSV. */
function csvOf(rows) {
  const lines = [Object.keys(rows[0]), ...rows.map(Object.values)];
  return lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
}

function save() {
  const name = [settings.name, state.participant, state.group, state.trial].filter(Boolean).join("-");
  const file = new Blob(["\ufeff", element("csv").value], { type: "text/csv" });
  const link = make("a", {
    href: URL.createObjectURL(file),
    download: `${name.replace(/[^\p{L}\p{N}\p{M}_-]+/gu, "_").slice(0, 80)}.csv`,
  });
  link.click();
  state.saved = true;
  keep();
  // No page is told whether a browser wrote the file.
  tell("end-note", "saving", { name: link.download });
}

async function copy() {
  element("csv").select();
  try {
    await navigator.clipboard.writeText(element("csv").value);
    tell("end-note", "copied");
  } catch {
    tell("end-note", "copy_by_hand");
  }
}

// ---- Who takes part ----

/** Whether nobody need be asked who takes part: the address says it of the first one only. */
const named = () => settings.anonymous || (!state.next && Boolean(address.get("p")?.trim()));

function startPage() {
  element("who").hidden = named();
  element("known-as").hidden = !element("who").hidden;
  tell("known-as", "known_as", { participant: state.participant });
  const fields = ["participant", "group", "trial"];
  const ready = () => {
    fields.forEach((name) => (state[name] = element(name).value.trim()));
    state.agreed = element("agreed").checked;
    element("begin").disabled = !(named() || state.participant) || !(state.agreed || element("consent").hidden);
  };
  fields.forEach((name, k) => {
    element(name).value = state[name];
    element(name).oninput = ready;
    element(name).onkeydown = (event) => {
      if (event.key === "Enter" && !event.isComposing && event.keyCode !== 229) {
        event.preventDefault();
        element(fields[k + 1] ?? "begin").focus();
      }
    };
  });
  element("agreed").checked = state.agreed;
  element("agreed").onchange = ready;
  element("begin").onclick = () => {
    state.began = Date.now();
    state.started = now();
    begin();
  };
  ready();
  show("start");
}

function endPage(csv) {
  element("csv").value = csv;
  element("end-note").textContent = "";
  tell("next", "next");
  show("end");
}

function nextParticipant() {
  if (element("next").textContent !== say("next_sure")) {
    tell("next", "next_sure");
    return;
  }
  state = { ...fresh(), participant: "", next: true };
  keep();
  startPage();
}

/** Called at the end of a page's own script. */
function openPage() {
  element("save").onclick = save;
  element("copy").onclick = copy;
  element("next").onclick = nextParticipant;
  recall();
  keep();
  turn();
}

/** Show what the state says, in its language. */
function turn() {
  document.title = say("title");
  document.documentElement.lang = state.language ?? settings.language;
  for (const one of document.querySelectorAll("[data-say]")) {
    one.textContent = say(one.dataset.say);
  }
  if (state.stage === "start") {
    startPage();
  } else {
    resume();
  }
}
