/* bars.js: shares drawn to scale: the width of what is drawn is its part of the device. */
import { h } from "./dom.js";
import { bytes, part } from "./units.js";

const pct = (x) => `${Math.round(Math.max(0, x) * 1e4) / 100}%`;

/* What is nothing is no element: a node has hundreds of shares, and the first picture pays for each of their boxes. */
function box(cls, x, width, extra) {
	return width > 0 ? h("rect", { class: cls, x: pct(x), width: pct(width), ...extra }) : null;
}

/*
 * Memory: one box for each share, as wide as its quota; what is held of it is filled, and what has left the device is
 * framed. Promises beyond the device, which
 * overcommitted grants make, are drawn beyond the mark at the device's end.
 */
export function memoryBar(d, height) {
	const all = Math.max(d.total_bytes, d.promised_bytes) || 1;
	const kids = [];
	let at = 0;

	for (const { tenant, share } of d.shares) {
		kids.push(
			h("g", { class: `share ${tenant.state}`, "data-tenant": tenant.name, key: tenant.id },
				box("quota", at / all, share.quota_bytes / all, { height }),
				box("held", at / all, share.held_bytes / all, { height }),
				box("away", (at + share.held_bytes) / all, share.away_bytes / all, { height: height - 1, y: 0.5 })));
		at += share.quota_bytes;
	}
	if (d.promised_bytes > d.total_bytes)
		kids.push(h("rect", { class: "limit", x: pct(d.total_bytes / all), height, width: 2, key: "limit" }));
	const said = `Memory: ${bytes(d.promised_bytes)} of ${bytes(d.total_bytes)} promised to ${d.tenants} tenants, ${bytes(d.held_bytes)} held${d.away_bytes ? `, ${bytes(d.away_bytes)} away` : ""}`;
	return h("svg", { class: "bar memory", "data-device": d.uuid, role: "img", "aria-label": said, height, width: "100%" }, kids);
}

/* Time: what each tenant got in the last ten seconds, filled; above it a line as long as what is guaranteed. */
export function timeBar(d, height) {
	const kids = [];
	const all = Math.max(1, d.got_10s, d.promised_cores / 100);
	let at = 0;
	let guaranteed = 0;

	for (const { tenant, share } of d.shares) {
		const cores = share.cores / 100;
		kids.push(
			h("g", { class: `share ${tenant.state}`, "data-tenant": tenant.name, key: tenant.id },
				box("cores", guaranteed / all, cores / all, { height: 3 }),
				box("got", at / all, share.got_10s / all, { y: 4, height: height - 4 })));
		at += share.got_10s;
		guaranteed += cores;
	}
	const said = `Time: ${part(d.got_10s)} got, ${part(d.wanted_10s)} wanted, ${Math.round(d.promised_cores)} % guaranteed`;
	return h("svg", { class: "bar time", "data-device": d.uuid, role: "img", "aria-label": said, height, width: "100%" }, kids);
}

/* A plain meter for a row of a table: `filled` and `marked` of 1. */
export function meter(filled, marked, cls = "") {
	return h("span", { class: `meter ${cls}`, "aria-hidden": "true" },
		marked === null ? null : h("i", { class: "marked", style: { width: pct(Math.min(1, marked)) } }),
		h("i", { class: "filled", style: { width: pct(Math.min(1, filled)) } }));
}
