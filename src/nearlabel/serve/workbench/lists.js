// The other views: rows to label next, suspects of the audit, and the history of corrections.

import { app, ask, labelsOf, relabel, say, trying, undo } from "./service.js";
import { button, chip, chips, counted, csvOf, cut, fill, keyed, make, note, percent, rowsOf, save, timeOf } from "./parts.js";
import { canChange, predict, repredict } from "./result.js";
import { asRequest, fillRow, inShort, lackingIn } from "./row.js";

const BLOCK = 1000; // rows of a request
const MOST_NEXT = 20;
const MOST_SUSPECTS = 20;

function view(name) {
  return document.getElementById(`${name}-view`);
}

// The next ones to label: rows of a file, of which the service names the best.

let pool = []; // rows that were given
let queue = []; // {row, reason, id} to label

export function showNext() {
  const file = make("input", { id: "next-file", type: "file", accept: ".csv,.tsv,.txt,.json,.jsonl,.ndjson",
    onchange: (event) => event.target.files.length && trying(async () => take(await event.target.files[0].text())) });
  const box = make("textarea", { id: "next-text", rows: 4, placeholder: app.form.columns.slice(0, 6).map((one) => one.name).join(",") });
  view("next").replaceChildren(
    note("Give rows without labels: the service names those that teach the model most. They are sent to it, and not kept."),
    make("p", { class: "field whole" }, make("label", { for: "next-file" }, "A file: CSV or JSON lines, with the columns of the model"), file),
    make("details", {}, make("summary", {}, "or paste them"),
      make("p", { class: "field whole" }, make("label", { for: "next-text" }, "Rows: CSV with a header, or JSON lines"), box),
      make("p", { class: "steps" }, button("Use these rows", () => trying(() => take(box.value)), { class: "main-button" }))),
    make("div", { id: "queue" }));
  showQueue();
}

async function take(text) {
  let rows;
  try {
    rows = rowsOf(text);
  } catch (error) {
    throw new Error(`The rows must be CSV with a header, or JSON lines: ${error.message}`);
  }
  const lacking = rows.length ? app.form.columns.map((one) => one.name).filter((name) => !(name in rows[0])) : [];
  if (!rows.length) throw new Error("There must be at least one row below the header.");
  if (app.form.named && lacking.length) throw new Error(`The rows must have the column “${lacking[0]}” of the model, but do not.`);
  const at = rows.findIndex((row) => lackingIn(row) !== null);
  if (at >= 0) throw new Error(`Each row must have a value of “${lackingIn(rows[at])}”, which the model needs; row ${at + 1} has none.`);
  pool = rows;
  await suggest();
}

async function suggest() {
  const found = [];
  const block = Math.min(BLOCK, app.form.rows);
  for (let start = 0; start < pool.length; start += block) {
    say(`Looking at rows ${start + 1} to ${Math.min(start + block, pool.length)} of ${pool.length} …`);
    const some = pool.slice(start, start + block);
    const { items } = await ask("/suggest", { ...asRequest(some), n: MOST_NEXT });
    found.push(...items.map((one) => ({ row: some[one.row], reason: one.reason, score: one.score ?? 0 })));
  }
  queue = found.sort((a, b) => b.score - a.score).slice(0, MOST_NEXT)
    .map((one) => ({ ...one, id: String(one.row[app.form.id_column] ?? "") }));
  say(`${counted(queue.length, "row")} to label next, of ${pool.length}.`);
  showQueue();
}

function showQueue() {
  const place = document.getElementById("queue");
  if (place === null || !pool.length) return;
  const items = queue.map((one, at) => make("li", {},
    make("h3", {}, one.id ? make("span", { class: "who" }, one.id) : null, make("span", {}, cut(inShort(one.row)))),
    note(one.reason),
    make("p", { class: "steps" }, button(at === 0 ? "Label this row" : "Label", () => start(at), { class: at === 0 ? "main-button" : "plain" }),
      button("Leave out", () => drop(at)))));
  place.replaceChildren(make("p", { class: "steps" }, make("b", {}, `${queue.length} to label, of ${counted(pool.length, "row")}`),
    button("Choose again with the corrected model", () => trying(suggest))), make("ol", { class: "cards" }, ...items));
}

function drop(at) {
  pool = pool.filter((row) => row !== queue[at].row);
  queue.splice(at, 1);
  showQueue();
}

