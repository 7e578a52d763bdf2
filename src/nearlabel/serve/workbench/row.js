// The form of a row: a box for a text, fields for the other columns, or one line of a wide table.

import { app } from "./service.js";
import { button, make, note, rowsOf } from "./parts.js";

const MOST_FIELDS = 40;
let fields = [];

function isWide() {
  return !app.form.named || app.form.columns.length > MOST_FIELDS;
}

function exampleOf(column) {
  const example = column.example;
  if (example === undefined || example === null || example === "") return column.kind === "date" ? "2026-01-31" : "";
  return typeof example === "number" ? String(Number(example.toPrecision(6))) : String(example);
}

function fieldOf(column, place) {
  const id = `field-${place}`;
  const example = exampleOf(column);
  const placeholder = example && `such as: ${example}`;
  const required = column.required;
  let input;
  if (column.kind === "text") input = make("textarea", { id, rows: 3, placeholder });
  else if (column.kind === "number") input = make("input", { id, type: "number", step: "any", placeholder, required });
  else if (column.kind === "category" && column.values && column.values.every((one) => typeof one === "string")) {
    const list = make("datalist", { id: `${id}-values` }, ...column.values.map((value) => make("option", { value })));
    input = make("input", { id, list: list.id, placeholder, autocomplete: "off" });
    input.append(list);
  } else input = make("input", { id, placeholder, required, autocomplete: "off" });
  const box = make("p", { class: column.kind === "text" ? "field whole" : "field" }, make("label", { for: id }, column.name),
    input, ...[...input.children]);
  return { column, input, box };
}

function emptyNote() {
  const needed = app.form.columns.filter((column) => column.required).map((column) => column.name);
  const others = needed.length === app.form.columns.length ? "" : " Leave any other field empty if its value is not known.";
  return needed.length ? `The model needs ${needed.join(", ")}.${others}` : "Leave a field empty if its value is not known.";
}

// What a row of a file lacks, in words; null if nothing.
export function lackingIn(row) {
  const features = featuresOf(row);
  return app.form.columns.find((column) => column.required && features[column.name] === null)?.name ?? null;
}

export function buildRow(place, submit) {
  if (!app.form.columns.length) {
    place.replaceChildren(note("The model has too many columns for a form. Programs can ask it: see /docs."));
    return;
  }
  fields = app.form.columns.slice(0, isWide() ? 0 : undefined).map(fieldOf);
  const shown = app.form.kept.filter((name) => name !== app.form.id_column
    && !app.form.columns.some((column) => column.name === name));
  const titles = isWide() ? [] : shown.map((name, at) => fieldOf({ name, kind: "kept" }, `kept-${at}`));
  const boxes = fields.map((one) => one.box);
  if (isWide()) {
    const columns = app.form.columns.length;
    const names = app.form.named ? ", or an object with their names" : "";
    const input = make("textarea", { id: "field-all", rows: 4, placeholder: "0.5, 1, 0, …" });
    fields = [{ column: { name: null }, input }];
    boxes.push(make("p", { class: "field whole" },
      make("label", { for: "field-all" }, `${columns} values in the order of the model, with commas${names}`), input));
  }
  if (titles.length) {
    boxes.push(make("details", { class: "whole" }, make("summary", {}, `${titles.map((one) => one.column.name).join(", ")} (to recognise the row)`),
      ...titles.map((one) => one.box)));
  }
  fields.push(...titles);
  const hasExample = fields.some(({ column }) => column.kind === "text" && exampleOf(column));
  const tryIt = () => {
    fillRow(Object.fromEntries(fields.map(({ column }) => [column.name, exampleOf(column)])));
    place.requestSubmit();
  };
  place.replaceChildren(...boxes, make("p", { class: "whole steps" },
    make("button", { class: "main-button" }, "Predict ", make("kbd", { "aria-hidden": "true" }, "Ctrl Enter")),
    hasExample ? button("Try the example", tryIt) : null,
    app.form.columns.length > 1 && !isWide() ? note(emptyNote()) : null));
  place.onsubmit = (event) => {
    event.preventDefault();
    submit();
  };
  place.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      place.requestSubmit();
    }
  };
}

function valueOf(column, text) {
  if (column.kind === "text" || column.kind === "kept") return text;
  if (text.trim() === "") return null;
  if (column.kind === "number") return Number(text);
  const values = column.values || [];
  const same = values.find((value) => String(value) === text.trim());
  return same === undefined ? text.trim() : same;
}

function wideRow(text) {
  if (text.trim().startsWith("{")) return rowsOf(text)[0];
  const cells = text.split(/[,;\t\n]/).map((cell) => cell.trim());
  const given = cells.filter((cell) => cell !== "");
  if (given.length !== app.form.columns.length) {
    throw new Error(`The row must have ${app.form.columns.length} values, got ${given.length}.`);
  }
  return Object.fromEntries(app.form.columns.map((column, at) => [column.name, valueOf(column, given[at])]));
}

// The row as the service takes it, with the columns that are only shown.
export function readRow() {
  if (isWide()) return wideRow(fields[0].input.value);
  return Object.fromEntries(fields.map(({ column, input }) => [column.name, valueOf(column, input.value)]));
}

export function fillRow(row) {
  for (const { column, input } of fields) {
    const value = column.name === null ? JSON.stringify(row) : row[column.name];
    input.value = value === null || value === undefined ? "" : String(value);
  }
}

export function focusRow() {
  if (fields.length) fields[0].input.focus();
}

// The features alone, of a row that may have other columns; cells of files are texts.
export function featuresOf(row) {
  return Object.fromEntries(app.form.columns.map((column) => {
    const value = row[column.name];
    return [column.name, typeof value === "string" ? valueOf(column, value) : value ?? null];
  }));
}

export function titlesOf(row) {
  return Object.fromEntries(app.form.kept.filter((name) => row[name] !== undefined && row[name] !== null)
    .map((name) => [name, row[name]]));
}

// The request of some rows: by names, or by place where features have none.
export function asRequest(rows) {
  if (app.form.named) return { rows: rows.map(featuresOf) };
  return { arrays: rows.map((row) => app.form.columns.map((column) => featuresOf(row)[column.name])) };
}

export function inShort(row) {
  const texts = app.form.columns.filter((column) => column.kind === "text" && row[column.name]);
  const shown = texts.length ? texts : app.form.columns.slice(0, 4);
  return shown.map((column) => texts.length ? row[column.name] : `${column.name}: ${row[column.name] ?? "–"}`).join(", ");
}
