/*
 * tables.js: a table from a list of columns: sorted by a click on a heading, the order kept in the address, one row
 * chosen by the keyboard, and the same columns for export.
 *
 * A column: id, title, value(row) to sort and export by, cell(row) to show (default: the value), num (right-aligned,
 * sorts downward first), hint (what the heading means).
 */
import * as address from "./address.js";
import { h } from "./dom.js";

const ROWS_MAX = 1000;

function compare(a, b) {
	if (typeof a === "string" || typeof b === "string")
		return String(a ?? "").localeCompare(String(b ?? ""), "en", { numeric: true });
	return (a ?? -Infinity) - (b ?? -Infinity);
}

/* "-held": by held, downward. */
export function sorted(rows, columns, order, usual) {
	const spec = order || usual;
	const down = spec.startsWith("-");
	const column = columns.find((c) => c.id === spec.replace(/^-/, "")) || columns[0];
	const list = rows.map((row) => [column.value(row), row]).sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
	return list.map(([, row]) => row);
}

function heading(c, order, usual) {
	const spec = order || usual;
	const on = spec.replace(/^-/, "") === c.id;
	const down = spec.startsWith("-");
	const next = on ? (down ? c.id : `-${c.id}`) : c.num ? `-${c.id}` : c.id;
	return h("th", { key: c.id, scope: "col", class: c.num ? "num" : "", "aria-sort": on ? (down ? "descending" : "ascending") : null },
		h("button", { class: "sort", title: c.hint, onclick: () => address.change({ sort: next === usual ? "" : next }) },
			c.title, h("span", { class: "arrow", "aria-hidden": "true" }, on ? (down ? "↓" : "↑") : "")));
}

/* `cls`: a class of the table, if any; `open(row)`: what Enter and a click do; `key(row)`: what a row is known by. */
export function table({ rows, columns, order, usual, key, open, chosen, caption, empty, cls = null }) {
	const list = sorted(rows, columns, order, usual);
	const shown = list.slice(0, ROWS_MAX);
	if (!rows.length) return h("p", { class: "empty" }, empty);
	return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
		h("table", { class: cls, "data-rows": list.length },
			h("caption", { class: "hidden" }, caption),
			h("thead", {}, h("tr", {}, columns.map((c) => heading(c, order, usual)))),
			h("tbody", {}, shown.map((row) =>
				h("tr", { key: key(row), class: open ? "open" : "", "data-key": key(row), "aria-current": chosen === key(row) ? "true" : null, onclick: open && ((e) => e.target.closest("a,button") || getSelection().toString() || open(row)) },
					columns.map((c) => h("td", { key: c.id, class: c.num ? "num" : "" }, c.cell ? c.cell(row) : c.value(row))))))),
		list.length > shown.length ? h("p", { class: "empty" }, `The first ${ROWS_MAX} of ${list.length}. A filter shows the others.`) : null);
}
