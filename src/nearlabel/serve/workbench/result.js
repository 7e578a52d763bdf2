// The prediction of a row: its labels, why, what a correction has changed.

import { addRow, app, ask, correctionOf, say, trying, undo } from "./service.js";
import { chip, chips, counted, cut, fill, keyed, make, newName, note, percent, points, short, table } from "./parts.js";
import { asRequest, featuresOf, readRow, titlesOf } from "./row.js";

const MOST_LABELS = 10; // that are listed, unless more are predicted
const ALL_SCORES = 300; // labels, up to which all scores are asked for
const MOST_NEIGHBORS = 8;
const MOST_PARTS = 48; // words and columns that are left out, one at a time
const SHOWN_PARTS = 8;

let now = null; // the row, its id, its prediction, and the labels that are chosen
let afterwards = () => {};

export function whenSaved(action) {
  afterwards = action;
}

function place() {
  return document.getElementById("result");
}

export function forgetResult() {
  now = null;
  place().hidden = true;
  document.getElementById("hint").hidden = false;
}

function howMany() {
  return app.form.labels.length <= ALL_SCORES ? { proba: true } : { top: ALL_SCORES };
}

async function predicted(row) {
  const path = app.form.explains ? "/explain" : "/predict";
  const found = (await ask(path, { ...asRequest([row]), ...howMany() })).predictions[0];
  const rows = new Map((found.explanation?.labels || []).map((one) => [String(one.name), one]));
  return { ...found, rows };
}

// Predict the row of the form, which may be one that waited to be labelled.
export async function predict(id = null, waiting = null) {
  await trying(async () => {
    const row = readRow();
    const same = now !== null && JSON.stringify(now.row) === JSON.stringify(row);
    const found = await predicted(row);
    now = { row, id: id || (same ? now.id : newName()), found, chosen: new Set(found.labels), added: [], editing: false,
      waiting, changes: null, parts: make("div") };
    show();
    place().querySelector("h3").focus();
    announce();
    await explainParts();
  });
}

function announce() {
  const labels = now.found.labels;
  say(labels.length ? `Predicted: ${labels.join(", ")}.` : "No label is predicted.");
}

function isSaved() {
  return correctionOf(now.id) !== undefined;
}

// Labels: the predicted ones, then those with the best scores, and those that somebody added.
function listed() {
  const scores = Object.entries(now.found.scores).sort((a, b) => (b[1] ?? -1) - (a[1] ?? -1)).map(([name]) => name);
  const first = [...now.found.labels].sort((a, b) => scores.indexOf(a) - scores.indexOf(b));
  const others = scores.filter((name) => !first.includes(name)).slice(0, Math.max(0, MOST_LABELS - first.length));
  return [...new Set([...first, ...others, ...now.added])];
}

function figureOf(name) {
  const score = now.found.scores[name], of = now.found.rows.get(name);
  const k = now.found.explanation?.settings.n_neighbors;
  const votes = of && typeof of.votes === "number" && k ? `${of.votes} of ${counted(of.known ?? k, "neighbour")}` : "";
  const share = app.form.probabilities && typeof score === "number" ? percent(score) : "";
  if (share || votes) return [share, votes];
  return [score === undefined ? "not known yet" : short(score), ""];
}

function meterOf(name) {
  const score = now.found.scores[name], threshold = now.found.rows.get(name)?.threshold;
  if (!app.form.probabilities || typeof score !== "number") return make("span", { class: "no-meter" });
  const bar = make("i");
  bar.style.width = `${100 * Math.min(1, Math.max(0, score))}%`;
  const box = make("span", { class: "meter", "aria-hidden": "true" }, bar);
  if (typeof threshold === "number" && threshold > 0 && threshold < 1) {
    const mark = make("b", { title: `predicted from ${percent(threshold)} on` });
    mark.style.left = `${100 * threshold}%`;
    box.append(mark);
  }
  return box;
}

function toggle(name) {
  now.editing = true;
  if (!now.chosen.delete(name)) now.chosen.add(name);
  show(name);
  say(`${name}: ${now.chosen.has(name) ? "chosen" : "not chosen"}.`);
}

