/*
 * actions.js: what an operator does: asked in a dialog that says what will happen, sent with the token, told what came
 * of it. The server decides; a refusal is shown as it was worded there, and the dialog stays.
 */
import { h, patch } from "./dom.js";
import { again } from "./feed.js";
import { take, token } from "./token.js";
import { bytes, parseBytes, plural } from "./units.js";

let dialog = null;
let asked = null; // { title, text, fields, verb, bad, path, body() }
let trouble = "";
let busy = false;

const tenantPath = (t, what) => `api/v1/tenants/${encodeURIComponent(t.name)}/${what}`;
const devicePath = (d, what) => `api/v1/devices/${encodeURIComponent(d.uuid)}/${what}`;

/* As it is typed again: 8G stays 8G, what is no round number is bytes. */
function exact(n) {
	for (const [unit, size] of [["G", 2 ** 30], ["M", 2 ** 20], ["K", 2 ** 10]]) if (n && n % size === 0) return `${n / size}${unit}`;
	return String(n);
}

function resizeFields(t) {
	return t.shares.map((s) => ({ share: s, mem: exact(s.quota_bytes), cores: s.cores ? String(+s.cores.toFixed(2)) : "" }));
}

function resizeBody(fields, m) {
	const devices = [];
	for (const { share, mem, cores } of fields) {
		const entry = { device: share.uuid };
		const total = m.devices.find((d) => d.uuid === share.uuid)?.total_bytes || 0;
		const want = parseBytes(mem, total);
		const part = cores.trim() === "" ? null : Number(cores);
		if (!(want > 0)) throw new Error(`“${mem}” is no size: write 512M, 8G or 25%`);
		if (part !== null && !(part >= 1 && part <= 100)) throw new Error(`“${cores}” is no percentage: write a number from 1 to 100`);
		if (want !== share.quota_bytes) entry.mem_bytes = want;
		if (part !== null && Math.abs(part - share.cores) > 0.005) entry.cores = part;
		if (Object.keys(entry).length > 1) devices.push(entry);
	}
	if (!devices.length) throw new Error("Nothing is changed yet.");
	return devices;
}

const kinds = {
	resize: (t, m) => {
		const fields = resizeFields(t);
		const soon = { on: false };
		return {
			title: `Resize ${t.name}`, verb: "Resize", path: tenantPath(t, "resize"),
			text: "Growing is at once. Shrinking below what is held is refused, unless it may wait until memory is freed.",
			body: () => ({ devices: resizeBody(fields, m), soon: soon.on }),
			fields: () => [
				fields.map((f) => h("fieldset", { key: f.share.uuid }, h("legend", {}, `Device ${f.share.index}: ${bytes(f.share.held_bytes)} of ${bytes(f.share.quota_bytes)} held`),
					field("Memory", f, "mem", "8G"), field("Time, % guaranteed", f, "cores", "as it is"))),
				h("label", { class: "check" }, h("input", { type: "checkbox", onchange: (e) => (soon.on = e.target.checked) }), "Shrink as memory is freed"),
			],
		};
	},
	freeze: (t) => ({ title: `Freeze ${t.name}?`, verb: "Freeze", path: tenantPath(t, "freeze"), text: `Nothing new of its ${plural(t.clients, "process", "processes")} starts on the device until it is thawed. What it holds stays.` }),
	thaw: (t) => ({ title: `Thaw ${t.name}?`, verb: "Thaw", path: tenantPath(t, "thaw"), text: "Its work goes on." }),
	release: (t) => ({ title: `Release ${t.name}?`, verb: "Release", path: tenantPath(t, "release"), text: "Its quarantine ends: its programs may begin again, and the faults that led to it are forgotten." }),
	end: (t) => ({ title: `End ${t.name}?`, verb: "End it", bad: true, path: tenantPath(t, "end"), text: `Its ${plural(t.clients, "process", "processes")} are asked to end, and killed when they do not within ten seconds; the grant is deleted. ${bytes(t.held)} of device memory is freed. This cannot be undone.` }),
	cordon: (d) => withReason({ title: `Cordon device ${d.index}?`, verb: "Cordon", path: devicePath(d, "cordon"), text: `It takes no new grants. Its ${plural(d.tenants, "tenant")} go on.` }),
	drain: (d) => withReason({ title: `Drain device ${d.index}?`, verb: "Drain", path: devicePath(d, "drain"), text: `It takes no new grants and is waited for until its ${plural(d.tenants, "tenant")} have left.` }),
	uncordon: (d) => ({ title: `Take device ${d.index} back?`, verb: "Uncordon", path: devicePath(d, "uncordon"), text: "It takes grants again." }),
};