async function start(at) {
  const one = queue[at];
  location.hash = "#predict";
  fillRow(one.row);
  await predict(one.id || null, one.row);
}

// A row of the queue that was saved makes place for the next one.
export function goOn(row) {
  const at = queue.findIndex((one) => one.row === row);
  if (at < 0) return;
  drop(at);
  const left = queue.length;
  document.getElementById("result").append(make("p", { class: "steps queue-next" }, left
    ? keyed("n", `Next row (${left} left)`, () => start(0), { class: "main-button" })
    : note("That was the last row of the list.")));
}

// Suspects: cells that the neighbours contradict.

let suspects = [];
const handled = new Map(); // what was done with each, by its name

function nameOf(cell) {
  return `${cell.id || cell.row} ${cell.label_name}`;
}

function store() {
  return `nearlabel confirmed ${app.form.model.name}`;
}

function confirmed() {
  return new Set(JSON.parse(localStorage.getItem(store()) || "[]"));
}

export async function loadSuspects() {
  say("Looking …");
  await trying(async () => {
    const seen = confirmed();
    const { items } = await ask("/audit", { n: Math.min(MOST_SUSPECTS + seen.size, app.form.rows) });
    suspects = items.filter((cell) => !seen.has(nameOf(cell))).slice(0, MOST_SUSPECTS);
    handled.clear();
    showSuspects();
    say(`${counted(suspects.length, "suspect")}.`);
  });
}

function showSuspects() {
  const marked = [...handled].filter(([, what]) => what === "marked").length;
  const byRow = Map.groupBy(suspects, (cell) => cell.row);
  fill(view("suspects"),
    note("Labels of training rows that their neighbours contradict, the most suspicious first."),
    make("p", { class: "steps" }, button("Look again", loadSuspects),
      marked ? button(`Save ${counted(marked, "correction")} for the table`, saveMarked) : null),
    suspects.length ? make("ol", { class: "cards" }, ...[...byRow.values()].map(suspectItem)) : note("No label looks wrong."));
}

function suspectItem(cells) {
  const [first] = cells;
  const texts = Object.entries(first.kept).filter(([name]) => name !== app.form.id_column);
  return make("li", {},
    make("h3", {}, make("span", { class: "who" }, first.id || `row ${first.row}`),
      make("span", {}, ...chips(first.row_labels.map(String)))),
    ...texts.map(([name, text]) => make("p", { class: "cell-text" }, make("span", { class: "soft" }, `${name}: `), cut(text, 300))),
    ...cells.map(cellLine));
}

function cellLine(cell) {
  const label = String(cell.label_name), known = cell.neighbors.filter((one) => one.value !== null);
  const n = known.filter((one) => one.value === 1).length;
  const has = cell.given === 1, what = handled.get(nameOf(cell));
  return make("div", { class: what ? "cell handled" : "cell" },
    make("p", {}, make("b", {}, label), has ? " is given, and looks wrong: " : " is not given, and looks right: ",
      make("span", { class: "soft" }, `${n} of ${known.length} neighbours have it; its probability is ${percent(cell.probability)}.`)),
    what ? handledLine(cell, what) : make("p", { class: "steps" },
      button(has ? `Remove ${label}` : `Add ${label}`, () => correct(cell, true), { class: "plain strong" }),
      button("It is right as it is", () => confirm(cell), { "aria-label": `It is right as it is: ${has ? "" : "no "}${label}` })));
}

function handledLine(cell, what) {
  if (what === "confirmed") return make("p", { class: "steps" }, "Confirmed: nothing changes. ", button("Take back", () => unconfirm(cell)));
  if (what === "marked") return make("p", { class: "saved" }, "Marked for the table: the model cannot change this row here. ",
    button("Take back", () => settle(cell, null)));
  return make("p", { class: "saved" }, "Corrected: the model has learned it. ", button("Undo", () => correct(cell, false)));
}

function settle(cell, what) {
  if (what === null) handled.delete(nameOf(cell));
  else handled.set(nameOf(cell), what);
  showSuspects();
  const inOrder = [...Map.groupBy(suspects, (one) => one.row).values()].flat();
  const at = inOrder.indexOf(cell), items = view("suspects").querySelectorAll(".cell");
  const rest = [...items].slice(at).find((item) => !item.classList.contains("handled"));
  (what === null ? items[at] : rest || items[at])?.querySelector("button")?.focus();
}

