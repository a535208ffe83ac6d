/*
 * plots.js: histories as plots. A plot is asked for by name ("device=UUID"), fetched when it is first shown and again
 * when a step of its time has passed, and drawn in the colours of the page; a gap in the data stays a gap.
 */
import { h } from "./dom.js";
import { get } from "./feed.js";
import { bytes, clock, moment, part, rate } from "./units.js";

export const SPANS = [["600", "10 min"], ["3600", "1 h"], ["10800", "3 h"], ["86400", "24 h"]];

const held = new Map(); // address → { data, error, until, asking }
const KEPT = 8;
let changed = () => {};

export function start(onChange) {
	changed = onChange;
}

async function fetchHistory(entry, path) {
	entry.asking = true;
	try {
		entry.data = await (await get(path)).json();
		entry.error = "";
	} catch (e) {
		entry.error = e.status ? e.message : "meted does not answer";
	}
	entry.asking = false;
	entry.until = Date.now() + 1000 * Math.max(2, entry.data?.step_s || 2);
	changed();
}

/* What is known of a history; asks when that is old. */
export function history(what, span) {
	const path = `api/v1/history?${what}&span=${span}`;
	let entry = held.get(path);
	if (!entry) {
		entry = { data: null, error: "", until: 0, asking: false };
		held.set(path, entry);
		if (held.size > KEPT) held.delete(held.keys().next().value);
	}
	if (!entry.asking && Date.now() > entry.until) fetchHistory(entry, path);
	return entry;
}

/* The library is fetched when the first plot is drawn, so that the first view is not kept waiting by it. */
let library = null;

function load() {
	library ??= new Promise((done, failed) => {
		const style = document.createElement("link");
		style.rel = "stylesheet";
		style.href = "console/uplot.css";
		document.head.prepend(style);
		const script = document.createElement("script");
		script.src = "console/uplot.js";
		script.onload = done;
		script.onerror = () => {
			library = null;
			failed(new Error("the plots could not be loaded"));
		};
		document.head.append(script);
	});
	return library;
}

/* A colour of the page as a canvas takes it: what the variable is in the light or the dark of now. */
function colour(name) {
	const probe = document.createElement("i");
	probe.style.color = `var(${name})`;
	document.body.append(probe);
	const found = getComputedStyle(probe).color;
	probe.remove();
	return found;
}

/* Midnight is said by its day. */
function tick(t, step) {
	const said = clock(t);
	if (step < 60) return said;
	return said === "00:00:00" ? moment(t).slice(5, 10) : said.slice(0, 5);
}

function axes(value) {
	const text = colour("--muted");
	const line = { stroke: colour("--line"), width: 1 };
	const font = '12px system-ui, -apple-system, "Segoe UI", sans-serif';
	return [
		{ stroke: text, font, grid: line, ticks: line, space: 70, size: 34, values: (u, at, i, space, step) => at.map((t) => tick(t, step)) },
		{ stroke: text, font, grid: line, ticks: line, size: 74, space: 30, values: (u, at) => at.map((v) => value(v)) },
	];
}

/* The values with none beside them, which no line shows. */
function alone(u, i) {
	const v = u.data[i];
	const none = (k) => v[k] === null || v[k] === undefined;
	return v.map((x, k) => k).filter((k) => !none(k) && none(k - 1) && none(k + 1));
}

function series({ label, colour: name, fill, dash, value }) {
	const stroke = colour(name);
	return { label, stroke, width: 1.5, fill: fill ? stroke.replace(/^rgb\((.*)\)$/, "rgba($1, 0.18)") : undefined, dash, points: { show: true, size: 4, fill: stroke, filter: alone }, spanGaps: false, value: (u, v, i, at) => said(at === null ? latest(u.data[i]) : v, value) };
}

/* Without a pointer the legend says what is last known. */
const latest = (column) => column?.findLast((v) => v !== null);
const said = (v, value) => (v === null || v === undefined ? "–" : value(v));

const ground = () => getComputedStyle(document.body).backgroundColor;

const HIGH = 190;
const LOW = 132; // without a legend of its own: its heading has one

/* Steps that are round in bytes, and in parts. */
const BYTE_STEPS = Array.from({ length: 50 }, (x, i) => 2 ** i);

function make(el, plot) {
	const u = new uPlot({
		width: Math.max(200, el.clientWidth),
		height: plot.height,
		padding: [10, 20, 0, 0],
		legend: { show: plot.height >= HIGH, live: true },
		cursor: { points: { size: 6 }, drag: { x: false, y: false }, sync: { key: "mete" } },
		scales: { x: { time: true }, y: { range: (x, low, high) => [0, Math.max(plot.least, (high || 0) * 1.08)] } },
		axes: axes(plot.value).map((a, i) => (i && plot.value !== timePart ? { ...a, incrs: BYTE_STEPS } : a)),
		series: [{ value: (u, t, i, at) => said(at === null ? latest(u.data[0]) : t, clock) }, ...plot.lines.map((l) => series({ ...l, value: plot.value }))],
	}, plot.data, el);
	el.$plot = u;
	el.$theme = ground();
	new ResizeObserver(() => u.root.isConnected && u.setSize({ width: Math.max(200, el.clientWidth), height: plot.height })).observe(el);
}

