/*
 * feed.js: what meted says, asked again and again: the node every two seconds (15 when nobody looks), events when there
 * are new ones, a history while a view shows it.
 *
 * When meted does not answer, what was known last stays, `since` says from when on, and it is asked again after 1, 2, 4,
 * at most 10 seconds.
 */
import { token } from "./token.js";

const EVERY_MS = 2000;
const HIDDEN_MS = 15000;
const SLOWEST_MS = 10000;
const PATIENCE_MS = 10000;
const EVENTS_KEPT = 1000;
const EVENTS_SHOWN = 20;

export const feed = {
	node: null,
	events: [], // newest last
	told: false, // meted has said which there are
	last: 0, // id of the newest
	since: 0, // when meted was lost; 0: it is there
	error: "",
	locked: false, // meted wants a token for everything
	paused: false,
};

let changed = () => {};
let timer = 0;
let pause = 1000;
let etag = "";

/* first.js has asked for the node while the rest of the page was loading; that answer is used once. */
function takeEarly(path) {
	const early = path === "api/v1/node" ? window.meteFirst : null;
	window.meteFirst = null;
	return early;
}

/* Value: what was answered. Throws an Error with the line for the user. */
export async function get(path) {
	const abort = new AbortController();
	const alarm = setTimeout(() => abort.abort(), PATIENCE_MS);
	try {
		const early = takeEarly(path);
		const headers = token.text ? { Authorization: `Bearer ${token.text}` } : {};
		const answer = await (early || fetch(path, { headers, signal: abort.signal, cache: "no-cache", credentials: "omit" }));
		if (!answer.ok) {
			const said = await answer.json().catch(() => ({}));
			throw Object.assign(new Error(said.error || `meted answered ${answer.status}`), { status: answer.status });
		}
		return answer;
	} finally {
		clearTimeout(alarm);
	}
}

/* A line that was counted up comes again under a new id; this is what it keeps. */
function origin(e) {
	const text = e.kind === "refusal" || e.kind === "fault" ? "" : e.text;
	return [e.first_time ?? e.id, e.kind, e.tenant, e.device, text].join("|");
}

async function askEvents() {
	const first = feed.last === 0;
	const answer = await (await get(`api/v1/events?after=${feed.last}&limit=${first ? 200 : EVENTS_KEPT}`)).json();
	if (answer.last < feed.last) feed.events = []; // another meted, with ids of its own
	const again = new Set(answer.events.map(origin));
	feed.events = [...feed.events.filter((e) => !again.has(origin(e))), ...answer.events].slice(-EVENTS_KEPT);
	feed.last = answer.last;
	feed.told = true;
}

/*
 * The last events of one tenant or device, newest first. meted is asked for them, for those that all have in common may not
 * reach back that far; until it has answered it is those of them that are known.
 */
const about = { what: "", last: 0, events: [], told: false };

/* Value: null: nothing is known yet. */
export function eventsAbout(kind, name) {
	const what = `${kind}=${encodeURIComponent(name)}`;
	if (about.what !== what || about.last !== feed.last) {
		if (about.what !== what) about.told = false;
		if (about.what !== what) about.events = feed.events.filter((e) => e[kind] === name).slice(-EVENTS_SHOWN);
		about.what = what;
		about.last = feed.last;
		askAbout(what);
	}
	return about.told || about.events.length ? about.events.toReversed() : null;
}

async function askAbout(what) {
	try {
		const answer = await (await get(`api/v1/events?${what}&limit=${EVENTS_SHOWN}`)).json();
		if (about.what !== what) return;
		about.events = answer.events;
		about.told = true;
		changed();
	} catch {
		about.last = -1; // the next turn asks again, and says when meted is away
	}
}

async function ask() {
	const answer = await get("api/v1/node");
	const tag = answer.headers.get("ETag") || "";
	if (!tag || tag !== etag || !feed.node) feed.node = await answer.json();
	etag = tag;
	feed.locked = false;
	feed.since = 0;
	feed.error = "";
	if (feed.node.last_event < feed.last) feed.last = 0;
	if (feed.node.last_event > feed.last) {
		changed();
		await askEvents();
	}
	feed.told = true; // also when there has been none
}

async function turn() {
	clearTimeout(timer);
	let next = document.hidden ? HIDDEN_MS : EVERY_MS;
	try {
		await ask();
		pause = 1000;
	} catch (e) {
		feed.locked = e.status === 401 || e.status === 403;
		if (!feed.since) feed.since = Date.now() / 1000;
		feed.error = e.status ? e.message : "meted does not answer";
		next = pause;
		pause = Math.min(pause * 2, SLOWEST_MS);
	}
	changed();
	clearTimeout(timer);
	if (!feed.paused) timer = setTimeout(turn, next);
}

export function start(onChange) {
	changed = onChange;
	document.addEventListener("visibilitychange", () => document.hidden || feed.paused || turn());
	addEventListener("online", () => turn());
	turn();
}

/* Asks at once. */
export function again() {
	pause = 1000;
	return turn();
}

export function hold(paused) {
	feed.paused = paused;
	if (paused) clearTimeout(timer);
	else turn();
	changed();
}