function withReason(action) {
	const said = { reason: "" };
	return { ...action, fields: () => field("Reason, for the others", said, "reason", "driver upgrade"), body: () => (said.reason.trim() ? { reason: said.reason.trim() } : {}) };
}

function field(title, object, name, placeholder) {
	return h("label", { class: "field" }, h("span", {}, title),
		h("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder, value: object[name], oninput: (e) => (object[name] = e.target.value) }));
}

function tokenField() {
	return h("label", { class: "field", key: "token" }, h("span", {}, "Token"),
		h("input", { type: "password", id: "token", autocomplete: "off", required: true }),
		h("small", {}, "On the node, ", h("code", {}, "mete token show"), " prints it", asked.path ? ". " : [", and ", h("code", {}, "mete token show --read"), " one that reads and does not act. "], "It is kept until this tab is closed."));
}

function render() {
	if (!asked) return;
	patch(dialog, [
		h("form", { method: "dialog", onsubmit: send },
			h("h2", { id: "dialog-title" }, asked.title),
			h("p", {}, asked.text),
			asked.fields?.(),
			token.acts && !asked.needsToken ? null : tokenField(),
			h("p", { class: "trouble", role: "alert", "aria-live": "assertive" }, trouble),
			h("div", { class: "buttons" },
				h("button", { type: "button", class: "quiet", onclick: close }, "Cancel"),
				h("button", { type: "submit", class: asked.bad ? "bad strong" : "strong", disabled: busy }, busy ? "…" : asked.verb))),
	]);
}

async function send(event) {
	event.preventDefault();
	const typed = dialog.querySelector("#token");
	try {
		const body = asked.body?.() ?? {};
		busy = true;
		trouble = "";
		render();
		if (typed) await take(typed.value, !!asked.path);
		asked.needsToken = false;
		if (asked.path) await post(asked.path, body);
		close();
		again();
	} catch (e) {
		trouble = e.message;
	}
	busy = false;
	render();
}

async function post(path, body) {
	let answer;
	try {
		answer = await fetch(path, { method: "POST", headers: { Authorization: `Bearer ${token.text}`, "Content-Type": "application/json" }, body: JSON.stringify(body), credentials: "omit" });
	} catch {
		throw new Error("meted does not answer: nothing is known to have changed. Try again.");
	}
	if (answer.ok) return;
	const said = await answer.json().catch(() => ({}));
	if (answer.status === 401 || answer.status === 403) {
		if (answer.status === 401) token.forget();
		asked.needsToken = true;
	}
	throw new Error(said.error || `meted answered ${answer.status}`);
}

function close() {
	asked = null;
	trouble = "";
	if (dialog.open) dialog.close();
}

function open(action) {
	asked = action;
	trouble = "";
	render();
	if (!dialog.open) dialog.showModal();
	const typed = dialog.querySelector("#token");
	if (typed) typed.value = ""; // not the one that was refused
	dialog.querySelector("input,button.strong")?.focus();
}

export const act = (kind, row, m) => open(kinds[kind](row, m));

/* Asks for the token alone: meted wants it for everything. */
export function askToken() {
	open({ title: "Token", text: "A token lets this page act, and read where meted is reached over the network.", verb: "Keep it", needsToken: true });
}

export const asking = () => dialog.open;

export function start(element) {
	dialog = element;
	dialog.addEventListener("close", () => (asked = null));
}
