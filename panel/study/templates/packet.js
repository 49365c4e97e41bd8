(() => {
"use strict";
const packet = JSON.parse(document.getElementById("packet").textContent);
const main = document.getElementById("step");
const PLACE = "persona-panel-study/" + packet.study + "/" + packet.packet;
const NOT_ASSESSABLE = "not_assessable";

// Elements: texts are written as text, never as markup, and what would turn or hide is spelled out.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const spelled = code => code < 0x100 ? "\\x" + code.toString(16).padStart(2, "0")
  : code < 0x10000 ? "\\u" + code.toString(16).padStart(4, "0") : "\\U" + code.toString(16).padStart(8, "0");
const shown = text => String(text).replace(HIDDEN, char => "\n\t\u200c\u200d".includes(char) ? char
  : char === "\r" ? "\\r" : spelled(char.codePointAt(0)));
const el = (tag, attributes, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "onclick" || name === "oninput" || name === "onsubmit") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter(child => child !== null).map(child => typeof child === "string" ? shown(child) : child));
  return made;
};
const foreign = (tag, name, text) => el(tag, {class: name, dir: "auto"}, text);
let message = "";
const say = text => { message = text; document.getElementById("said").textContent = text; };

// SHA-256 (FIPS 180-4): the browser's own is not there for every file that is opened from a disk.
const sha256 = text => {
  const bytes = new TextEncoder().encode(text);
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every(p => n % p)) primes.push(n);
  const fraction = x => Math.floor((x - Math.floor(x)) * 4294967296) >>> 0;
  const k = primes.map(p => fraction(Math.cbrt(p)));
  const h = primes.slice(0, 8).map(p => fraction(Math.sqrt(p)));
  const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6);
  padded.set(bytes);
  padded[bytes.length] = 128;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 536870912));
  view.setUint32(padded.length - 4, (bytes.length * 8) >>> 0);
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  const w = new Uint32Array(64);
  for (let start = 0; start < padded.length; start += 64) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) { w[i] = view.getUint32(start + 4 * i); continue; }
      const a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
    }
    const s = h.slice();
    for (let i = 0; i < 64; i++) {
      const first = (s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i]) | 0;
      const second = ((turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]))) | 0;
      s.pop();
      s.unshift((first + second) | 0);
      s[4] = (s[4] + first) | 0;
    }
    s.forEach((value, place) => { h[place] = (h[place] + value) | 0; });
  }
  return h.map(value => (value >>> 0).toString(16).padStart(8, "0")).join("");
};
const sorted = value => Array.isArray(value) ? value.map(sorted)
  : value && typeof value === "object"
    ? Object.fromEntries(Object.keys(value).sort().map(name => [name, sorted(value[name])])) : value;

// What was answered, kept in the browser as it is given.
const fresh = () => ({started: null, consented: false, step: 0, rank: {}, rate: {}, milliseconds: {}});
let state = fresh();
let keeps = true;
let exported = false;
const save = () => {
  exported = false;
  try {
    localStorage.setItem(PLACE, JSON.stringify(state));
    keeps = true;
  } catch {
    keeps = false;
  }
  document.getElementById("saved").textContent = keeps ? "Saved in this browser"
    : "Not saved: this browser keeps nothing for this page. Save a copy before you close it.";
  document.getElementById("saved").className = keeps ? "note" : "warn";
};
const takeUp = document_ => {
  const from = fresh();
  for (const ranked of document_.rankings) {
    from.rank[ranked.set] = {ranks: ranked.ranks, reason: ranked.reason};
    from.milliseconds["rank/" + ranked.set] = ranked.milliseconds;
  }
  for (const rated of document_.ratings) {
    from.rate[rated.text] = {scores: rated.scores, reason: rated.reason};
    from.milliseconds["rate/" + rated.text] = rated.milliseconds;
  }
  from.started = document_.started;
  from.consented = document_.consented;
  from.step = steps.findIndex(step => unanswered(step, from).length > 0);
  if (from.step < 1) from.step = from.consented ? steps.length - 1 : 0;
  return from;
};

