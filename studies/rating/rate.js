// Answers that are judged blind: put in order (a duel has two), or scored by criteria.

const { criteria, systems, items } = settings;
const scored = "scores" in criteria[0];
let given = {}; // of what is shown, by criterion: a score, or the places from the best
let earlier = {}; // the same, before one went back
let picked = []; // the places so far
let since = 0; // when it was shown

const language = navigator.language.startsWith("ja") ? "ja" : "en";
const blank = () => ({ seed: Math.random(), language, done: [] });
const written = () => !settings.anonymous && state.done.length > 0;

/** FNV-1a. */
function hash(text) {
  return [...text].reduce((sum, sign) => Math.imul(sum ^ sign.codePointAt(0), 0x1000193), 0x811c9dc5) >>> 0;
}

/** What is shown, in an order of each rater's own; in a study some come again, and one says what to choose. */
function sequence() {
  const key = (what, one) => hash(`${what} ${state.seed} ${[one].flat(2)[0].answer}`);
  const shuffled = (what, list) => list.toSorted((one, other) => key(what, one) - key(what, other));
  const order = shuffled("rounds", settings.rounds).flatMap((round) => shuffled("trials", round));
  const trials = order.slice(0, settings.shown).map((all) => ({ kind: "score", answers: shuffled("places", all) }));
  const told = (scored ? ["lowest"] : ["take", "leave"]).map((answer) => ({ answer, text: say(answer) }));
  const check = { kind: "check", answers: shuffled("places", told) };
  const again = trials.slice(0, settings.again).map(({ answers }) => ({ kind: "again", answers: answers.toReversed() }));
  return settings.again ? [...trials, check, ...again] : trials;
}

/** The criteria that are asked about, as the rater's group (if it is one of theirs) and the scores before them allow. */
function asked() {
  const known = criteria.some(({ groups }) => groups?.includes(state.group));
  return criteria.filter(
    ({ groups, above }) =>
      (!known || !groups.length || groups.includes(state.group)) &&
      Object.entries(above ?? {}).every(([name, least]) => given[name] > least),
  );
}

function rows() {
  const trials = sequence();
  return state.done.flatMap((done, t) => {
    const { answers, kind } = trials[t];
    const by = criteria.filter(({ name }) => name in done.given);
    return by.flatMap(({ name: criterion, scores }) =>
      answers.map(({ answer, system, item }, k) => {
        const said = done.given[criterion];
        const score = scored ? said : 1 - said.indexOf(k) / (answers.length - 1);
        const told = scored ? said === scores[0] : (answer === "take") === (score === 1);
        return {
          answer,
          system,
          item,
          criterion,
          rater: state.participant || `anonymous ${state.seed}`,
          score: "",
          again: "",
          check: "",
          [kind]: kind === "check" ? Number(told) : score,
          group: state.group,
          shown: t + 1,
          of: trials.length,
          place: k + 1,
          seconds: done.seconds.toFixed(1),
          letters: answers.map(({ text }) => text).join("").length,
          began: new Date(state.began).toISOString(),
        };
      }),
    );
  });
}

// ---- The page ----

const begin = () => goOn("rate");

function goOn(stage = state.stage, before = {}) {
  [given, earlier, picked, since] = [{}, before, [], now()];
  state.stage = state.done.length < sequence().length ? stage : "end";
  keep();
  resume();
}

function resume() {
  if (state.stage === "end") {
    resultPage();
  } else {
    ratePage();
    show("rate");
  }
}

const open = () => asked().find(({ name }) => !(name in given));
const buttons = () => [...document.querySelectorAll("button.answer")];

function ratePage() {
  const trials = sequence();
  const { answers } = trials[state.done.length];
  tell("question", scored ? "score_this" : open().name);
  element("count").textContent = `${state.done.length + 1} / ${trials.length}`;
  element("item").textContent = items[answers[0].item] ?? "";
  element("back").hidden = element("stop").hidden = !state.done.length;
  const places = picked.length || scored ? picked : (earlier[open().name] ?? []).slice(0, -1);
  const cards = answers.map(({ text }, k) => {
    const place = places.indexOf(k) + 1 || "";
    const card = button(answers.length > 2 ? place : k + 1, text, () => pick(k), Boolean(place));
    return scored ? make("p", { className: "item card", textContent: text }) : card;
  });
  const at = buttons().indexOf(document.activeElement);
  element("answers").replaceChildren(...cards);
  element("criteria").replaceChildren(...(scored ? asked().map(fieldset) : []));
  buttons()[at]?.focus();
}

function button(sign, text, onclick, pressed) {
  const parts = [make("b", {}, sign), make("span", {}, text)];
  return make("button", { type: "button", className: "answer", ariaPressed: String(pressed), onclick }, ...parts);
}

