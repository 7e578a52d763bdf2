// What the views share: requests to the service, the model's form, and the corrections.

import { newName } from "./parts.js";

const TOKEN = "nearlabel token";

export class Refusal extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export const app = {
  base: "", // of the paths of the model
  form: null, // what /form answers
  corrections: [], // what /corrections answers
};

export function useToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

export async function ask(path, body, key = "") {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (key) headers["Idempotency-Key"] = key;
  let answer;
  try {
    answer = await fetch(app.base + path,
      { headers, method: body === undefined ? "GET" : "POST", body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Refusal(0, "The service does not answer. Is it still running?");
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(answer.status, content.detail || `The service answers ${answer.status}.`);
  return content;
}

// What has happened, for a screen reader, and for a while on the screen.
let fading = 0;
export function say(words) {
  const place = document.getElementById("state");
  place.textContent = words;
  place.classList.remove("faded");
  clearTimeout(fading);
  fading = setTimeout(() => place.classList.add("faded"), 6000);
}

export function complain(error) {
  const place = document.getElementById("problem");
  place.hidden = !error;
  place.textContent = error ? error.message : "";
  if (error) place.scrollIntoView({ block: "nearest" });
}

// Do something that may be refused; what the service says is shown.
export async function trying(work) {
  complain(null);
  try {
    return await work();
  } catch (error) {
    if (error.status === 401) document.dispatchEvent(new CustomEvent("token-wanted"));
    complain(error);
    return undefined;
  }
}

export async function refresh() {
  [app.form, app.corrections] = await Promise.all([ask("/form"), ask("/corrections").then((found) => found.items)]);
  document.dispatchEvent(new CustomEvent("refreshed"));
}

export function correctionOf(id) {
  return app.corrections.find((one) => one.id !== "" && one.id === id);
}

// Labels of a row, in the columns of the table.
export function withLabels(row, labels) {
  const column = app.form.labels_column;
  if (column) return { ...row, [column]: labels };
  return { ...row, ...Object.fromEntries(app.form.labels.map((name) => [name, labels.includes(name) ? 1 : 0])) };
}

export function labelsOf(row) {
  const column = app.form.labels_column;
  if (column) return row[column] || [];
  return app.form.labels.filter((name) => row[name] === 1);
}

// Add a row with its labels, or put it in the place of the one with its id that was added here before. Its own cell of
// the column of ids may be blank.
export async function addRow(row, id, labels) {
  const own = app.form.id_column ? { [app.form.id_column]: id } : {};
  const isOurs = id.startsWith("wb-") || correctionOf(id);
  const existing = !app.form.id_column ? "add" : isOurs ? "replace" : "raise";
  await ask("/update", { rows: [withLabels({ ...own, ...row, ...own }, labels)], existing }, newName());
  await refresh();
}

export async function relabel(id, cells) {
  const known = correctionOf(id);
  if (known && known.row) {
    const labels = new Set(labelsOf(known.row));
    for (const [name, applies] of Object.entries(cells)) labels[applies ? "add" : "delete"](name);
    await addRow(known.row, id, [...labels]);
    return;
  }
  await ask("/relabel", { id, labels: cells }, newName());
  await refresh();
}

// A row that was added here goes; labels that were corrected become what they were.
export async function undo(correction) {
  if (correction.row) await ask("/forget", { ids: [correction.id] }, newName());
  else {
    const before = Object.fromEntries(Object.entries(correction.cells).map(([name, applies]) => [name, !applies]));
    await ask("/relabel", { id: correction.id, labels: before }, newName());
  }
  await refresh();
}
