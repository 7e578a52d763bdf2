// Parts of the page: elements, numbers and times in words, and tables as text.

export function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false && value !== undefined) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// Children that are not there are left out.
export function fill(node, ...children) {
  node.replaceChildren(...children.filter((child) => child !== null && child !== undefined && child !== false));
}

export function button(words, action, attributes = {}) {
  return make("button", { type: "button", class: "plain", onclick: action, ...attributes }, words);
}

export function note(words) {
  return make("p", { class: "note" }, words);
}

// A button that shows its key.
export function keyed(key, words, action, attributes = {}) {
  const made = button(words, action, { "aria-keyshortcuts": key, ...attributes });
  made.append(" ", make("kbd", { "aria-hidden": "true" }, key));
  return made;
}

export function chip(words, kind = "") {
  return make("span", { class: `chip ${kind}` }, words);
}

export function chips(labels, kind = () => "") {
  return labels.length ? labels.map((label) => chip(label, kind(label))) : ["no label"];
}

export function table(title, heads, rows) {
  const head = make("tr", {}, ...heads.map(([words, numeric]) => make("th", { scope: "col", class: numeric && "n" }, words)));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

// Whole percents, unless that would round a score to none or all.
export function percent(share) {
  const whole = Math.round(100 * share);
  if (whole === 100 && share < 1) return "> 99 %";
  return whole === 0 && share > 0 ? "< 1 %" : `${whole} %`;
}

export function points(difference) {
  const whole = Math.round(100 * difference);
  return whole === 0 ? "0" : `${whole > 0 ? "+" : "−"}${Math.abs(whole)}`;
}

export function short(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return Math.abs(value) < 1e-4 ? value.toExponential(2) : value.toPrecision(3);
}

export function cut(text, most = 160) {
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most).join("")} …` : text;
}

export function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

// Keys of changes and ids of rows begin alike, and have the time: wb-<milliseconds, base 36>-<random>-<number>.
const tab = [...crypto.getRandomValues(new Uint8Array(4))].map((byte) => byte.toString(36)).join("");
let made = 0;
export function newName() {
  made += 1;
  return `wb-${Date.now().toString(36)}-${tab}-${made}`;
}

export function timeOf(key) {
  const time = new Date(parseInt(key.split("-")[1], 36));
  return Number.isNaN(time.getTime()) ? "" : time.toLocaleString();
}

// Tables: CSV with any of the usual separators, or JSON lines, or an array of objects.

function separatorOf(line) {
  const counts = [",", ";", "\t"].map((one) => [line.split(one).length, one]);
  return counts.sort((a, b) => b[0] - a[0])[0][1];
}

function cellsOf(text) {
  const separator = separatorOf(text.split("\n", 1)[0]);
  const lines = [[]];
  let cell = "", quoted = false, begun = false;
  const close = () => { lines.at(-1).push(cell); cell = ""; begun = false; };
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (quoted) {
      if (sign !== '"') cell += sign;
      else if (text[at + 1] === '"') { cell += '"'; at += 1; } else quoted = false;
    } else if (sign === '"' && !begun) { quoted = true; begun = true; }
    else if (sign === separator) close();
    else if (sign === "\n") { close(); lines.push([]); }
    else if (sign !== "\r") { cell += sign; begun = true; }
  }
  close();
  return lines.filter((line) => line.length > 1 || line[0] !== "");
}

export function rowsOf(text) {
  const trimmed = text.replace(/^\ufeff/, "").trim();
  if (trimmed.startsWith("[")) return JSON.parse(trimmed);
  if (trimmed.startsWith("{")) return trimmed.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
  const [head, ...lines] = cellsOf(trimmed);
  return lines.map((line) => Object.fromEntries(head.map((name, at) => [name, line[at] ?? ""])));
}

function quoted(value) {
  const text = value === null || value === undefined ? "" : Array.isArray(value) ? value.join(";") : String(value);
  return /[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(heads, rows) {
  return [heads, ...rows].map((line) => `${line.map(quoted).join(",")}\r\n`).join("");
}

export function save(name, text, type) {
  const mark = type === "text/csv" ? ["\ufeff"] : []; // spreadsheets want the mark
  const url = URL.createObjectURL(new Blob([...mark, text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