function labelRow(name, at) {
  const chosen = now.chosen.has(name);
  const [share, votes] = figureOf(name);
  const button = make("button", { type: "button", "aria-pressed": String(chosen), "data-label": name,
    "aria-keyshortcuts": at < 9 ? String(at + 1) : null, onclick: () => toggle(name), class: "label-button",
    disabled: !canChange() },
    make("kbd", { "aria-hidden": "true" }, at < 9 ? String(at + 1) : ""),
    make("span", { class: "tick", "aria-hidden": "true" }, chosen ? "✓" : ""), make("span", { class: "name" }, name));
  return make("li", { class: chosen ? "chosen" : "" }, button, meterOf(name),
    make("span", { class: "share" }, share), make("span", { class: "votes" }, votes));
}

export function canChange() {
  return app.form.changes && app.form.named;
}

function whyNot() {
  if (!app.form.changes) return "This model cannot be corrected here: it is served read-only, or cannot be updated.";
  return "This model cannot be corrected here, since its features have no names.";
}

function steps() {
  if (!canChange()) return note(whyNot());
  const known = app.form.labels.filter((name) => !now.chosen.has(name));
  const input = make("input", { id: "add-label", list: "known-labels", autocomplete: "off", placeholder: "add label",
    "aria-label": "Add label", onkeydown: (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        addLabel(event.target.value.trim());
      }
    } });
  const adding = make("span", { class: "adding" }, input,
    make("datalist", { id: "known-labels" }, ...known.slice(0, 1000).map((value) => make("option", { value }))),
    keyed("a", "Add", () => addLabel(input.value.trim())));
  const main = now.editing
    ? [keyed("s", "Save these labels", () => save([...now.chosen]), { class: "main-button" }), keyed("Escape", "Cancel", cancel)]
    : [keyed("r", "Right", () => save(now.found.labels), { class: "main-button good" }),
      keyed("w", "Wrong", edit, { class: "plain bad" })];
  const ids = app.form.id_column ? null : note("The model was saved without a column of ids: what is added cannot be undone.");
  return make("div", {}, make("p", { class: "steps" }, ...main, adding), ids);
}

function edit() {
  now.editing = true;
  show(listed()[0]);
  say("Choose the right labels, then save.");
}

function cancel() {
  now.editing = false;
  now.chosen = new Set(now.found.labels);
  now.added = [];
  show();
  place().querySelector("h3").focus();
}

function addLabel(name) {
  if (!name) {
    document.getElementById("add-label").focus();
    return;
  }
  if (!app.form.labels.includes(name) && !app.form.labels_column) {
    trying(() => { throw new Error(`The label must be one of the model's, got “${name}”: its table has a column for each.`); });
    return;
  }
  now.editing = true;
  now.chosen.add(name);
  if (!listed().includes(name)) now.added.push(name);
  show(name);
  say(`${name}: chosen.`);
}

async function save(labels) {
  await trying(async () => {
    const before = now.found;
    await addRow({ ...titlesOf(now.row), ...featuresOf(now.row) }, now.id, labels);
    await again(before);
    say(`Saved with ${labels.length ? labels.join(", ") : "no label"}. ${inWords(now.changes)}`);
    afterwards(now.waiting);
  });
}

async function takeBack() {
  await trying(async () => {
    const before = now.found;
    await undo(correctionOf(now.id));
    await again(before);
    say(`Undone. ${inWords(now.changes)}`);
  });
}

// Predict again after a change, to show what it has changed.
async function again(before) {
  now.found = await predicted(now.row);
  now.chosen = new Set(now.found.labels);
  now.added = [];
  now.editing = false;
  now.parts = make("div");
  now.changes = changesOf(before, now.found);
  show();
  place().querySelector("h3").focus();
  await explainParts();
}

export async function repredict() {
  if (now !== null) await trying(() => again(now.found));
}

function changesOf(before, after) {
  const all = new Set([...Object.keys(before.scores), ...Object.keys(after.scores)]);
  const found = [...all].map((name) => {
    const scores = [before.scores[name], after.scores[name]];
    const is = [before, after].map((one) => one.labels.includes(name));
    const votes = [before, after].map((one) => one.rows.get(name)?.votes);
    return { name, scores, is, votes, size: Math.abs((scores[1] ?? 0) - (scores[0] ?? 0)) };
  }).filter((one) => one.is[0] !== one.is[1] || one.size >= 0.005 || one.votes[0] !== one.votes[1]);
  return found.sort((a, b) => Number(b.is[0] !== b.is[1]) - Number(a.is[0] !== a.is[1]) || b.size - a.size).slice(0, 6);
}

