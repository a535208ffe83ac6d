/* model.js: what follows from the node's description: sums, tenants by device, what is promised and not held. */

export const STATES = ["running", "idle", "frozen", "quarantined"];
export const DEVICE_STATES = ["active", "cordoned", "draining", "lost"];
export const KINDS = ["grant", "refusal", "fault", "device", "action", "daemon"];

const sum = (list, f) => list.reduce((n, x) => n + (f(x) || 0), 0);

/* What one does not know of a part is not known of the whole; `some`: of the parts that are known. */
const known = (list, f) => (list.some((x) => f(x) === null) ? null : sum(list, f));
const some = (list, f) => (list.some((x) => f(x) !== null) ? sum(list, f) : null);

/* A tenant with the sums over its shares, made once for each description of the node. */
function tenantRow(t) {
	const quota = sum(t.shares, (s) => s.quota_bytes);
	const held = sum(t.shares, (s) => s.held_bytes);
	const moving = t.shares.find((s) => s.residence !== "resident");
	return {
		...t,
		quota,
		held,
		away: sum(t.shares, (s) => s.away_bytes),
		place: moving ? moving.residence + (moving.residence === "away" ? "" : ` ${moving.moved_pct} %`) : "",
		peak: sum(t.shares, (s) => s.peak_bytes),
		idle: Math.max(0, quota - held),
		cores: sum(t.shares, (s) => s.cores),
		got: some(t.shares, (s) => s.got_10s),
		wanted: some(t.shares, (s) => s.wanted_10s),
		waited: some(t.shares, (s) => s.waited_10s),
		refused: sum(Object.values(t.refusals || {}), (n) => n),
		traffic: sum(Object.values(t.remote || {}), (w) => w.received_bytes + w.sent_bytes),
		on: t.shares.map((s) => s.index).join(", "),
		words: [t.name, t.user, t.state, t.class, t.walled ? "walled" : "", moving ? moving.residence : "", t.container, t.pod, t.namespace].join(" ").toLowerCase(),
	};
}

function deviceRow(d, shares) {
	return {
		...d,
		shares,
		away_bytes: sum(shares, (x) => x.share.away_bytes),
		idle: Math.max(0, d.promised_bytes - d.held_bytes),
		free: Math.max(0, d.total_bytes - d.promised_bytes),
		tenants: shares.length,
		words: [d.index, d.uuid, d.name, d.state, d.policy, d.reason].join(" ").toLowerCase(),
	};
}

const mean = (total, n) => (total === null ? null : total / n);

/* By its UUID, or by its index where no other one has it. */
export function findDevice(m, name) {
	const alike = m.devices.filter((d) => String(d.index) === name);
	return m.devices.find((d) => d.uuid === name) ?? (alike.length === 1 ? alike[0] : undefined);
}

let last = null;
let made = null;

export function model(node) {
	if (node === last) return made;
	const shares = new Map(node.devices.map((d) => [d.uuid, []]));
	const tenants = node.tenants.map(tenantRow).sort((a, b) => a.id - b.id);
	for (const tenant of tenants)
		for (const share of tenant.shares) shares.get(share.uuid)?.push({ tenant, share });
	const devices = node.devices.map((d) => deviceRow(d, shares.get(d.uuid)));
	const totals = {
		total: sum(devices, (d) => d.total_bytes),
		promised: sum(devices, (d) => d.promised_bytes),
		held: sum(devices, (d) => d.held_bytes),
		idle: sum(devices, (d) => d.idle),
		cores: sum(devices, (d) => d.promised_cores) / 100,
		got: known(devices, (d) => d.got_10s),
		wanted: known(devices, (d) => d.wanted_10s),
		working: devices.length ? mean(known(devices, (d) => d.utilisation), devices.length) : null,
		largest: Math.max(1, ...devices.map((d) => d.total_bytes)),
		faults: sum(devices, (d) => d.faults),
		traffic: sum(tenants, (t) => t.traffic),
	};
	last = node;
	made = { node, devices, tenants, totals };
	return made;
}

export function matches(row, q) {
	return !q || q.toLowerCase().split(/\s+/).every((word) => row.words.includes(word));
}
