// Texts are set with textContent only: what a model wrote is never read as HTML.
const root = document.documentElement;
const byId = (id) => document.getElementById(id);

function showLanguage(language) {
  root.dataset.language = language;
  root.lang = language;
}
showLanguage(navigator.language.startsWith("ja") ? "ja" : "en");
byId("language").hidden = false;
byId("language").addEventListener("click", () => showLanguage(root.dataset.language === "ja" ? "en" : "ja"));

async function unpacked(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function word(key) {
  const found = byId("words").content.querySelector(`[data-key="${key}"]`);
  return found ? found.cloneNode(true) : document.createTextNode(key);
}

function startReader({ models, items }) {
  const digits = JSON.parse(byId("reader").dataset.digits);
  const kinds = Object.keys(digits).filter((kind) => items.some((item) => item.kind === kind));
  const state = { kind: kinds[0], shown: [], place: 0 };

  const chosen = () => [...byId("models").querySelectorAll("input:checked")].map((box) => Number(box.value));

  function mean(entries) {
    const scores = entries.map((entry) => entry.score).filter((score) => score !== null && score !== undefined);
    return scores.length ? scores.reduce((a, b) => a + b) / scores.length : null;
  }

  function gain(item) {
    const which = chosen();
    if (which.length < 2) return null;
    const before = mean(item.entries[which[0]]);
    const after = mean(item.entries[which.at(-1)]);
    return before === null || after === null ? null : after - before;
  }

  function list() {
    const wanted = byId("search").value.trim().toLowerCase();
    const holds = (item) =>
      [item.title, item.group, item.text, ...item.entries.flat().map((entry) => entry.text)].some((text) =>
        text.toLowerCase().includes(wanted),
      );
    state.shown = items.filter((item) => item.kind === state.kind && (!wanted || holds(item)));
    const sign = { gain: -1, loss: 1 }[byId("order").value];
    if (sign) {
      const worth = new Map(state.shown.map((item) => [item, gain(item)]));
      // Without a gain, last: Infinity minus Infinity is no number.
      const rank = (item) => (worth.get(item) === null ? Number.MAX_VALUE : sign * worth.get(item));
      state.shown.sort((a, b) => rank(a) - rank(b));
    }
    state.place = 0;
    byId("item").replaceChildren(
      ...state.shown.map((item, place) => {
        const option = element("option", "", `${item.title} ${item.group} ${item.text.slice(0, 40)}`);
        option.value = place;
        return option;
      }),
    );
    show();
  }

  function badge(entry) {
    if (entry.score === null || entry.score === undefined) {
      const made = element("span", "badge invalid", entry.status || "");
      if (!entry.status) made.append(word("not_asked"));
      return made;
    }
    return element("span", "badge valid", entry.score.toFixed(digits[state.kind]));
  }

  function card(entry, number) {
    const made = element("article", "card response");
    const header = element("header");
    header.append(element("span", "", `#${number + 1}`), badge(entry));
    made.append(header);
    if (entry.marks) {
      const marks = element("ol", "words");
      for (const [name, value] of Object.entries(entry.marks)) {
        const mark = element("li");
        mark.append(word(name), ` ${value}`);
        marks.append(mark);
      }
      made.append(marks);
    }
    made.append(element("pre", "", entry.text));
    if (entry.facts) {
      const facts = element("small");
      for (const [name, value] of Object.entries(entry.facts)) {
        if (Array.isArray(value)) facts.append(`${value.join(", ")} `);
        else if (typeof value !== "boolean" && value !== null) facts.append(word(name), ` ${value} `);
      }
      made.append(facts);
    }
    if (entry.note) {
      const note = element("details");
      const summary = element("summary");
      summary.append(word("reply"));
      note.append(summary, element("pre", "", entry.note));
      made.append(note);
    }
    return made;
  }

  function show() {
    const item = state.shown[state.place];
    byId("item").value = state.place;
    byId("asked").replaceChildren();
    byId("answers").replaceChildren();
    if (!item) return;
    byId("asked").append(element("small", "", `${item.title} ${item.group}`), item.text);
    for (const model of chosen()) {
      const column = element("section");
      column.append(element("h3", "", models[model]), ...item.entries[model].map(card));
      byId("answers").append(column);
    }
  }

  function walk(by) {
    if (!state.shown.length) return;
    state.place = (state.place + by + state.shown.length) % state.shown.length;
    show();
  }

  for (const kind of kinds) {
    const button = element("button");
    button.type = "button";
    button.append(word(kind));
    button.setAttribute("aria-pressed", String(kind === state.kind));
    button.addEventListener("click", () => {
      state.kind = kind;
      for (const other of byId("kinds").children) other.setAttribute("aria-pressed", String(other === button));
      list();
    });
    byId("kinds").append(button);
  }
  byId("search").addEventListener("input", list);
  byId("order").addEventListener("change", list);
  byId("models").addEventListener("change", () => (byId("order").value === "asked" ? show() : list()));
  byId("item").addEventListener("change", (event) => {
    state.place = Number(event.target.value);
    show();
  });
  byId("previous").addEventListener("click", () => walk(-1));
  byId("next").addEventListener("click", () => walk(1));
  byId("reader").hidden = false;
  list();
}

const packed = byId("packed");
if (packed) {
  if (typeof DecompressionStream === "undefined") byId("old").hidden = false;
  else unpacked(packed).then(startReader);
}
