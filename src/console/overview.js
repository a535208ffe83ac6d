/* overview.js: the node at a glance: sums, what is promised and not used, and every device with its shares to scale. */
import * as address from "./address.js";
import { memoryBar, timeBar } from "./bars.js";
import { h } from "./dom.js";
import { badge, current, tenantsOn } from "./lists.js";
import { DEVICE_STATES, STATES } from "./model.js";
import { SPANS, history, memoryTrend, timeTrend, trafficTrend } from "./plots.js";
import { bytes, bytesOf, clock, count, part, plural } from "./units.js";

const share = (x, all) => (all ? x / all : 0);
const width = (x, all) => ({ width: `${(100 * Math.min(1, share(x, all))).toFixed(2)}%` });

function tile(key, title, big, small, more) {
	return h("section", { class: "tile", key }, h("h2", {}, title), h("p", { class: "big" }, big), h("p", { class: "small" }, small), more);
}

function memoryTile(t) {
	return tile("memory", "Memory held", [bytes(t.held), h("small", {}, ` of ${bytes(t.total)}`)],
		`${bytes(t.promised)} promised (${part(share(t.promised, t.total))})`,
		h("div", { class: "gauge", "aria-hidden": "true" }, h("i", { class: "idle", style: width(t.promised, t.total) }), h("i", { class: "held", style: width(t.held, t.total) })));
}

function wasteTile(t) {
	const idle = share(t.idle, t.promised);
	return tile("waste", "Promised, not used", [h("span", { class: idle > 0.5 ? "waste" : "" }, bytes(t.idle)), h("small", {}, ` ${part(idle)} of promises`)],
		`${bytes(Math.max(0, t.total - t.promised))} promised to nobody`,
		t.idle ? h("a", { href: address.to("tenants", "", { sort: "-idle" }) }, "Who does not use it") : null);
}

function timeTile(m) {
	const t = m.totals;
	const n = m.devices.length || 1;
	const mean = (sum) => (sum === null ? null : sum / n);
	return tile("time", "Time got", [part(mean(t.got)), h("small", {}, m.devices.length > 1 ? " mean of devices, over 10 s" : " over 10 s")],
		`${part(mean(t.wanted))} wanted, ${part(t.cores / n)} guaranteed${t.working === null ? "" : `, ${part(t.working)} at work`}`,
		h("div", { class: "gauge time", "aria-hidden": "true" }, h("i", { class: "idle", style: width(t.cores, n) }), h("i", { class: "held", style: width(t.got, n) })));
}

function states(list, all, view) {
	return all.map((s) => [s, list.filter((x) => x.state === s).length]).filter(([, n]) => n)
		.map(([s, n]) => h("a", { key: s, class: "state", href: address.to(view, "", { state: s }) }, badge(s), count(n)));
}

function peopleTile(m) {
	return tile("people", "Tenants", count(m.tenants.length), states(m.tenants, STATES, "tenants"),
		h("p", { class: "small" }, plural(new Set(m.tenants.map((t) => t.uid)).size, "user")));
}

function devicesTile(m) {
	return tile("devices", "Devices", count(m.devices.length), states(m.devices, DEVICE_STATES, "devices"),
		h("p", { class: m.totals.faults ? "small bad" : "small" }, plural(m.totals.faults, "fault")));
}

/* A bar is as long as the device's memory, so that bars of one node can be compared. */
function card(d, largest, chosen) {
	const [held, total] = bytesOf(d.held_bytes, d.total_bytes);
	const note = d.state === "active" ? null : badge(d.state);
	return h("li", { key: d.uuid, class: `card ${d.state}`, "data-key": d.uuid, "aria-current": chosen === d.uuid ? "true" : null },
		h("div", { class: "top" },
			h("a", { href: address.to("device", d.uuid), title: `${d.name}  ${d.uuid}` }, `Device ${d.index}`), note,
			h("span", { class: "faint" }, note ? tenantsOn(d) : `${d.got_10s === null ? `${part(d.utilisation)} at work` : `${part(d.got_10s)} of time`}, ${tenantsOn(d)}`)),
		h("div", { class: "line" }, h("div", { class: "track", style: { width: `${(100 * share(d.total_bytes, largest)).toFixed(2)}%` } }, memoryBar(d, 18))),
		timeBar(d, 11),
		h("div", { class: "figures" },
			h("span", {}, h("b", {}, held), ` ${total}`),
			h("span", { class: d.idle > 0.5 * d.promised_bytes ? "waste" : "faint" }, `${bytes(d.idle)} not used`)));
}