function draw(el, plot) {
	if (el.$plot && el.$theme !== ground()) {
		el.$plot.destroy();
		el.$plot = null;
	}
	if (!el.$plot) make(el, plot);
	else if (el.$data !== plot.source) el.$plot.setData(plot.data);
	el.$data = plot.source;
}

function columns(data, lines) {
	const names = lines.map((l) => l.name);
	const known = names.map((n) => data.series[n]).filter(Boolean);
	const length = Math.max(0, ...known.map((k) => k.length));
	const time = Array.from({ length }, (x, i) => data.from + i * data.step_s);
	const scaled = ({ name, of = 1 }) => (data.series[name] || new Array(length).fill(null)).map((v) => (v === null ? v : v / of));
	return [time, ...lines.map(scaled)];
}

function summary(title, lines, data, value) {
	const now = lines.map((l, i) => [l.label, data[i + 1].findLast((v) => v !== null)]).filter(([, v]) => v !== undefined);
	return `${title}: ${now.map(([label, v]) => `${label} ${value(v)}`).join(", ") || "no data yet"}`;
}

function canvas(key, title, entry, lines, value, least, height) {
	if (!entry.data) return h("p", { class: "plot empty", key: "none" }, entry.error || "…");
	const data = columns(entry.data, lines);
	if (!data[0].length) return h("p", { class: "plot empty", key: "none" }, "Nothing was recorded in this time.");
	const p = { data, lines, value, least, height, source: entry.data };
	const later = (el) => load().then(() => requestAnimationFrame(() => el.isConnected && draw(el, p)), () => {});
	return h("div", { class: "plot", key, own: true, role: "img", "aria-label": summary(title, lines, data, value), made: later, kept: later });
}

export function plot(key, title, entry, lines, value, least) {
	return h("section", { class: "panel", key }, h("h2", {}, title), canvas(key, title, entry, lines, value, least, HIGH),
		entry.data && entry.error ? h("p", { class: "empty" }, entry.error) : null);
}

/* A low one, whose heading says what its lines are. */
function trend(key, title, entry, lines, value, least) {
	return h("section", { class: "panel trend", key },
		h("div", { class: "row" }, h("h2", {}, title), h("p", { class: "legend" }, lines.map((l) => h("span", { key: l.name, class: `key ${l.mark}` }, l.label.toLowerCase())))),
		canvas(key, title, entry, lines, value, least, LOW));
}

export const memoryLines = [
	{ name: "promised", label: "Promised", colour: "--idle-line", dash: [5, 4], mark: "promised" },
	{ name: "held", label: "Held", colour: "--held", fill: true, mark: "held" },
];
export const timeLines = [
	{ name: "wanted", label: "Wanted", colour: "--idle-line", dash: [5, 4], mark: "promised" },
	{ name: "got", label: "Got", colour: "--got", fill: true, mark: "got" },
	{ name: "waited", label: "Waited", colour: "--warn" },
];

export const trafficLines = [
	{ name: "received", label: "Received", colour: "--received", fill: true, mark: "received" },
	{ name: "sent", label: "Sent", colour: "--sent", mark: "sent" },
];

export const memoryPlot = (key, entry) => plot(key, "Memory", entry, memoryLines, bytes, 1 << 20);
const timePart = (v) => part(v, v && v < 0.1 ? 1 : 0);
/* `devices`: of so many, whose times are added. */
export const timePlot = (key, entry, devices = 1) => plot(key, devices > 1 ? `Time, sum of ${devices} devices` : "Time", entry, timeLines, timePart, 0.05);

/* Whether there was remote traffic in what is shown; `ever`: there has been some. */
const flows = (entry, ever) => ever || !!entry.data?.series.received?.some((v) => v);
export const trafficPlot = (key, entry, ever) => (flows(entry, ever) ? plot(key, "Remote traffic", entry, trafficLines, rate, 1024) : null);

/* Of the node: what is promised and held of all devices, and which part of their time. */
export const memoryTrend = (entry) => trend("node-memory", "Memory, allocated and used", entry, memoryLines, bytes, 1 << 20);
export const timeTrend = (entry, devices) =>
	trend("node-time", devices > 1 ? "Time, mean of devices" : "Time, wanted and got", entry, timeLines.slice(0, 2).map((l) => ({ ...l, of: devices })), timePart, 0.05);
export const trafficTrend = (entry, ever) =>
	flows(entry, ever) ? trend("node-traffic", "Remote traffic", entry, trafficLines, rate, 1024) : null;