function confirm(cell) {
  localStorage.setItem(store(), JSON.stringify([...confirmed(), nameOf(cell)]));
  settle(cell, "confirmed");
  say("Confirmed.");
}

function unconfirm(cell) {
  localStorage.setItem(store(), JSON.stringify([...confirmed()].filter((name) => name !== nameOf(cell))));
  settle(cell, null);
}

async function correct(cell, wanted) {
  const label = String(cell.label_name), value = (cell.given === 1) !== wanted;
  if (!app.form.changes || !cell.id) {
    settle(cell, "marked");
    say("Marked for the table.");
    return;
  }
  await trying(async () => {
    try {
      await relabel(cell.id, { [label]: value });
    } catch (error) {
      if (error.status !== 422 || !wanted) throw error;
      settle(cell, "marked"); // a model whose rows are in no form that it could learn again
      return;
    }
    settle(cell, wanted ? "corrected" : null);
    await repredict();
    say(wanted ? `Corrected: ${cell.id}, ${label}.` : "Undone.");
  });
}

function cellsFile(cells) {
  const named = app.form.id_column && cells.every((one) => one.id);
  const heads = [named ? app.form.id_column : "row", "label", "given", "correct"];
  return csvOf(heads, cells.map((one) => [named ? one.id : one.row, one.label, one.given, one.correct]));
}

function saveMarked() {
  const cells = suspects.filter((cell) => handled.get(nameOf(cell)) === "marked").map((cell) => ({ id: cell.id, row: cell.row,
    label: cell.label_name, given: cell.given, correct: 1 - cell.given }));
  save("corrections.csv", cellsFile(cells), "text/csv");
}

// History: each correction, which can be undone, and all of them as files.

export function showHistory() {
  const all = app.corrections, rows = all.filter((one) => one.row), cells = all.filter((one) => one.cells);
  const exports = make("p", { class: "steps" },
    rows.length ? button("Save rows as CSV", () => saveRows(rows, "csv")) : null,
    rows.length ? button("Save rows as JSON lines", () => saveRows(rows, "jsonl")) : null,
    cells.length ? button("Save changed labels as CSV", () => saveCells(cells)) : null);
  fill(view("history"),
    note(all.length ? `${counted(all.length, "correction")}${all.length > 1 ? ", the last first" : ""}. The service keeps them beside the model, until they are undone.`
      : "Nothing yet. Rows that you save, and suspects that you correct, are listed here."),
    all.length ? note("Rows can be appended to the table. Changed labels are for: nearlabel audit TABLE --apply FILE.") : null,
    exports, make("ol", { class: "cards", reversed: true }, ...[...all].reverse().map(historyItem)));
}

function historyItem(one) {
  const what = one.row
    ? [make("p", { class: "cell-text" }, cut(inShort(one.row), 300)), make("p", {}, "Labels: ", ...chips(labelsOf(one.row)))]
    : [make("p", {}, "Labels changed: ", ...Object.entries(one.cells).map(([label, applies]) =>
      chip(`${applies ? "+" : "−"} ${label}`, applies ? "hit" : "false")))];
  const back = canChange() && one.id ? button("Undo", () => takeBack(one)) : null;
  return make("li", {}, make("h3", {}, make("span", { class: "who" }, one.id || "without an id"), make("span", { class: "soft" }, timeOf(one.key))),
    ...what, back ? make("p", { class: "steps" }, back) : app.form.changes ? note("Without an id it cannot be undone here.") : null);
}

async function takeBack(one) {
  await trying(async () => {
    await undo(one);
    await repredict();
    say(`Undone: ${one.id}.`);
    document.getElementById("history-title").focus();
  });
}

function saveRows(corrections, kind) {
  const rows = corrections.map((one) => one.row);
  if (kind === "jsonl") {
    save("corrections.jsonl", rows.map((row) => `${JSON.stringify(row)}\n`).join(""), "application/jsonl");
    return;
  }
  const heads = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  save("corrections.csv", csvOf(heads, rows.map((row) => heads.map((name) => row[name]))), "text/csv");
}

function saveCells(corrections) {
  const cells = corrections.flatMap((one) => Object.entries(one.cells).map(([label, applies]) =>
    ({ id: one.id, label, given: applies ? 0 : 1, correct: applies ? 1 : 0 })));
  save("changed_labels.csv", cellsFile(cells), "text/csv");
}