function wasteList(m) {
	const worst = m.tenants.filter((t) => t.idle).sort((a, b) => b.idle - a.idle).slice(0, 6);
	return h("section", { class: "panel", key: "worst" }, h("h2", {}, "Most promised and not used"),
		worst.length ? h("ol", { class: "rank" }, worst.map((t) => h("li", { key: t.name }, h("a", { href: address.to("tenant", t.name) }, t.name),
			h("span", {}, h("b", {}, bytes(t.idle)), h("span", { class: "faint" }, ` of ${bytes(t.quota)}`)))))
			: h("p", { class: "empty" }, m.totals.promised ? "Everything that is promised is used." : "Nothing is promised."));
}

/* `events`: null: they are not known yet. */
export function eventList(m, events, title) {
	return h("section", { class: "panel", key: "events" }, h("h2", {}, title),
		events?.length ? h("ul", { class: "feed" }, events.map((e) => h("li", { key: e.id }, h("time", {}, clock(e.time)), badge(e.kind),
			h("span", {}, e.tenant ? [h("a", { href: address.to("tenant", e.tenant) }, e.tenant), " "] : null, e.text, e.count > 1 ? h("span", { class: "times" }, `×${count(e.count)}`) : null))))
			: h("p", { class: "empty" }, events ? "There are none." : "…"));
}

function legend() {
	const item = (cls, text) => h("span", { class: `key ${cls}` }, text);
	return h("p", { class: "legend" }, item("held", "held"), item("away", "away from the device"), item("idle", "promised, not used"), item("free", "promised to nobody"),
		item("got", "time got"), item("cores", "time guaranteed"));
}

/*
 * So many cards as the window shows before anybody scrolls, or a row more: above them stands what is some 380 px high,
 * beside them, in a wide window, the lists. The others follow in the next frame.
 */
function seenAtFirst() {
	const rows = Math.max(1, Math.ceil((innerHeight - 380) / 111));
	return rows * Math.max(1, Math.floor((innerWidth - (innerWidth > 1100 ? 400 : 40)) / 248));
}

const USUAL_SPAN = "3600";

/* What the node has promised and what was used of it, over time. */
function trends(m, query) {
	const span = query.get("span") || USUAL_SPAN;
	const entry = history("node=1", span);
	const button = ([value, text]) => h("button", { key: value, class: "quiet", "aria-pressed": String(span === value), onclick: () => address.change({ span: value === USUAL_SPAN ? "" : value }) }, text);
	return h("section", { class: "trends", key: "trends", "aria-labelledby": "trends" },
		h("div", { class: "row" }, h("h2", { id: "trends" }, "The node over time"),
			h("div", { class: "spans", role: "group", "aria-label": "Time shown" }, SPANS.map(button))),
		h("div", { class: "pair" }, memoryTrend(entry), timeTrend(entry, m.devices.length || 1), trafficTrend(entry, m.totals.traffic > 0)));
}

/* Their room, so that nothing moves when they come. */
const noTrends = (m) => h("section", { class: `trends waiting ${m.totals.traffic ? "three" : ""}`, key: "waiting", "aria-hidden": "true" });

/* `first`: the page has shown nothing yet, and is to show at once what is seen of it. */
export function overview(m, events, query, chosen, first) {
	const shown = first ? m.devices.slice(0, seenAtFirst()) : m.devices;
	Object.assign(current, { name: "devices", rows: m.devices, columns: [], key: (d) => d.uuid, open: (d) => address.go("device", d.uuid) });
	return [
		h("h1", { class: "hidden" }, "Overview"),
		h("div", { class: "tiles" }, memoryTile(m.totals), wasteTile(m.totals), timeTile(m), peopleTile(m), devicesTile(m)),
		m.devices.length ? first ? noTrends(m) : trends(m, query) : null,
		h("div", { class: "columns" },
			h("section", { class: "fleet", key: "fleet", "aria-labelledby": "fleet" },
				h("div", { class: "row" }, h("h2", { id: "fleet" }, "Shares, drawn to scale"), m.devices.length ? legend() : null),
				m.devices.length ? h("ul", { class: m.devices.length < 5 ? "cards few" : "cards" }, shown.map((d) => card(d, m.totals.largest, chosen)))
					: h("p", { class: "empty" }, "This node has no device. ", h("code", {}, "mete doctor"), " says why.")),
			h("aside", { key: "aside" }, wasteList(m), eventList(m, events && events.slice(-12).reverse(), "Latest events"))),
	];
}
