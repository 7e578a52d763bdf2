// The page: which view is shown, the token, the models, and the keys.

import { app, ask, complain, refresh, say, trying, useToken } from "./service.js";
import { make } from "./parts.js";
import { forgetResult, predict, pressed, whenSaved } from "./result.js";
import { buildRow, focusRow } from "./row.js";
import { goOn, loadSuspects, showHistory, showNext } from "./lists.js";

const VIEWS = ["predict", "next", "suspects", "history"];
const SINGLE = "nearlabel single keys";
const KEYS = [["Ctrl Enter", "predict"], ["1 … 9", "turn a label on or off"], ["r", "right: save the predicted labels"],
  ["w", "wrong: choose other labels"], ["a", "add a label"], ["s", "save the chosen labels"], ["u", "undo"],
  ["n", "next row of the list"], ["Escape", "leave a field; cancel"], ["e", "edit the row"], ["p, l, x, h", "predict, label next, suspects, history"],
  ["?", "these keys"]];
const element = (id) => document.getElementById(id);
let audited = false;

function showView() {
  const wanted = VIEWS.includes(location.hash.slice(1)) ? location.hash.slice(1) : VIEWS[0];
  for (const name of VIEWS) element(name).hidden = app.form === null || name !== wanted;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${wanted}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (app.form === null) return;
  complain(null);
  if (wanted === "suspects" && !audited) {
    audited = true;
    loadSuspects();
  }
  if (wanted === "history") showHistory();
}

function showFacts() {
  const { samples, name } = app.form.model;
  const parts = [...(element("models").hidden ? [name] : []), `${samples.toLocaleString("en")} training rows`, `${app.form.labels.length} labels`];
  if (!app.form.changes) parts.push("cannot be changed here");
  element("facts").textContent = parts.join(" · ");
}

async function open() {
  app.form = null;
  audited = false;
  forgetResult();
  await trying(async () => {
    await refresh();
    element("token").hidden = true;
    buildRow(element("row"), () => predict());
    showNext();
    showView();
    if (element("predict").hidden === false) focusRow();
  });
  if (app.form === null) showView();
}

document.addEventListener("refreshed", () => {
  showFacts();
  if (!element("history").hidden) showHistory();
});

document.addEventListener("token-wanted", () => {
  app.form = null;
  showView();
  element("token").hidden = false;
  element("token-text").focus();
});

element("token").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(element("token-text").value.trim());
  element("token-text").value = "";
  open();
});

async function chooseModel() {
  const { models } = await ask("/ready");
  const select = element("models").querySelector("select");
  select.replaceChildren(...models.map((one) => make("option", { value: one.name }, one.name)));
  element("models").hidden = models.length < 2;
  select.addEventListener("change", () => {
    app.base = `/models/${encodeURIComponent(select.value)}`;
    open();
  });
}

// Keys. Single ones mean nothing in fields, and can be switched off.

function buildKeys() {
  const off = make("input", { type: "checkbox", id: "single", onchange: () => localStorage.setItem(SINGLE, off.checked ? "on" : "off") });
  off.checked = localStorage.getItem(SINGLE) !== "off";
  const rows = KEYS.map(([keys, words]) => make("div", {}, make("dt", {}, make("kbd", {}, keys)), make("dd", {}, words)));
  element("keys").replaceChildren(make("h2", { id: "keys-title" }, "Keys"), make("dl", {}, ...rows),
    make("p", {}, off, make("label", { for: "single" }, " Single keys are on (they mean nothing while you write)")),
    make("p", { class: "steps" }, make("button", { type: "button", class: "main-button", onclick: () => element("keys").close() }, "Close")));
}

const GO = { p: "predict", l: "next", x: "suspects", h: "history" };

document.addEventListener("keydown", (event) => {
  const isField = event.target.matches("input, textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey || element("keys").open) return;
  if (isField) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "?") {
    element("keys").showModal();
    return;
  }
  if (localStorage.getItem(SINGLE) === "off" && event.key !== "Escape") return;
  if (!element("predict").hidden && (pressed(event.key) || event.key === "e")) {
    event.preventDefault();
    if (event.key === "e") focusRow();
  } else if (GO[event.key] && app.form !== null) {
    event.preventDefault();
    location.hash = `#${GO[event.key]}`;
    showView(); // not when the event comes: the heading gets the focus
    element(`${GO[event.key]}-title`).focus();
  }
});

element("help").addEventListener("click", () => element("keys").showModal());
window.addEventListener("hashchange", showView);
for (const title of document.querySelectorAll("section > h2")) title.tabIndex = -1;
whenSaved(goOn);
buildKeys();
say("");
await trying(chooseModel);
await open();
