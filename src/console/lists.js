/* lists.js: the columns of devices, tenants and events, and the tables with their filters. */
import * as address from "./address.js";
import { meter } from "./bars.js";
import { h } from "./dom.js";
import { DEVICE_STATES, KINDS, STATES, matches } from "./model.js";
import { sorted, table } from "./tables.js";
import { ago, bytes, count, moment, part, plural, zone } from "./units.js";

export const badge = (state) => h("span", { class: `badge ${state}` }, state);
const figure = (text) => h("span", { class: "figure" }, text);
const dash = (n, f = count) => (n ? f(n) : h("span", { class: "faint" }, "–"));

export const tenantColumns = [
	{ id: "name", title: "Tenant", value: (t) => t.name, cell: (t) => h("a", { class: "name", title: t.name.length > 28 ? t.name : null, href: address.to("tenant", t.name) }, t.name) },
	{ id: "state", title: "State", value: (t) => t.state, cell: (t) => (t.place ? [badge(t.state), " ", badge(t.place)] : badge(t.state)) },
	{ id: "user", title: "User", value: (t) => t.user || String(t.uid), cell: (t) => h("span", { class: "name user", title: `uid ${t.uid}` }, t.user || String(t.uid)) },
	{ id: "container", title: "Container", value: (t) => t.container || "", cell: (t) => (t.container ? h("code", { title: [t.container, t.pod && `pod ${t.namespace ? `${t.namespace}/` : ""}${t.pod}`].filter(Boolean).join(", ") }, t.container.slice(0, 12)) : h("span", { class: "faint" }, "–")), hint: "The container that the share is of; a search finds its whole id, pod and namespace" },
	{ id: "device", title: "Device", value: (t) => t.on },
	{ id: "held", title: "Held", num: true, value: (t) => t.held, cell: (t) => (t.away ? [bytes(t.held), h("span", { class: "faint" }, ` + ${bytes(t.away)} away`)] : bytes(t.held)), hint: "Device memory in use; and what has left the device" },
	{ id: "quota", title: "Quota", num: true, value: (t) => t.quota, cell: (t) => [meter(t.quota ? t.held / t.quota : 0, null), figure(bytes(t.quota))], hint: "Device memory promised; the bar shows how much of it is held" },
	{ id: "idle", title: "Not used", num: true, value: (t) => t.idle, cell: (t) => h("span", { class: t.quota && t.idle / t.quota > 0.5 ? "waste" : "" }, bytes(t.idle)), hint: "Promised, and not held" },
	{ id: "cores", title: "Guaranteed", num: true, value: (t) => t.cores, cell: (t) => (t.cores ? `${+t.cores.toFixed(1)} %` : dash(0)), hint: "Share of the device's time that is guaranteed" },
	{ id: "got", title: "Got", num: true, value: (t) => t.got, cell: (t) => [meter(t.got, t.cores / 100, "time"), figure(part(t.got))], hint: "Of a device's time over the last 10 seconds, those of several devices added; – of one that is not measured (policy native)" },
	{ id: "wanted", title: "Wanted", num: true, value: (t) => t.wanted, cell: (t) => part(t.wanted), hint: "Time in which it had work, over the last 10 seconds" },
	{ id: "waited", title: "Waited", num: true, value: (t) => t.waited, cell: (t) => part(t.waited), hint: "Time in which its work waited for a turn, over the last 10 seconds" },
	{ id: "refused", title: "Refused", num: true, value: (t) => t.refused, cell: (t) => dash(t.refused), hint: "Requests that were refused" },
	{ id: "clients", title: "Processes", num: true, value: (t) => t.clients, cell: (t) => dash(t.clients) },
	{ id: "remote", title: "Remote", num: true, value: (t) => t.traffic, cell: (t) => dash(t.traffic, bytes), hint: "What its workers have received and sent, with what calls carry" },
];