// The steps: the introduction, each set's ranking, each text's ratings, the end.
const steps = [{kind: "intro", name: "intro"}];
packet.sets.forEach((set, place) => {
  for (const task of packet.tasks) {
    if (task === "rank") steps.push({kind: "rank", name: "rank/" + set.id, set, place});
    else for (const text of set.texts) steps.push({kind: "rate", name: "rate/" + text.id, set, text, place});
  }
});
steps.push({kind: "end", name: "end"});
const unanswered = (step, of = state) => {
  if (step.kind === "rank") {
    const answer = of.rank[step.set.id] || {ranks: {}, reason: ""};
    const lacks = step.set.texts.filter(text => !(text.id in answer.ranks)).map(text => text.id);
    return answer.reason.trim() ? lacks : [...lacks, "reason"];
  }
  if (step.kind === "rate") {
    const answer = of.rate[step.text.id] || {scores: {}, reason: ""};
    const lacks = packet.dimensions.filter(dimension => !(dimension.id in answer.scores)).map(dimension => dimension.id);
    return answer.reason.trim() ? lacks : [...lacks, "reason"];
  }
  return [];
};

// Time is counted while the page is in view.
let since = performance.now();
const count = () => {
  const now = performance.now();
  const step = steps[state.step];
  if (!document.hidden && step.kind !== "intro" && step.kind !== "end") {
    state.milliseconds[step.name] = Math.round((state.milliseconds[step.name] || 0) + now - since);
  }
  since = now;
};
document.addEventListener("visibilitychange", () => {
  // What was in view until now counts.
  const now = performance.now();
  const step = steps[state.step];
  if (document.hidden && step.kind !== "intro" && step.kind !== "end") {
    state.milliseconds[step.name] = Math.round((state.milliseconds[step.name] || 0) + now - since);
    save();
  }
  since = now;
});

const answers = () => {
  count();
  return {
    schema: "persona-panel/study-answers/1", study: packet.study, packet: packet.packet,
    packet_sha256: packet.sha256, consented: state.consented, started: state.started,
    exported: new Date().toISOString(),
    rankings: steps.filter(step => step.kind === "rank").map(step => ({
      set: step.set.id, ranks: (state.rank[step.set.id] || {ranks: {}}).ranks,
      reason: (state.rank[step.set.id] || {reason: ""}).reason,
      milliseconds: state.milliseconds[step.name] || 0,
    })),
    ratings: steps.filter(step => step.kind === "rate").map(step => ({
      text: step.text.id, scores: (state.rate[step.text.id] || {scores: {}}).scores,
      reason: (state.rate[step.text.id] || {reason: ""}).reason,
      milliseconds: state.milliseconds[step.name] || 0,
    })),
  };
};
const download = () => {
  const document_ = answers();
  // Half a surrogate pair cannot be written in UTF-8, so that its digest would differ.
  const whole = JSON.parse(JSON.stringify(document_).replace(/\\ud[89a-f][0-9a-f]{2}/g, "\\ufffd"));
  whole.sha256 = sha256(JSON.stringify(sorted(whole)));
  const link = el("a", {
    href: URL.createObjectURL(new Blob([JSON.stringify(whole, null, 1)], {type: "application/json"})),
    download: "answers-" + packet.packet + ".json",
  });
  document.body.append(link);
  link.click();
  link.remove();
  exported = true;
  say("The file answers-" + packet.packet + ".json is in your downloads. Send it to those who invited you.");
};
const load = file => file.text().then(text => {
  let copy;
  try { copy = JSON.parse(text); } catch { copy = {}; }
  if (copy.packet_sha256 !== packet.sha256) {
    say("This is not a copy of answers to this page.");
    return;
  }
  state = takeUp(copy);
  save();
  show();
  say("Your answers are here again.");
});

// What is on the screen.
const paragraphs = text => foreign("div", "said-text", text);
const promptOf = set => el("section", {}, el("h2", {}, packet.part[0].toUpperCase() + packet.part.slice(1)),
  foreign("div", "text prompt", set.prompt));
const article = text => el("article", {},
  el("h3", {}, "Text " + text.label),
  text.context ? el("details", {open: true}, el("summary", {}, "What it is about"), foreign("div", "text", text.context)) : null,
  foreign("div", "text", text.text));
const choice = (name, value, label, checked, oninput) => el("label", {},
  el("input", {type: "radio", name, value, checked, oninput}), ...[label].flat());
// What the ends of a scale mean stands next to its first and last field; a screen reader says it with these.
const ended = (low, high, ...fields) => el("div", {class: "ends"},
  el("span", {class: "end", "aria-hidden": "true"}, low), el("div", {class: "scale"}, ...fields),
  el("span", {class: "end", "aria-hidden": "true"}, high));
