"use strict";
(() => {
  const PAGE = 100; // rows of a table that are seen at once
  const SHORT = 12; // letters of a text that is not broken
  const SIGNED = ["flip", "flip_by_votes"]; // columns of an explanation
  const collator = new Intl.Collator("en", { numeric: true });

  function make(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  // A button that cannot be used now keeps the focus of the keyboard.
  function push(words, action) {
    const button = make("button", { type: "button", class: "plain" }, words);
    button.addEventListener("click", () => button.getAttribute("aria-disabled") === "true" || action());
    return button;
  }

  function allow(button, allowed) {
    button.setAttribute("aria-disabled", String(!allowed));
  }

  // Tables: sorted by a column, filtered by the columns of names, shown page by page. Print shows all rows.

  function valueOf(row, column, numeric) {
    const cell = row.cells[column];
    if (!numeric) return cell.textContent;
    return cell.dataset.v === undefined ? NaN : Number(cell.dataset.v.replace("inf", "Infinity"));
  }

  function compare(a, b, numeric, sign) {
    if (!numeric) return sign * collator.compare(a, b);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b); // undefined ones stand last
    return sign * (a - b || 0);
  }

  function sortedTable(box) {
    const body = box.querySelector("tbody");
    const heads = [...box.querySelectorAll("thead th")];
    const isNamed = heads.map((head) => !head.classList.contains("n"));
    const input = make("input", { type: "search", autocomplete: "off", spellcheck: "false", oninput: () => turn(-first) });
    const count = make("output", { "aria-live": "polite" });
    if (box.dataset.filter) {
      box.prepend(make("p", { class: "filter" }, make("label", {}, `Filter ${box.dataset.filter} `, input), " ", count));
    }
    let rows = [...body.rows];
    let first = 0;

    const earlier = push("Earlier", () => turn(-PAGE));
    const later = push("Later", () => turn(PAGE));
    const place = make("output", { "aria-live": "polite" });
    const pager = make("p", { class: "pager" }, earlier, later, place);
    if (rows.length > PAGE) box.append(pager);

    function holds(row, wanted) {
      return [...row.cells].some((cell, i) => isNamed[i] && cell.textContent.toLowerCase().includes(wanted));
    }

    function show() {
      const wanted = input.value.trim().toLowerCase();
      const found = rows.filter((row) => holds(row, wanted));
      const seen = new Set(found.slice(first, first + PAGE));
      for (const row of rows) row.classList.toggle("off", !seen.has(row));
      count.textContent = wanted ? `${found.length} of ${rows.length}` : "";
      pager.classList.toggle("off", found.length <= PAGE);
      place.textContent = `${first + 1} to ${Math.min(first + PAGE, found.length)} of ${found.length}`;
      allow(earlier, first > 0);
      allow(later, first + PAGE < found.length);
    }

    function turn(step) {
      first += step;
      show();
    }

    function sort(column) {
      const head = heads[column];
      const numeric = !isNamed[column];
      const before = head.getAttribute("aria-sort");
      // Numbers fall and words rise at first.
      const order = before === null ? (numeric ? "descending" : "ascending")
        : before === "ascending" ? "descending" : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const keyed = rows.map((row) => [valueOf(row, column, numeric), row]);
      rows = keyed.sort((a, b) => compare(a[0], b[0], numeric, sign)).map((pair) => pair[1]);
      body.append(...rows);
      turn(-first);
    }

    heads.forEach((head, column) => {
      head.replaceChildren(make("button", { type: "button", onclick: () => sort(column) }, ...head.childNodes));
    });
    show();
  }

  // The explorer: a row, what is true of it, what is predicted, and why.

  function shown(value) {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return value === "inf" ? "never" : value === "-inf" ? "always" : String(value);
    if (Number.isInteger(value)) return String(value);
    return Math.abs(value) < 1e-4 ? value.toExponential(2) : value.toPrecision(3);
  }

  function chips(labels, names, kind) {
    return labels.map((label) => make("span", { class: `chip ${kind(label)}` }, names[label]));
  }

  function orNone(nodes) {
    return nodes.length ? nodes : ["none"];
  }

  function drawn(pixels, shape, scale, words) {
    const [height, width] = shape;
    const canvas = make("canvas", { width, height, role: "img", "aria-label": words });
    canvas.style.width = `${width * scale}px`;
    canvas.style.height = `${height * scale}px`;
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    [...pixels].forEach((digit, i) => {
      const level = 255 - 17 * parseInt(digit, 16);
      image.data.set([level, level, level, 255], 4 * i);
    });
    context.putImageData(image, 0, 0);
    return canvas;
  }

  function head(...titles) {
    return make("thead", {}, make("tr", {}, ...titles.map(([text, numeric, span = 1]) =>
      make("th", { scope: "col", class: numeric ? "n" : null, colspan: span > 1 && span }, text.replaceAll("_", " ")))));
  }

  function number(value, key = "") {
    return make("td", { class: "n" }, SIGNED.includes(key) && value > 0 ? `+${value}` : shown(value));
  }

  function scrolling(title, titles, rows, notes) {
    const box = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
      make("table", {}, head(...titles), make("tbody", {}, ...rows)));
    const part = make("div", {}, make("h3", {}, title), box,
      ...notes.filter((text) => text).map((text) => make("p", { class: "note" }, text)));
    part.style.flexGrow = titles.length;
    return part;
  }

  function meter(label) {
    const percent = (value) => `${100 * Math.min(1, Math.max(0, value))}%`;
    const fill = make("i");
    fill.style.width = percent(label.score);
    const box = make("div", { class: "meter", "aria-hidden": "true" }, fill);
    if (typeof label.threshold === "number") {
      const mark = make("b");
      mark.style.left = percent(label.threshold);
      box.append(mark);
    }
    return box;
  }

  // What the rule and the change of an explanation leave unsaid.
  const MEANINGS = {
    votes: "how many of the neighbours have the label",
    score: "the larger, the more speaks for the label",
    threshold: "the label is chosen from this score on, a line in its bar",
    prior: "the share of training samples with the label",
    likelihood: "how probable so many votes are for a sample with the label",
    likelihood_without: "the same for a sample without it",
    dy: "how far the training sample's labels are from the scores",
    share: "the share of labels that is expected to be wrong",
    loss: "how many labels are expected to be wrong",
  };

  function meanings(columns) {
    const known = columns.filter((key) => MEANINGS[key] !== undefined);
    return known.map((key) => `${key.replaceAll("_", " ")}: ${MEANINGS[key]}`).join("; ");
  }

  function labelTable(facts, row) {
    const columns = facts.label_columns.filter((key) => row.labels.some((label) => label[key] !== null));
    const isShare = row.labels.every((label) => label.score === null || (label.score >= 0 && label.score <= 1));
    const bars = columns.includes("score") && isShare;
    const rows = row.labels.map((label) => make("tr", {},
      make("th", { scope: "row" }, ...chips([label.label], facts.names, kindOf(row))),
      ...columns.flatMap((key) => [...(bars && key === "score" ? [make("td", {}, meter(label))] : []),
        number(label[key], key)])));
    const titles = [["label", false], ...columns.map((key) => [key, true, bars && key === "score" ? 2 : 1])];
    const notes = [meanings(columns), row.rule, facts.change];
    return scrolling("Labels", titles, rows, notes);
  }

  function neighborTable(facts, row) {
    const kind = (label) => (row.true.includes(label) ? "hit" : "other");
    const pictured = row.neighbors.some((one) => facts.neighbor_pictures[one.row]);
    const rows = row.neighbors.map((one) => make("tr", {},
      make("th", { scope: "row" }, String(one.row)),
      ...(pictured ? [make("td", {}, drawn(facts.neighbor_pictures[one.row], facts.shape,
        Math.max(1, Math.round(32 / facts.shape[1])), `training row ${one.row}`))] : []),
      ...facts.kept_columns.map((key) => make("td", { class: one[key].length > SHORT ? "kept" : "kept short" }, one[key])),
      ...facts.neighbor_columns.map((key) => number(one[key])),
      make("td", {}, ...orNone(chips(one.labels, facts.names, kind)))));
    const titles = [["training row", false], ...(pictured ? [["picture", false]] : []),
      ...facts.kept_columns.map((key) => [key, false]), ...facts.neighbor_columns.map((key) => [key, true]),
      ["labels", false]];
    const hidden = row.n_neighbors - row.neighbors.length;
    const notes = [meanings(facts.neighbor_columns), `Green: labels that are true of ${row.name || `row ${row.row}`}.`,
      hidden && `${hidden} more are not shown.`];
    return scrolling("Neighbours", titles, rows, notes);
  }

  // The scores of the first labels as sums: what training samples, words or other features add to each.
  function amountTable(facts, row) {
    const rows = row.amounts.map((one) => make("tr", {},
      make("th", { scope: "row" }, ...chips([one.label], facts.names, kindOf(row))),
      make("td", {}, one.evidence), number(one.amount)));
    const titles = [["label", false], ["evidence", false], ["amount", true]];
    return scrolling("Amounts", titles, rows, ["The amounts of a label sum to its score."]);
  }

  // Predicted labels of which nobody knows whether they are true: neither right nor wrong.
  function unknownOf(row) {
    return row.unknown || [];
  }

  function kindOf(row) {
    return (label) => {
      const isTrue = row.true.includes(label);
      const isChosen = row.predicted.includes(label) && !unknownOf(row).includes(label);
      return isTrue && isChosen ? "hit" : isTrue ? "missed" : isChosen ? "false" : "other";
    };
  }

  function wrongLabels(row) {
    const missed = row.true.filter((label) => !row.predicted.includes(label));
    const excess = row.predicted.filter((label) => !row.true.includes(label) && !unknownOf(row).includes(label));
    return missed.length + excess.length;
  }

  function verdict(row) {
    return wrongLabels(row) ? `${wrongLabels(row)} wrong` : "right";
  }

  // What people call a row, with its number: names may occur twice.
  function called(row) {
    return row.name ? `${row.name}, row ${row.row}` : `Row ${row.row}`;
  }

  function summary(facts, row) {
    const kept = Object.entries(row.kept).map(([name, text]) => `${name}: ${text}`);
    const words = make("div", {},
      kept.length ? make("p", { class: "kept" }, kept.join("; ")) : null,
      make("p", {}, "True: ", ...orNone(chips(row.true, facts.names, kindOf(row)))),
      make("p", {}, "Predicted: ", ...orNone(chips(row.predicted, facts.names, kindOf(row)))),
      row.novelty === null ? null : make("p", {}, `Novelty ${row.novelty.toFixed(2)}: farther from its neighbours than`
        + ` ${Math.round(100 * row.novelty)} % of the training samples.`),
      make("p", { class: "note" }, "Green: true and predicted. Red: predicted, not true. Dashed: true, not predicted."
        + (unknownOf(row).length ? " Plain: predicted, and nobody knows whether it is true." : "")));
    const picture = facts.shape ? drawn(facts.pictures[row.row], facts.shape,
      Math.max(2, Math.round(112 / facts.shape[1])), `row ${row.row}`) : null;
    return make("div", { class: "summary" }, picture, words);
  }

  function explorer(facts, view) {
    const select = make("select", { onchange: show });
    const filter = make("input", { type: "search", autocomplete: "off", spellcheck: "false", oninput: fill });
    const columns = Object.keys(facts.rows[0].kept);
    const named = make("input", { type: "search", autocomplete: "off", spellcheck: "false", oninput: fill });
    const onlyWrong = make("input", { type: "checkbox", onchange: fill });
    const earlier = push("Previous", () => step(-1));
    const later = push("Next", () => step(1));
    const state = make("p", { class: "state", role: "status" }); // all that is read out when a row is chosen
    const panel = make("div", { class: "panel" });
    view.replaceChildren(
      make("div", { class: "choice" },
        make("label", {}, "Row", select),
        columns.length ? make("label", {}, `Find by row number, ${columns.join(", ")}`, named) : null,
        make("label", {}, "With the label", filter),
        make("label", { class: "check" }, onlyWrong, "with errors only"),
        make("span", { class: "steps" }, earlier, later)),
      state,
      panel);

    function isCalled(row, text) {
      return String(row.row) === text || columns.some((column) => row.kept[column].toLowerCase().includes(text));
    }

    function hasLabel(row, text) {
      return [...row.true, ...row.predicted].some((label) => facts.names[label].toLowerCase().includes(text));
    }

    function isWanted(row) {
      const [name, label] = [named, filter].map((input) => input.value.trim().toLowerCase());
      return (!name || isCalled(row, name)) && (!label || hasLabel(row, label))
        && (!onlyWrong.checked || wrongLabels(row) > 0);
    }

    function fill() {
      const chosen = select.value;
      select.replaceChildren(...facts.rows.flatMap((row, i) => isWanted(row) ? [make("option", { value: i },
        `${row.name ? called(row) : row.row}: ${verdict(row)}`)] : []));
      if ([...select.options].some((option) => option.value === chosen)) select.value = chosen;
      show();
    }

    function step(by) {
      select.selectedIndex += by;
      show();
    }

    function show() {
      allow(earlier, select.selectedIndex > 0);
      allow(later, select.selectedIndex < select.options.length - 1);
      const row = facts.rows[select.value];
      state.textContent = row === undefined ? "No such row." : `${called(row)}: ${verdict(row)}`;
      if (row === undefined) {
        panel.replaceChildren();
        return;
      }
      panel.replaceChildren(summary(facts, row), labelTable(facts, row),
        ...(row.amounts.length ? [amountTable(facts, row)] : []),
        ...(facts.explained ? [neighborTable(facts, row)] : []));
    }

    fill();
  }

  // An audit: which of its cells are seen, and the ticked ones as a file of corrections.

  function quoted(text) {
    return /[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function correctionsOf(boxes, idColumn) {
    const head = ["row", ...(idColumn ? [idColumn] : []), "label", "given", "correct"];
    const lines = boxes.map(({ dataset: cell }) =>
      [cell.row, ...(idColumn ? [cell.id] : []), cell.label, cell.given, cell.correct]);
    return [head, ...lines].map((line) => `${line.map(quoted).join(",")}\r\n`).join("");
  }

  function save(name, text) {
    const url = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" })); // spreadsheets want the mark
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  function suspects(view) {
    const boxes = [...view.querySelectorAll(".tick input")];
    const labels = [...new Set(boxes.map((box) => box.dataset.label))].sort(collator.compare);
    const select = make("select", { onchange: show }, make("option", { value: "" }, "all labels"),
      ...labels.map((label, i) => make("option", { value: i + 1 }, label)));
    const onlyFlagged = make("input", { type: "checkbox", autocomplete: "off", onchange: show });
    const button = push("Save corrections", () => save("corrections.csv", correctionsOf(ticked(), view.dataset.idColumn)));
    const state = make("output", { "aria-live": "polite" });
    view.querySelector("#corrections").replaceChildren(
      make("label", {}, "Label", select), make("label", { class: "check" }, onlyFlagged, "flagged only"),
      make("span", { class: "steps" }, button, state));

    function ticked() {
      return boxes.filter((box) => box.checked);
    }

    function isWanted(box) {
      return (select.value === "" || box.dataset.label === labels[select.value - 1])
        && (!onlyFlagged.checked || box.closest("li").classList.contains("flagged"));
    }

    function show() {
      for (const box of boxes) box.closest("li").classList.toggle("off", !isWanted(box));
      const count = ticked().length;
      state.textContent = `${count} of ${boxes.length} ticked`;
      allow(button, count > 0);
    }

    view.addEventListener("change", show);
    show();
  }

  document.querySelectorAll(".sorted").forEach(sortedTable);
  const audited = document.getElementById("suspects-view");
  if (audited) suspects(audited);
  const view = document.getElementById("explorer-view");
  if (view) explorer(JSON.parse(document.getElementById("facts").textContent), view);
})();
