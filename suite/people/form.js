// Ten words by one person, checked by people's rule (suite/people/lists.py), timed, scored, and written as CSV.

const TEN = 10;
const SEVEN = 7; // words that count
// Above a row's number, as form.py packs it: a noun; several nouns; a name; the number is one of `parts`.
const [NOUN, AMBIGUOUS, PROPER, PARTS] = [20, 21, 22, 23].map((bit) => 1 << bit);
const ROW = NOUN - 1;
const LONGEST_WORD = 40;
const LONGEST_TEXT = 200; // of a field
const LONGEST_PASTED = 1 << 16;
const PAUSE = 1200; // milliseconds without a key, after which a word is judged though its field has not been left

const japanese = settings.language === "ja";

// ---- A word as it is read ----

const SCRIPT = new RegExp(`^${settings.script}`, "u");
const EDGES = "\\s\\p{DI}。．.「」『』\"'“”・()（）\\[\\]<#*\\-:,、!?！？";
const AROUND = new RegExp(`^[${EDGES}]+|[${EDGES}]+$`, "gu");
const NUMBER = /^\s*(?:[(]?[0-9]{1,2}[).:\s]+|[一二三四五六七八九十][.):、]\s*)?[\s・•*●○■-]*/u;
const READING = /([\p{L}\p{N}_])[ \t]*(?:\([^()]*\)|[[【〈《<][ぁ-ゖァ-ヺー]+[\]】〉》>])/gu;
const BETWEEN = /[\n\r\t,，、､;；]+/u;

/** What stands in a field without numbers, a reading in brackets and signs around it, in characters of normal width. */
function tidy(text) {
  return text.slice(0, LONGEST_TEXT).normalize("NFKC").replace(READING, "$1").replace(NUMBER, "").replace(AROUND, "");
}

/** A word by which it is looked up. */
function plain(text) {
  const word = tidy(text);
  return japanese ? word : word.toLowerCase();
}

/** The words of a text that was pasted: by lines and commas, else by spaces. */
function pieces(text) {
  const words = (parts) => parts.map(tidy).filter((word) => word !== "");
  const lines = words(text.slice(0, LONGEST_PASTED).split(BETWEEN));
  if (!japanese && lines.length > 1) {
    return lines;
  }
  return words(lines.flatMap((line) => line.split(/\s+/u)));
}

// ---- The dictionary and its vectors ----

let dictionary = null; // until it is unpacked