function inWords(changes) {
  const turned = changes.filter((one) => one.is[0] !== one.is[1]);
  if (turned.length) return turned.map((one) => `${one.name} is ${one.is[1] ? "now" : "no longer"} predicted`).join("; ") + ".";
  return changes.length ? "The scores have changed." : "The prediction is the same.";
}

function changesBox() {
  if (now.changes === null) return null;
  const shownScore = (value) => value === undefined || value === null ? "–" : app.form.probabilities ? percent(value) : short(value);
  const lines = now.changes.map((one) => make("li", {}, chip(one.name, one.is[1] ? "hit" : "other"), " ",
    make("span", {}, `${shownScore(one.scores[0])} → ${shownScore(one.scores[1])}`),
    typeof one.votes[1] === "number" && one.votes[0] !== one.votes[1] ? ` (${one.votes[0] ?? 0} → ${one.votes[1]} votes)` : "",
    one.is[0] !== one.is[1] ? make("b", {}, one.is[1] ? " now predicted" : " no longer predicted") : null));
  return make("div", { class: "changes" }, make("h4", {}, "What that has changed"),
    lines.length ? make("ul", { class: "plain-list" }, ...lines) : note("Nothing: this prediction is the same as before."));
}

function savedLine() {
  if (!isSaved()) return null;
  return make("p", { class: "saved" }, "The model has learned this row. ",
    app.form.id_column ? keyed("u", "Undo", takeBack) : null);
}

// The nearest rows, and the nearest with each predicted label.
function shownOf(neighbors, predicted) {
  const missing = new Set(predicted);
  return neighbors.filter((one, place) => {
    const found = one.names.map(String).filter((name) => missing.delete(name));
    return place < MOST_NEIGHBORS || found.length > 0;
  });
}

function neighborsBox() {
  const why = now.found.explanation;
  if (!why) return app.form.explains ? null : note("This method does not explain its predictions by neighbours.");
  const some = shownOf(why.neighbors, now.found.labels);
  const total = why.settings.total_weight;
  const shareOf = (one) => typeof one.share === "number" ? one.share
    : typeof one.weight === "number" && total ? one.weight / total : null;
  const weighed = some.some((one) => shareOf(one) !== null);
  const kind = (label) => (now.found.labels.includes(String(label)) ? "hit" : "other");
  const rows = some.map((one) => make("tr", {},
    make("th", { scope: "row", class: "kept" }, why.kept.length
      ? make("span", {}, ...why.kept.map((name) => make("span", { class: "kept-part" }, cut(String(one[name]), 120))))
      : `row ${one.row}`),
    make("td", {}, ...chips(one.names.map(String), kind)),
    make("td", { class: "n" }, short(one.distance)),
    weighed ? make("td", { class: "n" }, shareOf(one) === null ? "–" : percent(shareOf(one))) : null));
  const heads = [[why.kept.length ? why.kept.join(", ") : "training row"], ["labels"], ["distance", true]];
  if (weighed) heads.push(["share", true]);
  const far = typeof why.novelty === "number" && why.novelty >= 0.95
    ? note(`This row is unlike the others: farther from its neighbours than ${Math.floor(100 * why.novelty)} % of the training rows.`) : null;
  const all = why.neighbors.length, text = app.form.columns.find((column) => column.kind === "text")?.name;
  const hidden = text && !why.kept.includes(text) ? note(`To see the texts here, fit the model with --show ${text}.`) : null;
  return make("div", {}, make("h3", {}, "Why: the nearest rows"), far, table("The nearest rows", heads, rows),
    note(`${some.length < all ? `${some.length} of ` : ""}${counted(all, "neighbour")}; green labels are predicted.`), hidden);
}

// Words and columns: what the scores become without each.

function variantsOf(row) {
  const found = [];
  for (const column of app.form.columns) {
    const value = row[column.name];
    if (value === null || value === undefined || value === "" || (column.required && column.kind !== "text")) continue;
    if (column.kind !== "text") {
      found.push({ name: `${column.name}: ${value}`, row: { ...row, [column.name]: null }, isWord: false });
      continue;
    }
    const words = new Map((value.match(/[\p{L}\p{N}_]+/gu) || []).map((word) => [word.toLowerCase(), word]));
    for (const [lower, word] of words) {
      const left = value.replace(/[\p{L}\p{N}_]+/gu, (one) => (one.toLowerCase() === lower ? " " : one));
      found.push({ name: word, row: { ...row, [column.name]: left }, isWord: true });
    }
  }
  return found.slice(0, MOST_PARTS);
}