const numbered = (name, values, low, high, current, give) => ended(
  values[0] + ": " + low, values.at(-1) + ": " + high,
  ...values.map((value, place) => {
    const means = place === 0 ? low : place === values.length - 1 ? high : null;
    return choice(name, value, [String(value), means === null ? null : el("span", {class: "unseen"}, ": " + means)],
      current === value, give(value));
  }));
const reasonOf = (answer, label) => [
  el("label", {class: "block", for: "reason"}, label),
  el("textarea", {id: "reason", oninput: event => { answer().reason = event.target.value; save(); }}, ),
];
const ranking = step => {
  const answer = () => state.rank[step.set.id] ||= {ranks: {}, reason: ""};
  const places = step.set.texts.map((_, place) => place + 1);
  const form = step.set.texts.map(text => {
    const shownText = article(text);
    const name = "rank-" + text.id;
    const current = (state.rank[step.set.id] || {ranks: {}}).ranks[text.id];
    const give = rank => () => { answer().ranks[text.id] = rank; save(); };
    shownText.append(el("fieldset", {id: "field-" + text.id},
      el("legend", {}, "Rank of text " + text.label),
      numbered(name, places, packet.ranking.first, packet.ranking.last, current, give),
      packet.not_assessable ? el("div", {class: "scale"},
        choice(name, NOT_ASSESSABLE, "Cannot be compared", current === NOT_ASSESSABLE, give(NOT_ASSESSABLE))) : null));
    return shownText;
  });
  return [
    el("h1", {tabindex: -1}, "Rank " + step.set.texts.length + " texts"),
    paragraphs(packet.question), promptOf(step.set),
    el("p", {}, "Read all texts, then give each a rank: 1 to the text that is " + packet.ranking.first + ", " + places.length
      + " to the text that is " + packet.ranking.last + ", going by " + packet.ranking.by.join(", ")
      + (packet.ranking.by.length > 1 ? ", taken together" : "") + ". Texts that are equal in this may share a rank."),
    ...form, ...reasonOf(answer, "Why did you rank them so?"),
  ];
};
const scaleOf = (step, dimension, answer) => {
  const name = "score-" + dimension.id;
  const current = (state.rate[step.text.id] || {scores: {}}).scores[dimension.id];
  const give = value => () => { answer().scores[dimension.id] = value; save(); };
  const cannot = packet.not_assessable
    ? choice(name, NOT_ASSESSABLE, "Cannot be assessed", current === NOT_ASSESSABLE, give(NOT_ASSESSABLE)) : null;
  const apart = cannot && el("div", {class: "scale"}, cannot);
  if (dimension.kind === "category") {
    return [el("div", {class: "scale list"}, ...dimension.values.map(([value, means]) =>
      choice(name, value, value + ": " + means, current === value, give(value))), cannot)];
  }
  if (dimension.kind === "integer" && dimension.max - dimension.min <= 20) {
    const values = Array.from({length: dimension.max - dimension.min + 1}, (_, place) => dimension.min + place);
    return [numbered(name, values, dimension.low, dimension.high, current, give), apart];
  }
  const field = el("input", {
    type: "number", id: name, min: dimension.min, max: dimension.max, step: dimension.kind === "integer" ? 1 : "any",
    value: current === NOT_ASSESSABLE ? null : current,
    "aria-label": dimension.label + ", from " + dimension.min + ", " + dimension.low + ", to " + dimension.max + ", " + dimension.high,
    oninput: event => {
      const value = Number(event.target.value);
      const fits = event.target.value !== "" && value >= Number(dimension.min) && value <= Number(dimension.max)
        && (dimension.kind === "real" || Number.isInteger(value));
      if (fits) answer().scores[dimension.id] = dimension.kind === "real" ? String(value) : value;
      else delete answer().scores[dimension.id];
      save();
    },
  });
  return [ended(dimension.min + ": " + dimension.low, dimension.max + ": " + dimension.high, field), apart];
};
const rating = step => {
  const answer = () => state.rate[step.text.id] ||= {scores: {}, reason: ""};
  return [
    el("h1", {tabindex: -1}, "Rate text " + step.text.label),
    paragraphs(packet.question), promptOf(step.set), article(step.text),
    ...packet.dimensions.map(dimension => el("fieldset", {id: "field-" + dimension.id},
      el("legend", {}, dimension.label), el("p", {class: "note"}, dimension.definition), el("p", {}, dimension.question),
      ...scaleOf(step, dimension, answer))),
    ...reasonOf(answer, "Why did you rate it so?"),
  ];
};
const copies = () => el("details", {}, el("summary", {}, "Copies of your answers"),
  el("p", {class: "note"}, "A copy lets you go on in another browser, or where this one keeps nothing."),
  el("div", {class: "buttons"}, el("button", {type: "button", onclick: download}, "Save a copy"),
    el("label", {}, "Go on from a copy: ", el("input", {type: "file", accept: ".json", oninput: event => load(event.target.files[0])}))));
