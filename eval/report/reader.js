// Texts are set with textContent only: what a model wrote is never read as HTML.
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

const words = new Map([...(byId("words")?.content.children ?? [])].map((node) => [node.dataset.key, node]));

function word(key) {
  return words.get(key)?.cloneNode(true) ?? document.createTextNode(key);
}

// A word where no markup can be: in the language that is shown.
function label(key) {
  const node = words.get(key);
  return node ? (node.querySelector(`[lang="${root.lang}"]`) ?? node).textContent : key;
}

// What an answer can be filtered by: whether it has a score, why it has none, and what is wrong with the answer itself.
function states(entry) {
  const scored = entry.score !== null;
  const reasons = entry.status && entry.status !== "ok" ? [`unscored:${entry.status}`] : [];
  return [scored ? "scored" : "unscored", ...reasons, ...(entry.states ?? []).map((state) => `answer:${state}`)];
}

function startReader({ models, items }) {
  const digits = JSON.parse(byId("reader").dataset.digits);
  const kinds = Object.keys(digits).filter((kind) => items.some((item) => item.kind === kind));
  const state = { kind: kinds[0], shown: [], place: 0, linked: null };

  const chosen = () => [...byId("models").querySelectorAll("input:checked")].map((box) => Number(box.value));

  function mean(entries) {
    const scores = entries.map((entry) => entry.score).filter((score) => score !== null);
    return scores.length ? scores.reduce((a, b) => a + b) / scores.length : null;
  }

  function gain(item) {
    const which = chosen();
    if (which.length < 2) return null;
    const before = mean(item.entries[which[0]]);
    const after = mean(item.entries[which.at(-1)]);
    return before === null || after === null ? null : after - before;
  }

  const passes = (entry) => !byId("status").value || states(entry).includes(byId("status").value);

  function fill(select, options) {
    const value = select.value;
    select.replaceChildren(
      ...[["", label("all")], ...options].map(([key, text]) => {
        const option = element("option", "", text);
        option.value = key;
        return option;
      }),
    );
    select.value = options.some(([key]) => key === value) ? value : "";
    select.parentNode.hidden = options.length < 2;
  }

  // What there is to filter by in this tab and these models, with how many answers have it.
  function offer() {
    for (const option of byId("order").options) option.textContent = label(option.value);
    const own = items.filter((item) => item.kind === state.kind);
    fill(byId("group"), [...new Set(own.map((item) => item.group))].map((group) => [group, label(group)]));
    const counts = new Map();
    for (const item of own)
      for (const key of chosen().flatMap((model) => item.entries[model].flatMap(states))) counts.set(key, (counts.get(key) ?? 0) + 1);
    const text = (key) => key.split(":").map(label).join(": ");
    fill(byId("status"), [...counts].sort().map(([key, count]) => [key, `${text(key)} (${count})`]));
  }

  function list() {
    const wanted = byId("search").value.trim().toLowerCase();
    const holds = (item) =>
      [item.title, item.group, item.text, ...item.entries.flat().map((entry) => entry.text)].some((text) =>
        text.toLowerCase().includes(wanted),
      );
    const group = byId("group").value;
    const status = (item) => !byId("status").value || chosen().some((model) => item.entries[model].some(passes));
    const kept = (item) => (!group || item.group === group) && status(item);
    state.shown = items.filter((item) => item.kind === state.kind && kept(item) && (!wanted || holds(item)));
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
        const option = element("option", "", `${item.title} ${label(item.group)} ${item.text.slice(0, 40)}`);
        option.value = place;
        return option;
      }),
    );
    show();
  }

  function badge(entry) {
    if (entry.score === null) {
      const made = element("span", "badge unusable");
      made.append(word(entry.status || "not_asked"));
      return made;
    }
    return element("span", "badge usable", entry.score.toFixed(digits[state.kind]).replace("-", "−"));
  }

  function card(item, model, entry, number) {
    const made = element("article", "card answer");
    const link = element("a", "", `#${number + 1}`);
    link.href = `#${["answer", item.kind, item.id, models[model], number + 1].map(encodeURIComponent).join("/")}`;
    if (state.linked === entry) made.classList.add("linked");
    if (!passes(entry)) made.classList.add("other");
    const header = element("header");
    header.append(link, badge(entry));
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
        if (Array.isArray(value)) value.forEach((state) => facts.append(word(state), " "));
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

  // A model's name, which goes on in the next line behind its separators only.
  function named(name) {
    const heading = element("h3");
    for (const part of name.split(/(?<=[/_@=:])(?=\w)/)) heading.append(part, document.createElement("wbr"));
    return heading;
  }

  function show() {
    const item = state.shown[state.place];
    byId("item").value = state.place;
    byId("count").textContent = `${item ? state.place + 1 : 0} / ${state.shown.length}`;
    byId("asked").replaceChildren();
    byId("answers").replaceChildren();
    if (!item) return;
    byId("asked").append(element("small", "", `${item.title} ${label(item.group)}`), item.text);
    for (const model of chosen()) {
      const column = element("section");
      column.append(named(models[model]), ...item.entries[model].map((entry, number) => card(item, model, entry, number)));
      byId("answers").append(column);
    }
  }

  function walk(by) {
    if (!state.shown.length) return;
    state.place = (state.place + by + state.shown.length) % state.shown.length;
    show();
  }

  function choose(kind) {
    state.kind = kind;
    for (const button of byId("kinds").children) button.setAttribute("aria-pressed", String(button.dataset.kind === kind));
    offer();
    list();
  }

  // The answer that the address names, whatever was filtered before.
  function open() {
    const parts = location.hash.slice(1).split("/");
    if (parts[0] !== "answer") return;
    let names;
    try {
      names = parts.slice(1).map(decodeURIComponent);
    } catch {
      names = [];
    }
    const [kind, id, name, number] = names;
    const model = models.indexOf(name);
    const linked = items.find((item) => item.kind === kind && item.id === id && item.entries[model]?.[number - 1]);
    byId("elsewhere").hidden = Boolean(linked);
    if (!linked) return;
    byId("search").value = byId("group").value = byId("status").value = "";
    byId("models").querySelector(`[value="${model}"]`).checked = true;
    byId("reader").closest("details").open = true;
    choose(kind);
    state.place = state.shown.indexOf(linked);
    state.linked = linked.entries[model][number - 1];
    show();
    byId("answers").querySelector(".linked").scrollIntoView({ block: "center" });
  }

  for (const kind of kinds) {
    const button = element("button");
    button.type = "button";
    button.dataset.kind = kind;
    button.append(word(kind));
    button.addEventListener("click", () => choose(kind));
    byId("kinds").append(button);
  }
  byId("search").addEventListener("input", list);
  for (const id of ["order", "group", "status"]) byId(id).addEventListener("change", list);
  // With other models or in another language, where the reader was.
  function again() {
    const item = state.shown[state.place];
    offer();
    list();
    state.place = Math.max(0, state.shown.indexOf(item));
    show();
  }
  byId("models").addEventListener("change", again);
  byId("language").addEventListener("click", again);
  byId("item").addEventListener("change", (event) => {
    state.place = Number(event.target.value);
    show();
  });
  byId("previous").addEventListener("click", () => walk(-1));
  byId("next").addEventListener("click", () => walk(1));
  byId("reader").hidden = false;
  choose(kinds[0]);
  open();
  addEventListener("hashchange", open);
}

const packed = byId("packed");
if (packed) {
  if (typeof DecompressionStream === "undefined") byId("old").hidden = false;
  else unpacked(packed).then(startReader);
}