/** A criterion: what each score stands for, and the scores. */
function fieldset({ name, about, scores }) {
  const levels = scores.map((score) => button(score, "", () => answer(name, score), (given[name] ?? earlier[name]) === score));
  const legend = make("legend", {}, say(name));
  return make("fieldset", { id: name }, legend, make("p", {}, about), ...levels);
}

/** A place comes next, or no longer. */
function pick(k) {
  picked = picked.includes(k) ? picked.filter((place) => place !== k) : [...picked, k];
  const left = [...buttons().keys()].filter((place) => !picked.includes(place));
  if (left.length > 1) {
    ratePage();
  } else {
    answer(open().name, [...picked, ...left]);
  }
}

function answer(name, value) {
  const seconds = (now() - since) / 1000;
  picked = [];
  if (seconds < 0.25) {
    return; // a second tap on what was shown before
  }
  given[name] = value;
  if (open()) {
    ratePage();
  } else {
    state.done.push({ given: Object.fromEntries(asked().map((own) => [own.name, given[own.name]])), seconds });
    goOn();
  }
}

document.onkeydown = ({ key, ctrlKey, metaKey, altKey }) => {
  if (state.stage === "rate" && !(ctrlKey || metaKey || altKey)) {
    const sign = { ArrowLeft: "1", ArrowRight: "2" }[key] ?? key;
    const signs = [...element(scored ? open().name : "answers").querySelectorAll("b")];
    signs.find(({ textContent }) => textContent === sign)?.parentElement.click();
  }
};

// ---- What came out ----

function resultPage() {
  const all = rows();
  element("stopped").hidden = state.done.length === sequence().length;
  if (settings.anonymous) {
    const found = criteria.flatMap(({ name }) => result(name, all));
    const about = (one) => say(one.by, { ...one, measure: say(one.measure) });
    const why = systems.map((one) => make("li", {}, make("b", {}, called(one.name)), about(one)));
    element("result").replaceChildren(...found, make("ul", {}, ...why));
    element("result").hidden = false;
    element("go-on").hidden = true; // the names are told
  }
  endPage(csvOf(all));
}

const called = (system) => say(`is_${systems.find(({ name }) => name === system).by}`, { name: system });

/** By one criterion: a sentence on the first model, a table, and whose the answers were. */
function result(criterion, all) {
  const lines = systems.map(({ name }) => {
    const own = all.filter((row) => row.system === name && row.criterion === criterion);
    const [n, score] = [own.length, mean(own.map((row) => row.score))];
    const [share, low, high] = [score, ...wilson(score, n)].map((one) => Math.round(100 * one));
    const rank = (systems.length * (1 - score) + score).toFixed(1);
    return { name: called(name), n, score, k: Math.round(score * n), share, low, high, rank, mean: score.toFixed(1) };
  });
  const known = lines.filter(({ n }) => n).sort((one, other) => other.score - one.score);
  const [first] = known;
  const level = known.filter(({ score }) => first.score - score < 1e-9).map(({ name }) => name);
  const clear = level.length > 1 ? "tie" : first?.low > 50 ? "clear" : "unclear";
  const text = say(lines.some(({ n }) => n < 3) ? "few" : clear, { ...first, level: level.join(say("and")) });
  const heads = say("heads").split("|");
  const cells = known.map((line) => {
    const style = `margin-left: ${line.low}%; width: ${line.high - line.low}%`;
    const range = make("div", { className: "range" }, say("range", line), make("i", { style }));
    return [line.name, ...say("line", line).split("|"), range].slice(0, heads.length);
  });
  const trials = sequence();
  const whose = state.done.map(({ given: said }, t) => {
    const { answers } = trials[t];
    const sorted = scored ? answers : said[criterion].map((k) => answers[k]);
    const list = sorted.map(({ system, text }) => make("li", {}, make("b", {}, called(system)), text));
    return make("li", {}, items[answers[0].item], make("ol", {}, ...list));
  });
  return [
    make("h2", {}, say(criterion)),
    make("p", {}, text),
    table(heads, cells),
    make("details", {}, make("summary", {}, say("whose")), make("ul", {}, ...whose)),
  ];
}

/** The 95% interval of a share of n (Wilson). */
function wilson(share, n) {
  const z = 1.96 ** 2;
  const half = Math.sqrt(z * (n * share * (1 - share) + z / 4));
  return [-1, 1].map((side) => (n * share + z / 2 + side * half) / (n + z));
}

element("back").onclick = () => goOn("rate", state.done.pop().given);
element("stop").onclick = () => goOn("end");
element("go-on").onclick = begin;
element("language").onclick = () => {
  state.language = say("other");
  turn();
};
openPage();
since = now();
