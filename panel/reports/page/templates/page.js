(() => {
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const PAGE = 100;

// Texts are written as text, and what would turn or hide them is spelled out; joiners stay.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const shown = text => String(text).replace(HIDDEN, char => "\n\t\u200c\u200d".includes(char) ? char
  : "⟨U+" + char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "⟩");
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
  value === null || Number.isNaN(value) ? "–" : value.toFixed(digits).replace("-", "−");
const mean = values => values.length ? values.reduce((a, b) => a + b, 0) / values.length : NaN;
const deviation = values => {
  if (values.length < 2) return NaN;
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
};

// Ratings: by judge a list with null where one is missing, or a status.
const read = text => text.split(";").map(cell => cell in data.statuses ? data.statuses[cell]
  : cell.split(",").map(value => value === "" ? null : Number(value)));
const numeric = data.dimensions.map((one, place) => one.categories.length ? -1 : place).filter(place => place >= 0);
const panel = data.judges.map((judge, place) => judge.control ? -1 : place).filter(place => place >= 0);
data.responses.forEach((one, place) => {
  one.place = place;
  one.judgments = read(one.ratings);
  const rated = panel.filter(judge => Array.isArray(one.judgments[judge]));
  const spreads = numeric.map(d => deviation(rated.map(j => one.judgments[j][d]).filter(v => v !== null)));
  one.spread = spreads.length ? mean(spreads) : NaN;
  one.rated = rated.length;
  one.abstained = panel.filter(judge => one.judgments[judge] === "abstained").length;
  one.missing = panel.length - one.rated - one.abstained;
  one.key = "r/" + encodeURIComponent(one.prompt) + "/" + encodeURIComponent(one.id);
  one.meta = one.meta || {};
});
// A prompt by its first words, where they are known.
const promptName = id => data.titles[id] || id;
const status = cell => Array.isArray(cell) ? "scored" : cell;
const scoresOf = cell => Array.isArray(cell) ? cell.map((value, place) => value === null ? "–"
  : data.dimensions[place].categories.length ? data.dimensions[place].categories[value] : String(value)).join(" · ") : "";

// What a judge wrote, by judge the rounds in their order.
const writtenOf = response => {
  const found = new Map();
  for (const [judge, round, rationale, raw, error, because] of response.said || []) {
    let reply = raw || "";
    if (Array.isArray(raw))
      reply = raw[0] + (raw[2] ? JSON.stringify(rationale).slice(1, -1) : rationale) + raw[1];
    if (!found.has(judge)) found.set(judge, []);
    found.get(judge).push({ round, rationale: rationale || "", reply, error, because });
  }
  return found;
};

// Strips: one mark a judge, stacked where ratings are equal.
const strip = (response, place, quoted) => {
  const one = data.dimensions[place], row = el("div", "strip");
  const values = panel.map(judge => [judge, Array.isArray(response.judgments[judge]) ? response.judgments[judge][place] : null])
    .filter(([, value]) => value !== null);
  const stacks = new Map(), span = one.high - one.low || 1;
  values.sort((a, b) => data.judges[a[0]].axis - data.judges[b[0]].axis || a[0] - b[0]);
  const bin = value => one.whole ? value : Math.round(40 * (value - one.low) / span);
  for (const [, value] of values) stacks.set(bin(value), (stacks.get(bin(value)) || 0) + 1);
  const most = Math.max(1, ...stacks.values()), step = Math.min(9.5, 110 / most), height = Math.ceil(most * step) + 16;
  const at = value => (100 * (value - one.low) / span).toFixed(2) + "%";
  const chart = svg("svg", { class: "chart", height, role: "img" });
  chart.append(svg("line", { class: "grid", x1: "0%", x2: "100%", y1: height - 9, y2: height - 9 }));
  stacks.clear();
  for (const [judge, value] of values) {
    const place = stacks.get(bin(value)) || 0;
    stacks.set(bin(value), place + 1);
    const axis = data.judges[judge].axis % 4;
    chart.append(svg("use", { href: "#mark" + axis, x: at(value), y: height - 15 - place * step, "data-judge": judge,
      class: "axis" + axis + (quoted.includes(judge) ? " quoted" : "") }));
  }
  const given = values.map(([, value]) => value), middle = mean(given);
  let told = "–";
  if (one.categories.length) {
    const counts = one.categories.map((name, code) => [given.filter(value => value === code).length, name]);
    told = counts.filter(([n]) => n).map(([n, name]) => n + " " + name).join(", ") || "–";
  } else if (given.length) {
    chart.append(svg("line", { class: "whisker", x1: at(middle), x2: at(middle), y1: height - 8, y2: height - 1 }));
    told = figure(middle) + (given.length > 1 ? " ± " + figure(deviation(given)) : "");
  }
  chart.setAttribute("aria-label", one.label + ": ratings " + (given.length ? [...given].sort((a, b) => a - b).join(", ") : "none"));
  row.append(el("span", "", one.label), chart, el("span", "", told));
  return row;
};
const scale = () => {
  const one = data.dimensions[numeric[0]];
  if (!one || numeric.some(d => data.dimensions[d].low !== one.low || data.dimensions[d].high !== one.high)) return "";
  const row = el("div", "strip"), chart = svg("svg", { class: "chart", height: 16, "aria-hidden": "true" });
  const n = one.whole && one.high - one.low <= 12 ? one.high - one.low : 4;
  for (let i = 0; i <= n; i++) {
    const text = svg("text", { x: 100 * i / n + "%", y: 12, "text-anchor": "middle" });
    text.textContent = +(one.low + (one.high - one.low) * i / n).toFixed(2);
    chart.append(text);
  }
  row.append(el("span"), chart, el("span"));
  return row;
};

const quote = (response, written, judge, label) => {
  const box = el("div"), who = data.judges[judge], cell = response.judgments[judge];
  const own = numeric.map(d => cell[d]).filter(value => value !== null);
  box.append(el("h4", "", label + ": " + who.label + ", " + figure(mean(own))), el("p", "", who.model + " · " + scoresOf(cell)));
  const last = (written.get(judge) || []).at(-1);
  if (last && last.rationale) box.append(foreign("div", "said", last.rationale));
  return box;
};
const judgment = (response, written, place) => {
  const who = data.judges[place], cell = response.judgments[place], box = el("div", "judgment");
  const head = el("header", "", null, el("b", "", who.label), el("span", "mute", who.model + (who.replicate > 1 ? ", replicate " + who.replicate : "")));
  if (status(cell) !== "scored") head.append(el("span", "status" + (cell === "abstained" ? "" : " lost"), cell));
  head.append(el("span", "scores", scoresOf(cell)));
  box.append(head);
  const rounds = written.get(place) || [];
  for (const one of rounds) {
    if (rounds.length > 1) box.append(el("div", "who", "Round " + one.round));
    if (one.rationale) box.append(foreign("div", "said", one.rationale));
    if (one.because) box.append(foreign("div", "who", "Changed because: " + one.because));
    if (one.error) box.append(foreign("div", "who", one.error));
    if (one.reply) {
      const raw = el("details", "", null, el("summary", "", "Raw reply"));
      raw.addEventListener("toggle", () => { if (raw.open && raw.children.length === 1) raw.append(foreign("pre", "", one.reply)); });
      box.append(raw);
    }
  }
  if (!rounds.length && response.said) box.append(el("div", "who", "Nothing was written for this judgment."));
  return box;
};

// One response: strips, the two ends side by side, the text, every judgment.
const fill = (box, response, wanted) => {
  const written = writtenOf(response);
  const rated = panel.filter(judge => Array.isArray(response.judgments[judge]) && numeric.some(d => response.judgments[judge][d] !== null));
  const level = judge => mean(numeric.map(d => response.judgments[judge][d]).filter(value => value !== null));
  const order = [...rated].sort((a, b) => level(a) - level(b) || a - b);
  const quoted = order.length > 1 ? [order[0], order.at(-1)] : order;
  const strips = el("div"), quotes = el("div", "quotes"), columns = el("div", "columns", null, strips, quotes);
  if (panel.some(judge => Array.isArray(response.judgments[judge]))) {
    data.dimensions.forEach((_, place) => strips.append(strip(response, place, quoted)));
    strips.append(scale());
    const select = el("select"), label = el("label", "note follow", "Follow one judge ");
    select.append(new Option("nobody", ""), ...panel.filter(j => Array.isArray(response.judgments[j])).map(j => new Option(shown(data.judges[j].name), j)));
    label.append(select);
    const follow = judge => $$("use", strips).forEach(mark => mark.classList.toggle("followed", judge !== "" && mark.dataset.judge === String(judge)));
    select.addEventListener("change", () => follow(select.value));
    strips.addEventListener("pointerover", event => { const mark = event.target.closest("use"); follow(mark ? mark.dataset.judge : select.value); });
    strips.append(label);
    quoted.forEach((judge, place) => quotes.append(quote(response, written, judge, quoted.length < 2 ? "Only" : place ? "Highest" : "Lowest")));
    box.append(columns);
  } else box.append(el("p", "note", "No judge rated this response."));
  const text = el("details", "", null, el("summary", "", "text" in response ? "The response, " + response.text.split(/\s+/).filter(Boolean).length + " words" : "The response"));
  text.addEventListener("toggle", () => {
    if (!text.open || text.children.length > 1) return;
    const asked = response.asked || data.prompts[response.prompt];
    if (asked) text.append(el("div", "note", "Prompt"), foreign("div", "text", asked));
    if (response.context) text.append(el("div", "note", "Context"), foreign("div", "text", response.context));
    if ("text" in response) text.append(el("div", "note", "Response"), foreign("div", "text", response.text));
    else text.append(el("p", "note", "Its text is not in this page; see responses.jsonl in the run’s folder."));
  });
  const places = data.judges.map((_, place) => place), chosen = wanted ? places.filter(wanted) : places;
  const every = el("details", "judgments", null, el("summary", "", "Judgments, with rationales and raw replies: " + (chosen.length < places.length ? chosen.length + " of " : "") + places.length));
  const list = those => {
    every.replaceChildren(every.firstElementChild);
    if (!response.said) every.append(el("p", "note", "Rationales and raw replies are not in this page; see judgments.jsonl in the run’s folder."));
    every.append(el("p", "note", "Ratings in this order: " + data.dimensions.map(one => one.label).join(" · ")));
    those.forEach(place => every.append(judgment(response, written, place)));
    if (those.length < places.length) {
      const all = el("button", "", "Show all " + places.length);
      all.type = "button";
      all.addEventListener("click", () => list(places));
      every.append(all);
    }
  };
  every.addEventListener("toggle", () => { if (every.open && every.children.length === 1) list(chosen); });
  box.append(text, every);
  return { text, every };
};
// The contested responses, one below the other, as each opens in the list.
const byKey = new Map(data.responses.map(one => ["#" + one.key, one]));
const legend = el("p", "note", "One mark is one judge" + (data.axes.length > 1 ? "; its shape is the axis of the persona:" : ""));
if (data.axes.length > 1) data.axes.forEach((axis, place) => {
  const key = svg("svg", { class: "key", width: 12, height: 12, "aria-hidden": "true" });
  key.append(svg("use", { href: "#mark" + place % 4, x: 6, y: 6, class: "axis" + place % 4 }));
  legend.append(" ", key, " " + shown(axis));
});
legend.append(". The line below is the mean; on the right, mean ± standard deviation over judges. Filled: the two judges that are quoted.");
$$("#contested a.to-response").forEach((link, place) => {
  const response = byKey.get(link.getAttribute("href"));
  if (!response) return;
  const box = el("div", "detail"), heading = foreign("a", "to-response", response.system + ": " + promptName(response.prompt));
  heading.href = "#" + response.key;
  $("#contested").append(...(place ? [] : [legend]), el("article", "", null, el("h3", "", null, heading), box));
  fill(box, response);
});

// Every response.
const table = $("table.all"), head = $("thead tr", table), body = $("tbody", table), form = $("form.filters"), more = $("button.more");
const several = values => new Set(values).size > 1;
// A column of metadata is of numbers where all that is there can be read as such, as from a CSV file.
const empty = value => value === null || value === undefined || value === "";
const asNumber = value => typeof value === "number" ? value : typeof value === "string" && value.trim() !== "" ? Number(value) : NaN;
const metadata = (data.columns || []).map(name => {
  const given = data.responses.map(one => one.meta[name]).filter(value => !empty(value));
  const isNumber = given.length > 0 && given.every(value => Number.isFinite(asNumber(value)));
  return { name, isNumber, of: one => empty(one.meta[name]) ? "" : isNumber ? asNumber(one.meta[name]) : one.meta[name] };
});
const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
const columns = [
  { name: "Response", value: one => one.id },
  { name: "System", value: one => one.system },
  { name: "Prompt", value: one => promptName(one.prompt) },
  ...metadata.slice(0, 3).map(({ name, isNumber, of }) => ({ name, value: of, right: isNumber, optional: true })),
  { name: "Composite", value: one => one.composite, show: value => figure(value), right: true },
  { name: "Std. deviation", value: one => one.spread, show: value => figure(value), right: true },
  { name: "Rated", value: one => one.rated, right: true, optional: true },
  { name: "Abstentions", value: one => one.abstained, right: true, optional: true },
  { name: "Missing", value: one => one.missing, right: true },
];
const sorting = { column: -1, down: false };
columns.forEach((column, place) => {
  const cell = el("th", (column.right ? "r" : "") + (column.optional ? " optional" : "")), button = el("button", "", column.name);
  cell.scope = "col";
  button.type = "button";
  button.addEventListener("click", () => {
    sorting.down = sorting.column === place ? !sorting.down : Boolean(column.right);
    sorting.column = place;
    [...head.children].forEach(one => one.removeAttribute("aria-sort"));
    cell.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
    list();
  });
  cell.append(button);
  head.append(cell);
});
const fields = Object.fromEntries($$("[name]", form).map(one => [one.name, one]));
const options = (select, values) => values.forEach(value => select.append(new Option(shown(value), value)));
const uniques = values => [...new Set(values)];
options(fields.system, uniques(data.responses.map(one => one.system)).sort());
uniques(data.responses.map(one => one.prompt)).forEach(id => fields.prompt.append(new Option(shown(promptName(id)), id)));
uniques(data.judges.map(judge => judge.persona)).forEach(id => fields.persona.append(new Option(shown(data.judges.find(j => j.persona === id).label), id)));
options(fields.model, uniques(data.judges.map(judge => judge.model)));
options(fields.status, uniques(data.responses.flatMap(one => one.judgments.map(status))).sort());
// What few responses share is chosen from a list, other numbers by a range; of texts that nearly every
// response has its own of, such as digests, search finds one.
const VALUES = 50;
const byColumn = metadata.map(({ name, isNumber, of }) => {
  const values = uniques(data.responses.map(of)).sort(compare), label = el("label", "", name + " ");
  if (values.length < 2) return null;
  const listed = values.length <= VALUES && 2 * values.length <= data.responses.length;
  if (!listed && !isNumber) return null;
  $(".metadata", form).append(label);
  if (listed) {
    const select = el("select");
    select.append(new Option("all", ""));
    values.forEach((value, place) => select.append(new Option(value === "" ? "(none)" : shown(value), place + 1)));
    label.append(select);
    return { name, matches: one => !select.value || of(one) === values[select.value - 1] };
  }
  const [least, most] = ["from", "to"].map(end => {
    const input = el("input", "end");
    input.type = "number";
    input.step = "any";
    input.placeholder = end;
    input.setAttribute("aria-label", shown(name) + ", " + end);
    return input;
  });
  label.append(el("span", "range", null, least, most));
  return { name, matches: one => !(least.value || most.value) || of(one) !== ""
    && (!least.value || of(one) >= Number(least.value)) && (!most.value || of(one) <= Number(most.value)) };
}).filter(Boolean);
const rest = metadata.map(one => one.name).filter(name => !byColumn.some(one => one.name === name));
form.hidden = false;
form.addEventListener("submit", event => event.preventDefault());

const haystack = response => response.haystack ??= [response.id, response.system, response.prompt, response.asked || data.prompts[response.prompt] || "",
  response.text || "", response.context || "", ...Object.values(response.meta), ...[...writtenOf(response).values()].flat().flatMap(one => [one.reply || one.rationale, one.error || ""])].join("\n").toLowerCase();
const wantedJudgment = response => {
  const { persona, model, status: wanted } = fields;
  if (!persona.value && !model.value && !wanted.value) return null;
  return place => (!persona.value || data.judges[place].persona === persona.value) && (!model.value || data.judges[place].model === model.value)
    && (!wanted.value || status(response.judgments[place]) === wanted.value);
};
const matches = response => {
  if (fields.system.value && response.system !== fields.system.value) return false;
  if (fields.prompt.value && response.prompt !== fields.prompt.value) return false;
  if (!byColumn.every(one => one.matches(response))) return false;
  const wanted = wantedJudgment(response);
  if (wanted && !data.judges.some((_, place) => wanted(place))) return false;
  const query = fields.query.value.trim().toLowerCase();
  return !query || haystack(response).includes(query);
};
let found = [], listed = 0;
const open = (row, response, on) => {
  const button = $(".open", row), next = row.nextElementSibling, there = next && next.classList.contains("opened") ? next : null;
  button.setAttribute("aria-expanded", String(on));
  if (there) there.hidden = !on;
  if (there || !on) return;
  const opened = el("tr", "opened"), cell = el("td");
  cell.colSpan = columns.length;
  const others = rest.filter(name => name in response.meta);
  if (others.length) cell.append(foreign("p", "note", others.map(name => name + ": " + response.meta[name]).join(" · ")));
  const parts = fill(cell, response, wantedJudgment(response));
  parts.text.open = true;
  parts.every.open = Boolean(wantedJudgment(response));
  opened.append(cell);
  row.after(opened);
};
const line = response => {
  const row = el("tr");
  row.id = response.key;
  columns.forEach((column, place) => {
    const value = column.value(response), text = column.show ? column.show(value) : value;
    const cell = el(place ? "td" : "th", (column.right ? "r" : "") + (column.optional ? " optional" : ""));
    if (place) { cell.textContent = shown(text); cell.classList.add("foreign"); }
    else {
      const button = foreign("button", "open", text);
      cell.scope = "row";
      button.type = "button";
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-expanded") !== "true";
        open(row, response, on);
        if (on) history.replaceState(null, "", "#" + response.key);
      });
      cell.append(button);
    }
    row.append(cell);
  });
  return row;
};
const extend = upTo => {
  const rows = document.createDocumentFragment();
  for (; listed < Math.min(upTo, found.length); listed++) rows.append(line(found[listed]));
  body.append(rows);
  more.hidden = listed >= found.length;
  more.textContent = "Show " + Math.min(PAGE, found.length - listed) + " more of " + (found.length - listed);
};
const list = () => {
  found = data.responses.filter(matches);
  if (sorting.column >= 0) {
    const { value } = columns[sorting.column], sign = sorting.down ? -1 : 1, none = one => one === null || one === "" || Number.isNaN(one);
    found.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (none(x) || none(y)) return none(x) - none(y) || a.place - b.place;
      if (x === y) return a.place - b.place;
      return compare(x, y) * sign || a.place - b.place;
    });
  }
  listed = 0;
  body.replaceChildren();
  extend(PAGE);
  $(".found").textContent = found.length.toLocaleString("en") + " of " + data.responses.length.toLocaleString("en") + " responses";
};
more.addEventListener("click", () => extend(listed + PAGE));
let wait;
fields.query.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(list, 150); });
form.addEventListener("change", list);
const clear = () => {
  $$("input, select", form).forEach(one => { one.value = ""; });
  list();
};
form.addEventListener("reset", event => { event.preventDefault(); clear(); });

// Links: #r/PROMPT/ID opens a response, whatever filters are set.
const follow = () => {
  const key = location.hash.slice(1), response = data.responses.find(one => one.key === key);
  if (!response) return;
  if (!found.includes(response)) clear();
  extend(Math.max(listed, found.indexOf(response) + 1));
  const row = document.getElementById(key);
  open(row, response, true);
  row.scrollIntoView({ block: "start" });
  $(".open", row).focus({ preventScroll: true });
};
addEventListener("hashchange", follow);
list();
follow();
})();