/** The bytes of a packed part of the page. */
async function unpack(name) {
  const holder = element(`packed-${name}`);
  const packed = Uint8Array.from(atob(holder.textContent), (character) => character.charCodeAt(0));
  holder.remove();
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

async function load() {
  const words = new TextDecoder().decode(await unpack("words")).split("\n");
  const rows = new Uint32Array(await unpack("rows"));
  const same = new Int32Array(await unpack("same"));
  const parts = JSON.parse(new TextDecoder().decode(await unpack("parts")));
  const scales = new Float32Array(await unpack("scales"));
  const numbers = new Int8Array(await unpack("numbers"));
  const places = new Map(words.map((word, place) => [word, place]));
  dictionary = { words, places, rows, same, parts, scales, numbers, size: numbers.length / scales.length };
}

/** A word's place in the dictionary, or -1. */
const placeOf = (word) => dictionary.places.get(word) ?? -1;

/** The rows whose mean is a word's vector; none if it has no vector. */
function rowsOf(word) {
  const { rows, parts } = dictionary;
  const row = rows[placeOf(word)];
  return row & PARTS ? parts[row & ROW] : row & ROW ? [row & ROW] : [];
}

/** A word's vector of length 1. */
function vectorOf(word) {
  const { numbers, scales, size } = dictionary;
  const vector = new Float64Array(size);
  for (const row of rowsOf(word)) {
    for (let k = 0; k < size; k++) {
      vector[k] += numbers[(row - 1) * size + k] * scales[row - 1];
    }
  }
  const length = Math.hypot(...vector);
  return vector.map((number) => number / length);
}

// ---- People's rule ----

/** What a word is worth alone: ok, later (nobody here can say), or why it does not count. */
function verdictOf(word) {
  const rest = word.slice(SCRIPT.exec(word)[0].length);
  if (rest !== "") {
    return /^[\p{L}\p{N}\p{M}]/u.test(rest) ? "not_script" : "symbol";
  }
  if (dictionary === null) {
    return "later";
  }
  const row = dictionary.rows[placeOf(word)];
  if ([...word].length > LONGEST_WORD) {
    return "not_noun";
  }
  if (row === undefined) {
    return japanese ? "later" : "not_noun";
  }
  const known = rowsOf(word).length > 0;
  if (row & PROPER && (known || settings.reject_proper_nouns)) {
    return "proper_noun";
  }
  if (!(row & NOUN)) {
    return "not_noun";
  }
  const without = japanese ? "no_vector" : "later";
  return row & AMBIGUOUS ? "ambiguous" : known ? "ok" : without;
}

/** Whether a word counts; a name does unless the page was made to refuse it. */
function counts({ verdict }) {
  return verdict === "ok" || (verdict === "proper_noun" && !settings.reject_proper_nouns);
}

/** What a word's other spellings share with it. */
function identityOf(word) {
  const place = dictionary ? placeOf(word) : -1;
  return place < 0 ? word : dictionary.words[place - dictionary.same[place]];
}

/** The words of ten fields, each with its verdict; "" for an empty one. */
function judge(texts) {
  const seen = new Set();
  return texts.map(plain).map((word) => {
    let verdict = word && verdictOf(word);
    if (["ok", "later", "no_vector", "ambiguous", "proper_noun"].includes(verdict)) {
      const identity = identityOf(word);
      verdict = seen.has(identity) ? "repeated_word" : verdict;
      seen.add(identity);
    }
    return { word, verdict };
  });
}

/** The first seven valid words with their distances and the score; null if a word that is judged later may count. */
function scored(judged) {
  const counted = [];
  for (const one of judged) {
    if (one.verdict === "later") {
      return null;
    }
    if (counts(one) && counted.push(one.word) === SEVEN) {
      break;
    }
  }
  if (counted.length < SEVEN) {
    return null;
  }
  const vectors = counted.map(vectorOf);
  const words = counted.map((word, k) => {
    const others = vectors.filter((_, other) => other !== k);
    const distances = others.map((other) => 1 - other.reduce((sum, number, i) => sum + number * vectors[k][i], 0));
    return { word, distances, mean: mean(distances) };
  });
  return { words, score: mean(words.map((own) => own.mean)) };
}

// ---- What is kept ----

function blank() {
  return {
    ended: null,
    words: Array(TEN).fill(""),
    first: Array(TEN).fill(null), // when a word's first letter came, and its last change
    last: Array(TEN).fill(null),
  };
}

// ---- CSV ----

/** The answers as `sozo people` reads them; the page's score stands there only where it is that of `sozo people`. */
function csv() {
  const judged = judge(state.words);
  const since = (time) => (time === null ? "" : ((time - state.started) / 1000).toFixed(1));
  const columns = [
    ["participant", state.participant],
    ["group", state.group],
    ["trial", state.trial],
    ...state.words.map((text, k) => [`word${k + 1}`, tidy(text)]),
    ...state.first.map((time, k) => [`seconds_first_${k + 1}`, since(time)]),
    ...state.last.map((time, k) => [`seconds_last_${k + 1}`, since(time)]),
    ["seconds_all", since(state.ended)],
    ["seconds_limit", settings.seconds],
    ["instruction", instruction()],
    ["notes_shown", settings.show_notes ? "yes" : "no"],
    ["score_shown", settings.show_score ? "yes" : "no"],
    ["began", localTime(state.began)],
    ["agreed", element("consent").hidden ? "" : "yes"],
    ["language", settings.language],
    ["page_later", judged.filter(({ verdict }) => verdict === "later").map(({ word }) => word).join(say("comma"))],
    ["page_score", result(judged)?.score.toFixed(4)],
    ["page_scale", settings.scale],
  ];
  return csvOf([Object.fromEntries(columns)]);
}

/** The task and its rules, as the page shows them. */
function instruction() {
  const lines = [...document.querySelectorAll("#start .task, #start .rules li")];
  return lines.map((line) => line.textContent.trim()).join(japanese ? "" : " ");
}

/** A time since 1970 by this device's own clock: 2026-05-01 10:00:00 +09:00. */
function localTime(time) {
  const ahead = -new Date(time).getTimezoneOffset(); // minutes
  const two = (number) => String(Math.trunc(Math.abs(number))).padStart(2, "0");
  const own = new Date(time + 60000 * ahead).toISOString().slice(0, 19).replace("T", " ");
  return `${own} ${ahead < 0 ? "-" : "+"}${two(ahead / 60)}:${two(ahead % 60)}`;
}

/** The score that may be shown, or null. */
function result(judged) {
  const valid = judged.filter(counts).length;
  return settings.show_score && dictionary && valid >= settings.minimum ? scored(judged) : null;
}

// ---- The page ----

const inputs = [];
const notes = [];
const settled = Array(TEN).fill(true); // the word stands as it is: what is wrong with it may be said
let composing = false;
let pause = 0;
let clock = 0;

const written = () => state.words.some((word) => word.trim() !== "");

function begin() {
  state.stage = "write";
  keep();
  writePage();
  inputs[0].focus();
}

function makeFields() {
  for (let k = 0; k < TEN; k++) {
    const field = element("field").content.firstElementChild.cloneNode(true);
    const [label, input, note] = field.children;
    label.textContent = k + 1;
    label.htmlFor = input.id = `word${k + 1}`;
    label.ariaLabel = input.ariaLabel = say("word", { n: k + 1 });
    note.id = `note${k + 1}`;
    input.setAttribute("aria-describedby", note.id);
    input.addEventListener("compositionstart", () => {
      composing = true;
      clearTimeout(pause);
    });
    input.addEventListener("compositionend", () => {
      composing = false;
      changed(k);
    });
    input.oninput = () => changed(k);
    input.onblur = () => settle(k);
    input.onpaste = (event) => paste(event, k);
    input.onkeydown = (event) => enter(event, k);
    inputs.push(input);
    notes.push(note);
    element("fields").append(field);
  }
}

/** A field's text is another: it is timed and kept, and judged unless an input method is still at work. */
function changed(k) {
  const text = inputs[k].value;
  if (text !== state.words[k] && state.stage === "write") {
    state.words[k] = text;
    state.last[k] = text.trim() === "" ? null : now();
    state.first[k] = text.trim() === "" ? null : (state.first[k] ?? now());
    keep();
  }
  settled[k] = false;
  clearTimeout(pause);
  if (!composing) {
    pause = setTimeout(() => {
      settled[k] = true;
      showNotes();
    }, PAUSE);
    showNotes();
  }
}

/** A field is left: its word is written as it is read, and several words go to fields of their own. */
function settle(k) {
  if (state.stage !== "write" || composing) {
    return;
  }
  const words = pieces(inputs[k].value);
  if (words.length > 1 && BETWEEN.test(inputs[k].value.trim())) {
    setWord(k, "");
    distribute(k, words);
  } else {
    setWord(k, tidy(inputs[k].value));
  }
  settled[k] = true;
  clearTimeout(pause);
  showNotes();
  const { word, verdict } = judge(state.words)[k];
  if (settings.show_notes && dictionary && verdict && verdict !== "ok") {
    tell("live", "at", { n: k + 1, word, note: say(verdict) });
  }
}

function setWord(k, word) {
  if (word !== inputs[k].value) {
    inputs[k].value = word;
    state.words[k] = word;
    if (word === "") {
      state.first[k] = state.last[k] = null;
    }
    keep();
  }
}

/** Words go to the empty fields from k on; the others are named. */
function distribute(k, words) {
  const order = [...inputs.keys()].filter((i) => i >= k && inputs[i].value.trim() === "");
  order.slice(0, words.length).forEach((i, number) => {
    setWord(i, words[number]);
    state.first[i] = state.last[i] = now();
    settled[i] = true;
  });
  keep();
  const left = words.slice(order.length).join(say("comma")).slice(0, LONGEST_TEXT);
  element("page-note").textContent = left && say("no_room", { words: left });
  showNotes();
}

function paste(event, k) {
  const words = pieces(event.clipboardData.getData("text"));
  if (words.length > 1) {
    event.preventDefault();
    distribute(k, words);
  }
}

/** Enter leads to the next field, and from the last one to the button; it never presses that. */
function enter(event, k) {
  if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) {
    return;
  }
  event.preventDefault();
  if (!event.repeat) {
    (inputs[k + 1] ?? element("finish")).focus();
  }
}

