/* detail.js: one device, and one tenant. */
import * as address from "./address.js";
import { memoryBar, timeBar } from "./bars.js";
import { h } from "./dom.js";
import { badge, current, tenantColumns, tenantTable } from "./lists.js";
import { eventList } from "./overview.js";
import { SPANS, history, memoryPlot, timePlot, trafficPlot } from "./plots.js";
import { findDevice } from "./model.js";
import { sorted } from "./tables.js";
import { ago, bytes, count, moment, part, plural } from "./units.js";

const fact = (title, ...value) => h("div", { key: title }, h("dt", {}, title), h("dd", {}, value));

function spans(query) {
	const on = query.get("span") || "600";
	return h("div", { class: "spans", role: "group", "aria-label": "Time shown" },
		SPANS.map(([value, text]) => h("button", { key: value, class: "quiet", "aria-pressed": String(on === value), onclick: () => address.change({ span: value === "600" ? "" : value }) }, text)));
}

function plots(what, key, query, devices, traffic) {
	const entry = history(what, query.get("span") || "600");
	return [
		h("div", { class: "row", key: "spans" }, h("h2", {}, "History"), spans(query)),
		h("div", { class: "pair", key: "plots" }, memoryPlot(`${key}-memory`, entry), timePlot(`${key}-time`, entry, devices), trafficPlot(`${key}-traffic`, entry, traffic)),
	];
}

const button = (text, action, extra = {}) => h("button", { key: text, onclick: action, ...extra }, text);

const gone = (what, view) => {
	Object.assign(current, { name: what, rows: [], columns: [], key: null, open: null });
	return [h("h1", {}, what), h("p", { class: "empty" }, `There is no ${what} now. `, h("a", { href: address.to(view) }, `All ${view}`))];
};

function deviceActions(d, act) {
	return h("div", { class: "actions" },
		d.state === "active" ? button("Cordon …", () => act("cordon", d)) : button("Uncordon …", () => act("uncordon", d)),
		d.state === "active" || d.state === "cordoned" ? button("Drain …", () => act("drain", d)) : null);
}

/* `name`: a UUID, or an index as `mete devices` has it. */
export function deviceView(m, events, name, query, chosen, act) {
	const d = findDevice(m, name);
	if (!d) return gone("device " + name, "devices");
	const mine = d.shares.map((s) => s.tenant);
	const open = (t) => address.go("tenant", t.name);
	Object.assign(current, { name: `device-${d.index}`, rows: sorted(mine, tenantColumns, query.get("sort"), "name"), columns: tenantColumns, key: (t) => t.name, open });
	return [
		h("div", { class: "row", key: "title" }, h("h1", {}, `Device ${d.index} `, h("small", {}, d.name)), badge(d.state), deviceActions(d, act)),
		d.reason ? h("p", { class: "reason" }, d.reason) : null,
		d.per_user ? h("p", { class: "reason", key: "per-user" }, "A software device is each user's own: what it does for users is not seen from here, but for what tenants hold and get.") : null,
		h("section", { class: "panel scale", key: "scale" }, memoryBar(d, 34), timeBar(d, 18),
			h("dl", { class: "facts" },
				fact("Held", bytes(d.held_bytes)), fact("Promised", `${bytes(d.promised_bytes)} (${part(d.promised_bytes / d.total_bytes)})`),
				fact("Promised, not used", h("span", { class: d.idle > 0.5 * d.promised_bytes ? "waste" : "" }, bytes(d.idle))), fact("To nobody", bytes(d.free)), fact("Memory", bytes(d.total_bytes)),
				fact("Time got", part(d.got_10s)), fact("Wanted", part(d.wanted_10s)), fact("Guaranteed", `${+d.promised_cores.toFixed(1)} %`), fact("Policy", d.policy),
				fact("Faults", count(d.faults)),
				d.used_bytes === null ? null : fact("Used by all", bytes(d.used_bytes)),
				d.power_w === null ? null : fact("Power", `${Math.round(d.power_w)} W`), d.temperature_c === null ? null : fact("Temperature", `${Math.round(d.temperature_c)} °C`),
				fact("At work", part(d.utilisation)),
				fact("UUID", h("code", {}, d.uuid)))),
		plots(`device=${encodeURIComponent(d.uuid)}`, d.uuid, query, 1),
		h("h2", { key: "tenants" }, plural(mine.length, "tenant")),
		tenantTable(mine, query, chosen, `Tenants of device ${d.index}`, "Nobody has a share of this device."),
		eventList(m, events, "Its last events"),
	];
}

