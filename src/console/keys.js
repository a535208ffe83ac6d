/* keys.js: everything by the keyboard; the table is also what ? shows. */
import * as address from "./address.js";
import { asking } from "./actions.js";
import { h, patch } from "./dom.js";
import { save } from "./export.js";
import { feed, hold } from "./feed.js";
import { current } from "./lists.js";

export const chosen = { key: null };

let page; // { render, theme, act, help }

function move(by) {
	if (!current.key || !current.rows.length) return;
	const at = current.rows.findIndex((row) => current.key(row) === chosen.key);
	const next = at < 0 ? (by > 0 ? 0 : current.rows.length - 1) : Math.max(0, Math.min(current.rows.length - 1, at + by));
	chosen.key = current.key(current.rows[next]);
	page.render();
	requestAnimationFrame(() => document.querySelector('[aria-current="true"][data-key]')?.scrollIntoView({ block: "nearest" }));
}

function open() {
	const row = current.key && current.rows.find((r) => current.key(r) === chosen.key);
	if (!row || !current.open) return;
	chosen.key = null;
	current.open(row);
}

function search() {
	const field = document.getElementById("search");
	if (field) return field.select();
	address.go("tenants");
	requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById("search")?.focus()));
}

function back() {
	const at = address.read();
	if (chosen.key) chosen.key = null;
	else if (at.view === "tenant" || at.view === "device") return address.go(`${at.view}s`);
	else if ([...at.query.keys()].length) return address.go(at.view);
	page.render();
}

const table = [
	[["1"], "Overview", () => address.go("overview")],
	[["2"], "Devices", () => address.go("devices")],
	[["3"], "Tenants", () => address.go("tenants")],
	[["4"], "Events", () => address.go("events")],
	[["/"], "Search", search],
	[["j", "ArrowDown"], "Next row", () => move(1)],
	[["k", "ArrowUp"], "Row before", () => move(-1)],
	[["Enter", "o"], "Open the row", open],
	[["Escape", "u"], "Back: no row, no filter, the list", back],
	[["r"], "Resize this tenant", () => page.act("resize")],
	[["f"], "Freeze this tenant, or thaw it", () => page.act("freeze")],
	[["e"], "Export as CSV", () => save("csv")],
	[["E"], "Export as JSON", () => save("json")],
	[["p"], "Hold the picture, or let it go on", () => hold(!feed.paused)],
	[["d"], "Dark, light, or as the system is", () => page.theme()],
	[["?"], "This help", () => page.help()],
];

const NAMES = { ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc" };

export function help(dialog) {
	patch(dialog, [h("form", { method: "dialog" },
		h("h2", { id: "help-title" }, "Keys"),
		h("dl", { class: "keys" }, table.map(([keys, what]) => h("div", { key: what }, h("dt", {}, keys.map((k, i) => [i ? " " : "", h("kbd", {}, NAMES[k] || k)])), h("dd", {}, what)))),
		h("div", { class: "buttons" }, h("button", { class: "strong" }, "Close")))]);
	dialog.showModal();
}

export function start(with_page) {
	page = with_page;
	addEventListener("keydown", (e) => {
		if (e.ctrlKey || e.metaKey || e.altKey || asking() || document.querySelector("dialog[open]")) return;
		const el = document.activeElement;
		if (/^(INPUT|SELECT|TEXTAREA)$/.test(el?.tagName)) {
			if (e.key === "Escape" || (e.key === "Enter" && el.tagName === "INPUT")) el.blur();
			return;
		}
		if (e.key === "Enter" && /^(A|BUTTON|SUMMARY)$/.test(el?.tagName)) return;
		const found = table.find(([keys]) => keys.includes(e.key));
		if (!found) return;
		e.preventDefault();
		found[2]();
	});
}