function showNotes() {
  const judged = judge(state.words);
  judged.forEach(({ verdict }, k) => {
    const known = settings.show_notes && (verdict === "ok" || (settled[k] && dictionary));
    const said = known ? verdict : "";
    notes[k].textContent = said && say(said);
    notes[k].parentElement.className = said;
  });
  tell("count", "count", { n: judged.filter(({ word }) => word).length });
}

function writePage() {
  inputs.forEach((input, k) => {
    input.value = state.words[k];
    settled[k] = true;
  });
  element("page-note").textContent = "";
  element("live").textContent = "";
  element("sure").hidden = true;
  showNotes();
  clearInterval(clock);
  element("time").textContent = "";
  if (settings.seconds) {
    clock = setInterval(tick, 250);
    tick();
  }
  show("write");
}

function tick() {
  const left = Math.max(0, Math.ceil((state.started - now()) / 1000 + settings.seconds));
  const time = say("left", { time: `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` });
  if (time !== element("time").textContent) {
    element("time").textContent = time;
    if (left === 30 || left === 10) {
      tell("live", "soon", { n: left });
    }
  }
  if (left === 0) {
    finish();
  }
}

function askToFinish() {
  inputs.forEach((_, k) => settle(k));
  const empty = state.words.filter((word) => tidy(word) === "").length;
  if (empty === 0) {
    finish();
    return;
  }
  tell("unfinished", "unfinished", { n: empty });
  element("sure").hidden = false;
  element("go-on").focus();
}