function shareRow(s, m) {
	const d = m.devices.find((x) => x.uuid === s.uuid);
	const only = d && { ...d, promised_bytes: s.quota_bytes, promised_cores: s.cores, got_10s: s.got_10s, shares: d.shares.filter((x) => x.share === s), tenants: 1 };
	return h("section", { class: "panel scale", key: s.uuid },
		h("h2", {}, h("a", { href: address.to("device", s.uuid) }, `Device ${s.index}`)),
		only ? [memoryBar(only, 26), timeBar(only, 14)] : null,
		h("dl", { class: "facts" },
			fact("Held", bytes(s.held_bytes)), s.away_bytes ? fact("Away", bytes(s.away_bytes) + (s.disk_bytes ? `, ${bytes(s.disk_bytes)} of it on disk` : "")) : null, fact("Peak", bytes(s.peak_bytes)), fact("Quota", bytes(s.quota_bytes)),
			s.residence === "resident" ? null : fact("Memory is", s.residence + (s.residence === "away" ? "" : `, ${s.moved_pct} %`)),
			fact("Not used", h("span", { class: s.held_bytes * 2 < s.quota_bytes ? "waste" : "" }, bytes(Math.max(0, s.quota_bytes - s.held_bytes)))),
			fact("Got", s.got_10s === null ? "–" : `${part(s.got_10s)} (1 s ${part(s.got_1s)}, 60 s ${part(s.got_60s)})`), fact("Wanted", part(s.wanted_10s)), fact("Waited", part(s.waited_10s)),
			fact("Guaranteed", s.cores ? `${+s.cores.toFixed(1)} %` : "nothing"), fact("At most", s.cores_limit ? `${+s.cores_limit.toFixed(1)} %` : "100 %"), fact("Policy", s.policy),
			fact("Class", s.class), s.weight ? fact("Weight", count(s.weight)) : null, fact("Refused", count(s.refused))));
}

function tenantActions(t, act) {
	return h("div", { class: "actions" },
		t.state === "quarantined" ? button("Release …", () => act("release", t)) : null,
		button("Resize …", () => act("resize", t)),
		t.state === "frozen" ? button("Thaw …", () => act("thaw", t)) : button("Freeze …", () => act("freeze", t)),
		button("End …", () => act("end", t), { class: "bad" }));
}

function refusals(t) {
	const list = Object.entries(t.refusals || {}).filter(([, n]) => n).sort((a, b) => b[1] - a[1]);
	return list.length ? h("section", { class: "panel", key: "refusals" }, h("h2", {}, "Refusals"), h("dl", { class: "facts" }, list.map(([why, n]) => fact(why.replaceAll("_", " ").replaceAll("-", " "), count(n))))) : null;
}

/* What went through workers, by the way that its programs come. */
function remote(t) {
	const ways = Object.entries(t.remote || {});
	return ways.length ? h("section", { class: "panel", key: "remote" }, h("h2", {}, "Remote traffic"),
		ways.map(([way, w]) => h("dl", { class: "facts", key: way, "data-way": way },
			fact("Way", way), fact("Connected now", count(w.sessions)), fact("Calls", count(w.calls)), fact("Received", bytes(w.received_bytes)), fact("Sent", bytes(w.sent_bytes))))) : null;
}

export function tenantView(m, events, name, query, act) {
	const t = m.tenants.find((x) => x.name === name);
	if (!t) return gone("tenant " + name, "tenants").concat(eventList(m, events, "What happened to it"));
	Object.assign(current, { name: t.name, rows: [t], columns: tenantColumns, key: (x) => x.name, open: null });
	return [
		h("div", { class: "row", key: "title" }, h("h1", {}, t.name), badge(t.state), t.walled ? badge("walled") : null, t.place ? badge(t.place) : null, tenantActions(t, act)),
		h("dl", { class: "facts", key: "facts" },
			fact("User", `${t.user || "–"} (uid ${t.uid})`), t.container ? fact("Container", h("code", {}, t.container)) : null, t.pod ? fact("Pod", `${t.namespace ? `${t.namespace}/` : ""}${t.pod}`) : null, fact("Made", moment(t.created)), fact("Processes", count(t.clients)), t.workers ? fact("Workers", count(t.workers)) : null,
			fact("Class", t.class), fact("Faults", count(t.faults)), fact("Last active", t.last_active ? ago(m.node.time - t.last_active) : "–")),
		h("div", { class: "pair", key: "shares" }, t.shares.map((s) => shareRow(s, m))),
		plots(`tenant=${encodeURIComponent(t.name)}`, t.name, query, t.shares.length, t.traffic > 0),
		remote(t),
		refusals(t),
		eventList(m, events, "Its last events"),
	];
}