async function scoresOf(variants) {
  if (!variants.length) return [];
  const found = (await ask("/predict", { ...asRequest(variants.map((one) => one.row)), ...howMany() })).predictions;
  return variants.map((one, at) => ({ ...one, scores: found[at].scores }));
}

async function explainParts() {
  const parts = now.parts;
  if (!app.form.named || app.form.columns.length > MOST_PARTS) return;
  const variants = variantsOf(featuresOf(now.row));
  let found;
  try {
    found = await scoresOf(variants).catch(() => scoresOf(variants.filter((one) => one.isWord)));
  } catch {
    return; // a model that takes no row with an empty cell
  }
  if (now.parts !== parts || found.length < 2) return;
  const labels = (now.found.labels.length ? now.found.labels : listed().slice(0, 1)).slice(0, 4);
  const least = app.form.probabilities ? 0.005 : 1e-9;
  const sized = found.map((one) => ({ ...one, by: labels.map((name) => (now.found.scores[name] ?? 0) - (one.scores[name] ?? 0)) }))
    .map((one) => ({ ...one, size: Math.max(...one.by.map(Math.abs)) }))
    .filter((one) => one.size >= least).sort((a, b) => b.size - a.size).slice(0, SHOWN_PARTS);
  const shownOf = (value) => (app.form.probabilities ? points(value) : `${value > 0 ? "+" : ""}${short(value)}`);
  const rows = sized.map((one) => make("tr", {}, make("th", { scope: "row" }, cut(one.name, 60)),
    ...one.by.map((value) => make("td", { class: `n ${Math.abs(value) < least ? "" : value > 0 ? "yes" : "no"}` }, shownOf(value)))));
  const what = app.form.columns.length > 1 ? "words and columns" : "words";
  const unit = app.form.probabilities ? "percentage points" : "units of the score";
  parts.replaceChildren(make("h3", {}, `Why: ${what}`), sized.length
    ? table(`Why: ${what}`, [[what], ...labels.map((name) => [name, true])], rows)
    : note(`Without any one of its ${what} this row has the same scores.`),
  ...(sized.length ? [note(`What each adds to the score, in ${unit}: the score of this row minus that without it.`)] : []));
}

function detailsBox() {
  const why = now.found.explanation;
  if (!why) return null;
  const names = why.shown.filter((key) => why.labels.some((one) => one[key] !== null && one[key] !== undefined));
  const rows = listed().filter((name) => now.found.rows.has(name)).map((name) => {
    const one = now.found.rows.get(name);
    return make("tr", {}, make("th", { scope: "row" }, name), ...names.map((key) => make("td", { class: "n" },
      key === "flip" && one[key] > 0 ? `+${one[key]}` : short(one[key]))));
  });
  return make("details", {}, make("summary", {}, "The numbers"),
    table("The numbers", [["label"], ...names.map((key) => [key.replaceAll("_", " "), true])], rows),
    note(`${why.method}; ${why.rule}; ${why.change}.`));
}

function show(focused = null) {
  const labels = listed();
  const heading = now.found.labels.length ? `Predicted: ${now.found.labels.join(", ")}` : "No label is predicted";
  place().hidden = false;
  document.getElementById("hint").hidden = true;
  fill(place(),
    make("h3", { tabindex: "-1", class: "answer" }, heading),
    savedLine(), changesBox(),
    make("ul", { class: now.editing ? "labels editing" : "labels", "aria-label": "Labels" }, ...labels.map(labelRow)),
    steps(),
    make("div", { class: "why" }, neighborsBox(), now.parts),
    detailsBox());
  if (focused !== null) {
    [...place().querySelectorAll("[data-label]")].find((one) => one.dataset.label === focused)?.focus();
  }
}

// Single keys, where no field has the focus. Returns whether the key means something here.
export function pressed(key) {
  if (now === null || place().hidden) return false;
  const found = key === "Escape" ? place().querySelector('[aria-keyshortcuts="Escape"]')
    : [...place().querySelectorAll("[aria-keyshortcuts]")].find((one) => one.getAttribute("aria-keyshortcuts") === key);
  if (!found || found.disabled) return false;
  found.click();
  return true;
}