export const deviceColumns = [
	{ id: "index", title: "Device", value: (d) => d.index, cell: (d) => h("a", { href: address.to("device", d.uuid) }, `${d.index}`, h("span", { class: "faint" }, ` ${d.name}`)) },
	{ id: "state", title: "State", value: (d) => d.state, cell: (d) => badge(d.state) },
	{ id: "policy", title: "Policy", value: (d) => d.policy },
	{ id: "tenants", title: "Tenants", num: true, value: (d) => d.tenants, cell: (d) => dash(d.tenants) },
	{ id: "total", title: "Memory", num: true, value: (d) => d.total_bytes, cell: (d) => bytes(d.total_bytes) },
	{ id: "promised", title: "Promised", num: true, value: (d) => d.promised_bytes, cell: (d) => bytes(d.promised_bytes) },
	{ id: "held", title: "Held", num: true, value: (d) => d.held_bytes, cell: (d) => [meter(d.held_bytes / d.total_bytes, d.promised_bytes / d.total_bytes), figure(bytes(d.held_bytes))], hint: "The pale part of the bar is promised" },
	{ id: "idle", title: "Not used", num: true, value: (d) => d.idle, cell: (d) => h("span", { class: d.promised_bytes && d.idle / d.promised_bytes > 0.5 ? "waste" : "" }, bytes(d.idle)), hint: "Promised, and not held" },
	{ id: "cores", title: "Guaranteed", num: true, value: (d) => d.promised_cores, cell: (d) => `${+d.promised_cores.toFixed(1)} %` },
	{ id: "got", title: "Got", num: true, value: (d) => d.got_10s, cell: (d) => [meter(d.got_10s, d.promised_cores / 100, "time"), figure(part(d.got_10s))] },
	{ id: "wanted", title: "Wanted", num: true, value: (d) => d.wanted_10s, cell: (d) => part(d.wanted_10s) },
	{ id: "utilisation", title: "At work", num: true, value: (d) => d.utilisation, cell: (d) => (d.utilisation === null ? dash(0) : part(d.utilisation)), hint: "The part of the last moments in which the device was at work, whoever's that was, as its driver has it" },
	{ id: "power", title: "Power", num: true, value: (d) => d.power_w, cell: (d) => (d.power_w === null ? dash(0) : `${Math.round(d.power_w)} W`) },
	{ id: "temperature", title: "Temp.", num: true, value: (d) => d.temperature_c, cell: (d) => (d.temperature_c === null ? dash(0) : `${Math.round(d.temperature_c)} °C`) },
	{ id: "faults", title: "Faults", num: true, value: (d) => d.faults, cell: (d) => dash(d.faults) },
];

export const eventColumns = (m) => [
	{ id: "time", title: "Time", num: false, value: (e) => e.id, cell: (e) => h("time", { datetime: new Date(e.time * 1000).toISOString(), title: ago(Date.now() / 1000 - e.time) }, moment(e.time)) },
	{ id: "kind", title: "Kind", value: (e) => e.kind, cell: (e) => badge(e.kind) },
	{ id: "tenant", title: "Tenant", value: (e) => e.tenant || "", cell: (e) => (e.tenant ? h("a", { class: "name", title: e.tenant.length > 28 ? e.tenant : null, href: address.to("tenant", e.tenant) }, e.tenant) : "") },
	{ id: "device", title: "Device", value: (e) => deviceName(m, e.device), cell: (e) => (e.device ? h("a", { href: address.to("device", e.device) }, deviceName(m, e.device)) : "") },
	{ id: "text", title: "What", value: (e) => e.text, cell: (e) => [e.text, e.count > 1 ? h("span", { class: "times" }, `×${count(e.count)}`) : null] },
];

export function deviceName(m, uuid) {
	return uuid ? String(m.devices.find((d) => d.uuid === uuid)?.index ?? uuid.slice(0, 12)) : "";
}

/* Filters. */

function choice(query, id, title, words) {
	const on = query.get(id) || "";
	return h("label", { class: "field", key: id }, h("span", {}, title),
		h("select", { "data-filter": id, onchange: (e) => address.change({ [id]: e.target.value }) },
			h("option", { value: "", selected: !on }, "all"),
			words.map((w) => (Array.isArray(w) ? w : [w, w])).map(([value, text]) => h("option", { key: value, value, selected: on === value }, text))));
}

function searchField(query, what) {
	return h("label", { class: "field grow", key: "q" }, h("span", {}, "Search"),
		h("input", { type: "search", id: "search", placeholder: what, autocomplete: "off", spellcheck: "false", value: query.get("q") || "", oninput: (e) => address.change({ q: e.target.value }, true) }));
}