async function finish() {
  if (state.stage !== "write") {
    return;
  }
  composing = false;
  inputs.forEach((_, k) => settle(k));
  state.stage = "end";
  state.ended = Math.min(now(), state.started + 1000 * (settings.seconds ?? Infinity));
  clearInterval(clock);
  clearTimeout(pause);
  keep();
  await loaded;
  resultPage();
}

function resultPage() {
  const timeUp = settings.seconds && state.ended - state.started >= 1000 * settings.seconds;
  element("time-up").hidden = !timeUp;
  element("result").hidden = !settings.show_score;
  if (settings.show_score) {
    showResult(judge(state.words));
  }
  endPage(csv());
}

function showResult(judged) {
  const found = result(judged);
  const box = element("result");
  box.replaceChildren(make("h2", {}, say("score_is")));
  const counted = found?.words.map(({ word }) => word) ?? [];
  if (found) {
    box.append(
      make("p", { className: "score", textContent: found.score.toFixed(3) }),
      make("p", { className: "quiet", textContent: say("score_means") }),
      picture(found.words),
      make("p", { className: "quiet", textContent: say("picture_says") }),
    );
  } else {
    const n = judged.filter(counts).length;
    const later = judged.filter(({ verdict }) => verdict === "later").length;
    const enough = n + later >= settings.minimum;
    const facts = { n, minimum: settings.minimum };
    box.append(make("p", {}, say(enough ? "score_later" : "too_few", facts)));
  }
  const others = judged.filter(({ word, verdict }) => word && !counted.includes(word));
  if (others.length) {
    // Nothing can be changed any more: what a note advises is left out.
    const note = (one) => (counts(one) ? say(found ? "not_needed" : "ok") : say(one.verdict).split(say("stop"))[0]);
    const lines = others.map((one) => make("li", {}, make("b", {}, one.word), ` ${note(one)}`));
    box.append(make("h3", {}, say(found ? "others" : "word_head")), make("ul", {}, ...lines));
  }
}

/** A row for each word: its mean distance, and a strip with a dot for each of the other six. */
function picture(words) {
  const all = words.flatMap(({ distances }) => distances);
  const low = Math.floor(10 * Math.min(0.4, ...all)) / 10;
  const high = Math.ceil(10 * Math.max(1.2, ...all)) / 10;
  const rows = words.map(({ word, distances, mean: own }) => {
    const numbers = distances.map((distance) => distance.toFixed(2)).join(say("comma"));
    const text = say("picture_of", { word, distances: numbers, mean: own.toFixed(3) });
    const at = (distance, className) =>
      make("i", { className, style: `left: ${(100 * (distance - low)) / (high - low)}%` });
    const dots = distances.map((distance) => at(distance, "dot"));
    const strip = make("div", { className: "strip", role: "img", ariaLabel: text }, at(own, "mean"), ...dots);
    return [word, own.toFixed(3), strip];
  });
  return table(["word_head", "distance_head", "picture_head"].map((name) => say(name, { low, high })), rows);
}

function resume() {
  if (state.stage === "write") {
    writePage();
  } else {
    loaded.then(resultPage);
  }
}

makeFields();
element("finish").onclick = askToFinish;
element("finish").onkeydown = (event) => {
  if (event.repeat) {
    event.preventDefault(); // Enter is still down from the last field
  }
};
element("finish-anyway").onclick = finish;
element("go-on").onclick = () => {
  element("sure").hidden = true;
  (inputs.find((input) => input.value.trim() === "") ?? inputs[0]).focus();
};
const loaded = load().then(showNotes, () => {
  tell("page-note", "no_unpacking");
});
element("limit").hidden = !settings.seconds;
openPage();
