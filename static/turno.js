// What htmx does not do. Every page works without this file; nothing here writes HTML.
"use strict";

(() => {
  const now = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  if (now) document.cookie = `turno_zone=${encodeURIComponent(now)}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;

  // A form is sent once: a second click, or Enter and click together, finds it busy. The server's key is the real guard.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || event.defaultPrevented) return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    const button = event.submitter;
    if (button) { button.classList.add("busy"); button.setAttribute("aria-disabled", "true"); }
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
    for (const button of document.querySelectorAll(".button.busy")) {
      button.classList.remove("busy");
      button.removeAttribute("aria-disabled");
    }
  });

  // The name follows what is typed until somebody writes their own.
  const label = (text) => text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase()
    .replace(/[^a-z0-9]+/g, "-").replace(/^[^a-z]+/, "").slice(0, 40).replace(/-+$/, "");
  document.addEventListener("input", (event) => {
    const source = event.target;
    if (source.matches("[data-name-from]")) { source.dataset.own = source.value ? "yes" : ""; return; }
    const target = source.id && document.querySelector(`[data-name-from="${CSS.escape(source.id)}"]`);
    if (target && !target.dataset.own && (!target.value || target.dataset.proposed === target.value)) {
      target.value = label(source.value);
      target.dataset.proposed = target.value;
    }
  });

  // A choice without GPU has none to ask for; the number comes back with a choice that has.
  document.addEventListener("change", (event) => {
    const gpus = document.getElementById("id_gpus");
    if (!gpus || !event.target.matches("[name='flavor']")) return;
    if (event.target.hasAttribute("data-no-gpu")) {
      if (gpus.value !== "0") gpus.dataset.before = gpus.value;
      gpus.value = "0";
    } else if (gpus.value === "0") gpus.value = gpus.dataset.before || "1";
  }, true);

  document.addEventListener("click", (event) => {
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      const source = document.getElementById(copy.dataset.copy);
      navigator.clipboard.writeText(source.textContent.trim()).then(() => { copy.querySelector("[data-copy-label]").textContent = copy.dataset.copied; });
    }
    const add = event.target.closest("[data-add-row]");
    if (add) {
      const rows = document.getElementById(add.dataset.addRow);
      const row = rows.lastElementChild.cloneNode(true);
      for (const input of row.querySelectorAll("input, textarea")) {
        input.value = "";
        input.removeAttribute("aria-invalid");
      }
      for (const error of row.querySelectorAll(".error")) error.remove();
      rows.append(row);
      row.querySelector("input").focus();
    }
  });

  // A poll renews what is inside a fold or a list of choices, never what the reader has opened or chosen there.
  const kept = { open: "DETAILS", selected: "OPTION" };
  if (window.Idiomorph) {
    Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) => kept[name] !== node.tagName;
  }

  // A field's mark follows its error text, which a check renews out of band.
  document.addEventListener("htmx:oobAfterSwap", (event) => {
    const error = document.getElementById(event.detail.target.id);
    const input = error && error.id.startsWith("error-") && document.getElementById(`id_${error.id.slice(6)}`);
    if (input && error.textContent.trim()) input.setAttribute("aria-invalid", "true");
    else if (input) input.removeAttribute("aria-invalid");
  });

  // A log stays at its end while the reader is there, and stays put once they scroll up.
  const ends = new WeakMap();
  const follow = (log) => { if (ends.get(log) !== false) log.scrollTop = log.scrollHeight; };
  document.addEventListener("scroll", (event) => {
    const log = event.target;
    if (log.classList && log.classList.contains("log")) ends.set(log, log.scrollHeight - log.scrollTop - log.clientHeight < 24);
  }, true);
  const settle = () => document.querySelectorAll(".log").forEach(follow);
  document.addEventListener("htmx:afterSettle", settle);
  settle();

  // Nobody looks at a hidden tab: its polls rest until it is shown again.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const polls = event.detail.elt.hasAttribute("data-poll");
    if (polls && document.hidden) event.preventDefault();
  });
  for (const name of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      if (event.detail.elt.hasAttribute("data-poll")) document.documentElement.dataset.offline = "yes";
    });
  }
  document.addEventListener("htmx:afterOnLoad", () => { delete document.documentElement.dataset.offline; });

  const wrong = document.querySelector("[aria-invalid='true']");
  if (wrong) { wrong.scrollIntoView({ block: "center" }); wrong.focus({ preventScroll: true }); }
})();
