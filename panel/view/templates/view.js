"use strict";
// Fills in texts, and places in charts, as they come; makes no element and reads no markup.
(() => {
  const own = document.currentScript.dataset;
  const changed = document.querySelector("[data-changed]");
  const panels = new Map();
  for (const panel of document.querySelectorAll("[data-run]")) panels.set(panel.dataset.run, panel);

  const write = (element, text) => {
    if (element !== null && element.textContent !== text) element.textContent = text;
  };
  const place = (element, values) => {
    for (const [name, value] of Object.entries(values)) element.setAttribute(name, value || "0");
    element.setAttribute("display", Object.values(values).every(Boolean) ? "inline" : "none");
  };

  const fill = (panel, now) => {
    for (const element of panel.querySelectorAll("[data-field]")) {
      write(element, now.fields[element.dataset.field] ?? "");
    }
    for (const row of panel.querySelectorAll(".reasons tbody tr")) {
      row.hidden = row.firstElementChild.textContent === "";
    }
    panel.querySelector(".reasons").hidden = !now.fields.missing;
    write(panel.querySelector("[data-prompts]"), now.prompts);
    const bar = panel.querySelector("progress");
    bar.max = now.total || 1;
    bar.value = now.done;
    for (const row of panel.querySelectorAll("[data-system]")) {
      const system = now.systems[row.dataset.system];
      row.hidden = system === undefined;
      if (system === undefined) continue;
      for (const cell of row.querySelectorAll("[data-cell]")) write(cell, system[cell.dataset.cell]);
      place(row.querySelector(".band"), { x1: system.low, x2: system.high });
      place(row.querySelector("circle"), { cx: system.at });
    }
  };

  const events = new EventSource(own.events);
  events.onmessage = (event) => {
    const now = JSON.parse(event.data);
    for (const [name, state] of Object.entries(now.runs)) {
      if (panels.has(name)) fill(panels.get(name), state);
    }
    if (now.version === own.version) return;
    // Whoever is in the middle of something is not taken from it.
    const busy = document.activeElement !== document.body || document.querySelector("input:checked");
    if (busy) write(changed, "Something has begun, ended or changed since: load the page again to see it.");
    else location.reload();
  };
  events.onerror = () => write(changed, "The server does not answer: it may have ended. What is shown is not new.");
  events.onopen = () => write(changed, "");
})();