function bar(query, shown, all, what, exportAs, ...fields) {
	const filtered = [...query.keys()].some((k) => k !== "sort");
	return h("form", { class: "filters", role: "search", onsubmit: (e) => e.preventDefault() },
		fields,
		h("span", { class: "shown", role: "status" }, shown === all ? plural(all, what) : `${count(shown)} of ${plural(all, what)}`),
		filtered ? h("a", { class: "button quiet", href: address.to(address.read().view) }, "Clear") : null,
		h("span", { class: "exports", role: "group", "aria-label": "Export" },
			h("button", { type: "button", class: "quiet", onclick: () => exportAs("csv") }, "CSV"),
			h("button", { type: "button", class: "quiet", onclick: () => exportAs("json") }, "JSON")));
}

/* What the views share with the keyboard and the export: the rows as they are shown now. */
export const current = { name: "", rows: [], columns: [], key: null, open: null };

function show(name, rows, columns, query, usual, key, open) {
	Object.assign(current, { name, columns, key, open, rows: sorted(rows, columns, query.get("sort"), usual) });
}

export function tenantTable(rows, query, chosen, caption = "Tenants", empty = "No tenant is like that.") {
	return table({ rows, columns: tenantColumns, order: query.get("sort"), usual: "name", key: (t) => t.name, chosen, caption, empty,
		open: (t) => address.go("tenant", t.name) });
}

export function tenantsView(m, query, chosen, exportAs) {
	const device = query.get("device");
	const rows = m.tenants.filter((t) => matches(t, query.get("q")) &&
		(!query.get("state") || t.state === query.get("state")) && (!query.get("class") || t.class === query.get("class")) &&
		(!query.get("user") || (t.user || String(t.uid)) === query.get("user")) &&
		(!device || t.shares.some((s) => String(s.index) === device)));
	const users = [...new Set(m.tenants.map((t) => t.user || String(t.uid)))].sort();
	show("tenants", rows, tenantColumns, query, "name", (t) => t.name, (t) => address.go("tenant", t.name));
	return [
		h("h1", {}, "Tenants"),
		bar(query, rows.length, m.tenants.length, "tenant", exportAs,
			searchField(query, "name, user, state …"),
			choice(query, "state", "State", STATES), choice(query, "class", "Class", ["high", "normal", "low"]),
			choice(query, "user", "User", users), choice(query, "device", "Device", m.devices.map((d) => String(d.index)))),
		m.tenants.length ? tenantTable(rows, query, chosen)
			: h("p", { class: "empty" }, "Nobody has a share yet. ", h("code", {}, "mete run --mem 4G -- program"), " makes the first."),
	];
}

export function devicesView(m, query, chosen, exportAs) {
	const rows = m.devices.filter((d) => matches(d, query.get("q")) && (!query.get("state") || d.state === query.get("state")));
	const open = (d) => address.go("device", d.uuid);
	show("devices", rows, deviceColumns, query, "index", (d) => d.uuid, open);
	return [
		h("h1", {}, "Devices"),
		bar(query, rows.length, m.devices.length, "device", exportAs, searchField(query, "number, UUID, name …"), choice(query, "state", "State", DEVICE_STATES)),
		table({ rows, columns: deviceColumns, order: query.get("sort"), usual: "index", key: (d) => d.uuid, chosen, caption: "Devices", open,
			empty: m.devices.length ? "No device is like that." : "This node has no device. `mete doctor` says why." }),
	];
}

/* `told`: meted has said which there are. */
export function eventsView(m, events, told, query, chosen, exportAs) {
	const columns = eventColumns(m);
	const q = (query.get("q") || "").toLowerCase().split(/\s+/);
	const rows = events.filter((e) => (!query.get("kind") || e.kind === query.get("kind")) &&
		(!query.get("device") || deviceName(m, e.device) === query.get("device")) &&
		q.every((w) => `${e.text} ${e.tenant || ""} ${e.kind}`.toLowerCase().includes(w)));
	show("events", rows, columns, query, "-time", (e) => String(e.id), null);
	return [
		h("h1", {}, "Events ", h("small", {}, `times are ${zone()}`)),
		bar(query, rows.length, events.length, "event", exportAs, searchField(query, "text or tenant"), choice(query, "kind", "Kind", KINDS),
			choice(query, "device", "Device", m.devices.map((d) => String(d.index)))),
		table({ rows, columns, order: query.get("sort"), usual: "-time", key: (e) => String(e.id), chosen, caption: "Events", cls: "events",
			empty: events.length ? "No event is like that." : told ? "Nothing has happened yet." : "…" }),
	];
}

export const tenantsOn = (d) => plural(d.tenants, "tenant");