const intro = () => [
  el("h1", {tabindex: -1}, "Rating study"),
  el("p", {}, packet.sets.length + " sets of texts; about " + packet.minutes + " minutes. You may stop at any time and go on later in this browser."),
  paragraphs(packet.instructions),
  el("h2", {}, "Consent"), paragraphs(packet.consent),
  el("div", {class: "scale"}, el("label", {},
    el("input", {type: "checkbox", id: "consent", checked: state.consented, oninput: event => { state.consented = event.target.checked; save(); }}),
    "I have read this and take part")),
];
const end = () => {
  const open = steps.filter(step => unanswered(step).length > 0);
  return [
    el("h1", {tabindex: -1}, open.length ? "Not all is answered" : "All is answered"),
    el("p", {}, open.length ? open.length + " of " + (steps.length - 2) + " steps lack an answer. You can go back to them, or send what there is."
      : "Thank you. Save the file with your answers and send it to those who invited you. Nothing is sent by this page."),
    ...(open.length ? [el("button", {type: "button", onclick: () => go(steps.indexOf(open[0]))}, "Go to the first of them")] : []),
    el("div", {class: "buttons"}, el("button", {type: "button", class: "main", id: "export", onclick: download}, "Save the file with my answers")),
  ];
};
const go = to => {
  count();
  state.step = to;
  save();
  show();
};
const forward = event => {
  event.preventDefault();
  const step = steps[state.step];
  if (step.kind === "intro" && !state.consented) {
    say("Tick the box below “Consent” to begin.");
    document.getElementById("consent").focus();
    return;
  }
  state.started ||= new Date().toISOString();
  const lacks = unanswered(step);
  if (lacks.length && !message.startsWith("Not answered")) {
    for (const field of document.querySelectorAll("fieldset")) field.classList.toggle("missing", lacks.includes(field.id.slice(6)));
    const first = document.getElementById(lacks[0] === "reason" ? "reason" : "field-" + lacks[0]);
    (first.querySelector("input") || first).focus();
    say("Not answered yet: " + lacks.length + (lacks.includes("reason") ? ", your reasons among them" : "")
      + ". Press “Next” again to go on without.");
    return;
  }
  go(state.step + 1);
};
const show = () => {
  const step = steps[state.step];
  const body = {intro, rank: () => ranking(step), rate: () => rating(step), end}[step.kind]();
  const buttons = el("div", {class: "buttons"},
    state.step > 0 ? el("button", {type: "button", onclick: () => go(state.step - 1)}, "Back") : null,
    step.kind !== "end" ? el("button", {type: "submit", class: "main"}, step.kind === "intro" ? "Begin" : "Next") : null);
  main.replaceChildren(el("form", {onsubmit: forward, novalidate: true}, ...body, buttons), copies());
  const reason = document.getElementById("reason");
  if (reason) reason.value = ((step.kind === "rank" ? state.rank[step.set.id] : state.rate[step.text.id]) || {reason: ""}).reason;
  const progress = document.getElementById("progress");
  progress.max = steps.length - 1;
  progress.value = state.step;
  const left = Math.ceil(packet.minutes * (1 - state.step / (steps.length - 1)));
  document.getElementById("where").textContent = step.set
    ? "Set " + (step.place + 1) + " of " + packet.sets.length + ", about " + left + (left === 1 ? " minute" : " minutes") + " left" : "Rating study";
  say("");
  scrollTo(0, 0);
  const heading = main.querySelector("h1");
  if (shownOnce) heading.focus();
  shownOnce = true;
};
let shownOnce = false;

addEventListener("beforeunload", event => {
  count();
  save();
  if (!keeps && !exported && state.started) event.preventDefault();
});
try {
  const kept = localStorage.getItem(PLACE);
  if (kept !== null) state = Object.assign(fresh(), JSON.parse(kept));
} catch {
  keeps = false;
}
state.step = Math.min(state.step, steps.length - 1);
show();
save();
})();
