(() => {
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const PAGE = 50;

// Texts are written as text, and what would turn or hide them is spelled out; joiners stay.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const spelled = code => code < 0x100 ? "\\x" + code.toString(16).padStart(2, "0")
  : code < 0x10000 ? "\\u" + code.toString(16).padStart(4, "0") : "\\U" + code.toString(16).padStart(8, "0");
const shown = text => String(text).replace(HIDDEN, char => "\n\t\u200c\u200d".includes(char) ? char
  : char === "\r" ? "\\r" : spelled(char.codePointAt(0)));
const el = (tag, name, text, ...children) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== null && text !== undefined) made.textContent = shown(text);
  made.append(...children);
  return made;
};
const foreign = (tag, name, text) => {
  const made = el(tag, name + " foreign", text);
  made.dir = "auto";
  return made;
};
const svg = (tag, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
const figure = (value, digits = 2) =>
  value === null || Number.isNaN(value) ? "–" : (value + Math.sign(value) * 1e-9).toFixed(digits).replace("-", "−");
const uniques = values => [...new Set(values)];
const mean = values => values.length ? values.reduce((a, b) => a + b, 0) / values.length : NaN;
const deviation = values => {
  if (values.length < 2) return NaN;
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
};

// Ratings: by judge a list with null where one is missing, or a status.
const read = text => text.split(";").map(cell => cell in data.statuses ? data.statuses[cell]
  : cell.split(",").map(value => value === "" ? null : Number(value)));
const numeric = data.dimensions.map((dimension, place) => dimension.categories.length ? -1 : place).filter(place => place >= 0);
const panel = data.judges.map((judge, place) => judge.control ? -1 : place).filter(place => place >= 0);
data.responses.forEach(response => {
  response.judgments = read(response.ratings);
  response.key = "r/" + encodeURIComponent(response.prompt) + "/" + encodeURIComponent(response.id);
  response.meta = response.meta || {};
});
// A prompt by its first words, where they are known; a long name without its middle.
const shownAs = (names, name) => Object.hasOwn(names, name) && names[name] || name;
const promptName = id => shownAs(data.titles, id);
// Each name in its own direction.
const named = (tag, name, response) => el(tag, name, null, foreign("bdi", "", shownAs(data.names, response.system)), ": ", foreign("bdi", "", promptName(response.prompt)));
const scoresOf = cell => Array.isArray(cell) ? cell.map((value, place) => value === null ? "–"
  : data.dimensions[place].categories.length ? data.dimensions[place].categories[value] : String(value)).join(" · ") : "";

// What a judge wrote, by judge the rounds in their order.
const writtenOf = response => {
  const rounds = new Map();
  for (const [judge, round, rationale, raw, error, because] of response.said || []) {
    let reply = raw || "";
    if (Array.isArray(raw))
      reply = raw[0] + (raw[2] ? JSON.stringify(rationale).slice(1, -1) : rationale) + raw[1];
    if (!rounds.has(judge)) rounds.set(judge, []);
    rounds.get(judge).push({ round, rationale: rationale || "", reply, error, because });
  }
  return rounds;
};

const level = (response, judge) => mean(numeric.map(d => response.judgments[judge][d]).filter(value => value !== null));

// Strips: one mark a judge, stacked where ratings are equal; of all dimensions, the judge's mean.
const strip = (response, place, quoted) => {
  const first = data.dimensions[numeric[0]], dimension = place === null ? { ...first, label: "Overall score", whole: false, categories: [] } : data.dimensions[place];
  const row = el("div", "strip");
  const values = panel.filter(judge => Array.isArray(response.judgments[judge]))
    .map(judge => [judge, place === null ? level(response, judge) : response.judgments[judge][place]])
    .filter(([, value]) => value !== null && !Number.isNaN(value));
  const stacks = new Map(), span = dimension.high - dimension.low || 1;
  values.sort((a, b) => data.judges[a[0]].axis - data.judges[b[0]].axis || a[0] - b[0]);
  const bin = value => dimension.whole ? value : Math.round(30 * (value - dimension.low) / span);
  for (const [, value] of values) stacks.set(bin(value), (stacks.get(bin(value)) || 0) + 1);
  const most = Math.max(1, ...stacks.values()), step = Math.min(9.5, 110 / most), height = Math.ceil(most * step) + 30;
  const at = value => (100 * (value - dimension.low) / span).toFixed(2) + "%";
  const chart = svg("svg", { class: "chart", height, role: "img" });
  chart.append(svg("line", { class: "grid", x1: "0%", x2: "100%", y1: height - 23, y2: height - 23 }));
  for (const [end, anchor] of [[dimension.low, "start"], [dimension.high, "end"]]) {
    const text = svg("text", { x: at(end), y: height - 4, "text-anchor": anchor });
    text.textContent = dimension.categories.length ? shown(dimension.categories[end] ?? "") : end;
    chart.append(text);
  }
  stacks.clear();
  for (const [judge, value] of values) {
    const stack = stacks.get(bin(value)) || 0, axis = data.judges[judge].axis % 4;
    stacks.set(bin(value), stack + 1);
    const mark = svg("use", { href: "#mark" + axis, x: at(value), y: height - 29 - stack * step, class: "axis" + axis + (quoted.includes(judge) ? " quoted" : "") });
    const name = svg("title", {});
    name.textContent = shown(data.judges[judge].name + ": " + figure(value, dimension.whole ? 0 : 2));
    mark.append(name);
    chart.append(mark);
  }
  const rated = values.map(([, value]) => value), middle = mean(rated);
  let summary = "–";
  if (dimension.categories.length) {
    const counts = dimension.categories.map((name, code) => [rated.filter(value => value === code).length, name]);
    summary = counts.filter(([n]) => n).map(([n, name]) => n + " " + name).join(", ") || "–";
  } else if (rated.length) {
    chart.append(svg("line", { class: "whisker", x1: at(middle), x2: at(middle), y1: height - 22, y2: height - 15 }));
    summary = "mean " + figure(middle) + (rated.length > 1 ? ", SD " + figure(deviation(rated)) : "");
  }
  chart.setAttribute("aria-label", dimension.label + ": ratings " + (rated.length ? [...rated].sort((a, b) => a - b).map(value => figure(value, dimension.whole ? 0 : 2)).join(", ") : "none"));
  row.append(foreign("span", "", dimension.label), chart, el("span", "", summary));
  return row;
};

const quote = (response, written, judge, label) => {
  const box = el("div"), who = data.judges[judge], cell = response.judgments[judge];
  box.append(el("b", "", label + ": ", foreign("span", "", who.label), ", " + figure(level(response, judge))), el("p", "", who.model + " · " + scoresOf(cell)));
  const last = (written.get(judge) || []).at(-1);
  if (last && last.rationale) box.append(foreign("div", "said", last.rationale));
  return box;
};
const judgment = (response, written, place) => {
  const who = data.judges[place], cell = response.judgments[place], box = el("div", "judgment");
  const head = el("header", "", null, foreign("b", "", who.label), el("span", "mute", who.model + (who.replicate > 1 ? ", replicate " + who.replicate : "")));
  if (!Array.isArray(cell)) head.append(el("span", "status" + (cell === "abstained" ? "" : " lost"), cell));
  head.append(el("span", "scores", scoresOf(cell)));
  box.append(head);
  const rounds = written.get(place) || [];
  for (const entry of rounds) {
    if (rounds.length > 1) box.append(el("div", "who", "Round " + entry.round));
    if (entry.rationale) box.append(foreign("div", "said", entry.rationale));
    if (entry.because) box.append(el("div", "who", "Changed because: ", foreign("span", "", entry.because)));
    if (entry.error) box.append(foreign("div", "who", entry.error));
    if (entry.reply) {
      const raw = el("details", "", null, el("summary", "", "Raw reply"));
      raw.addEventListener("toggle", () => { if (raw.open && raw.children.length === 1) raw.append(foreign("pre", "", entry.reply)); });
      box.append(raw);
    }
  }
  if (!rounds.length && response.said) box.append(el("div", "who", "Nothing was written for this judgment."));
  return box;
};

// One response: all judges and, side by side, the lowest and the highest; then each dimension, the text, every judgment.
const brief = response => {
  const box = el("div"), written = writtenOf(response), quotes = el("div", "quotes");
  const rated = panel.filter(judge => Array.isArray(response.judgments[judge]));
  const order = rated.filter(judge => !Number.isNaN(level(response, judge))).sort((a, b) => level(response, a) - level(response, b) || a - b);
  const quoted = order.length > 1 ? [order[0], order.at(-1)] : order;
  if (quoted.length) box.append(strip(response, null, quoted));
  quoted.forEach((judge, place) => quotes.append(quote(response, written, judge, quoted.length < 2 ? "Only" : place ? "Highest" : "Lowest")));
  box.append(rated.length ? quotes : el("p", "note", "No judge rated this response."));
  return [box, rated.length, quoted, written];
};
const fill = (box, response) => {
  const [first, n, quoted, written] = brief(response);
  box.append(first);
  if (n) data.dimensions.forEach((_, place) => box.append(strip(response, place, quoted)));
  const about = Object.entries(response.meta).map(([name, value]) => name + ": " + value).join(" · ");
  if (about) box.append(foreign("p", "note", about));
  const text = el("details", "", null, el("summary", "", "text" in response ? "The response, " + response.words + " words" : "The response"));
  text.addEventListener("toggle", () => {
    if (!text.open || text.children.length > 1) return;
    const asked = response.asked || data.prompts[response.prompt];
    for (const [name, words] of [["Prompt", asked], ["Context", response.context], ["Response", response.text]])
      if (words) text.append(el("div", "note", name), foreign("div", "text", words));
    if (!("text" in response)) text.append(el("p", "note", "Its text is not in this page; see responses.jsonl in the run’s folder."));
  });
  const every = el("details", "judgments", null, el("summary", "", "Judgments, with rationales and raw replies: " + data.judges.length));
  every.addEventListener("toggle", () => {
    if (!every.open || every.children.length > 1) return;
    if (!response.said) every.append(el("p", "note", "Rationales and raw replies are not in this page; see judgments.jsonl in the run’s folder."));
    every.append(el("p", "note", "Ratings in this order: " + data.dimensions.map(dimension => dimension.label).join(" · ")));
    data.judges.forEach((_, place) => every.append(judgment(response, written, place)));
  });
  box.append(text, every);
  return text;
};
const article = (response, ...children) => {
  const heading = named("a", "to-response", response);
  heading.href = "#" + response.key;
  return el("article", "", null, el("h3", "", null, heading), ...children);
};

// The most contested on the first screen, and all that are in their section.
const legend = el("p", "note", "One mark is one judge; the line is the mean. Filled: the two judges that are quoted.");
if (data.axes.length > 1) data.axes.forEach((axis, place) => {
  const key = svg("svg", { class: "key", width: 12, height: 12, "aria-hidden": "true" });
  key.append(svg("use", { href: "#mark" + place % 4, x: 6, y: 6, class: "axis" + place % 4 }));
  legend.append(" ", key, " " + shown(axis));
});
const byKey = new Map(data.responses.map(response => ["#" + response.key, response]));
const contested = uniques($$("#contested a.to-response").map(link => link.getAttribute("href"))).map(href => byKey.get(href)).filter(Boolean);
if (contested.length) $("#contested details").before(legend, el("div", "articles", null, ...contested.map(response => article(response, brief(response)[0]))));
if (contested.length && numeric.length && $("#answer .most")) $("#answer .most").append(article(contested[0], strip(contested[0], null, [])));

// Every response; a search finds those that have all of its words.
const texts = $("details.texts"), list = $(".list", texts), query = $("input[name=query]"), more = $("button.more");
const haystack = response => response.haystack ??= [response.id, "system:" + response.system, response.prompt, response.asked || data.prompts[response.prompt] || promptName(response.prompt), response.text || "", response.context || "",
  ...Object.values(response.meta), ...uniques(response.judgments.map(cell => "status:" + (Array.isArray(cell) ? "scored" : cell))),
  ...[...writtenOf(response).values()].flat().flatMap(each => [each.reply || each.rationale, each.error || ""])].join("\n").normalize("NFKC").toLowerCase();
let matching = data.responses, listed = 0;
const opened = (response, on) => {
  const row = document.getElementById(response.key), button = $("button", row), there = $(".detail", row);
  button.setAttribute("aria-expanded", String(on));
  if (there) there.hidden = !on;
  if (there || !on) return;
  const box = el("div", "detail");
  row.append(box);
  fill(box, response).open = true;
};
const extend = upTo => {
  for (; listed < Math.min(upTo, matching.length); listed++) {
    const response = matching[listed], row = el("div", "row"), button = foreign("button", "open", response.id);
    row.id = response.key;
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-expanded") !== "true";
      opened(response, on);
      if (on) history.replaceState(null, "", "#" + response.key);
    });
    row.append(button, named("span", "note", response), el("span", "", figure(response.composite)));
    list.append(row);
  }
  more.hidden = listed >= matching.length;
  more.textContent = "Show " + Math.min(PAGE, matching.length - listed) + " more of " + (matching.length - listed);
};
const search = words => {
  matching = data.responses.filter(response => words.every(word => haystack(response).includes(word)));
  listed = 0;
  list.replaceChildren();
  extend(PAGE);
  $("[role=status]", texts).textContent = matching.length.toLocaleString("en") + " of " + data.responses.length.toLocaleString("en") + " responses";
};
let wait;
query.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(() => search(query.value.normalize("NFKC").toLowerCase().split(/\s+/).filter(Boolean)), 150); });
more.addEventListener("click", () => extend(listed + PAGE));

// Links: #r/PROMPT/ID opens a response, whatever was searched.
const follow = () => {
  const response = byKey.get(location.hash);
  if (!response) return;
  texts.open = true;
  if (!matching.includes(response)) { query.value = ""; search([]); }
  extend(Math.max(listed, matching.indexOf(response) + 1));
  opened(response, true);
  const row = document.getElementById(response.key);
  row.scrollIntoView({ block: "start" });
  $("button", row).focus({ preventScroll: true });
};
addEventListener("hashchange", follow);
search([]);
follow();
})();
