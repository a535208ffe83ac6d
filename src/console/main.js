/* main.js: the page: its frame, which view is shown, and what makes it be drawn again. */
import { act, askToken, start as startActions } from "./actions.js";
import * as address from "./address.js";
import { deviceView, tenantView } from "./detail.js";
import { h, patch } from "./dom.js";
import { save } from "./export.js";
import { eventsAbout, feed, hold, start as startFeed } from "./feed.js";
import { chosen, help, start as startKeys } from "./keys.js";
import { devicesView, eventsView, tenantsView } from "./lists.js";
import { findDevice, model } from "./model.js";
import { overview } from "./overview.js";
import { start as startPlots } from "./plots.js";
import * as theme from "./theme.js";
import { start as startTip } from "./tip.js";
import { check as checkToken, token } from "./token.js";
import { clock, zone } from "./units.js";

const body = document.getElementById("page");
let planned = false;
let drawn = false; // the first picture of a node
let painted = false; // and it is on the screen
let shownAt = "";

// Nothing is painted while the page is hidden, but what it says must be true when it is seen again.
const nextFrame = (f) => (document.hidden ? setTimeout(f, 0) : requestAnimationFrame(f));

/* Once per frame, whatever happened; the first picture at once, and nothing else until it is seen. */
function render() {
	if (planned || (drawn && !painted)) return;
	planned = true;
	(feed.node && !drawn ? queueMicrotask : nextFrame)(() => {
		planned = false;
		if (!drawn || painted) draw();
	});
}

function firstDrawn() {
	drawn = true;
	performance.mark("mete-drawn");
	nextFrame(() => setTimeout(() => {
		performance.mark("mete-painted");
		painted = true;
		render();
	}, 0));
}

const tabs = [["overview", "Overview"], ["devices", "Devices"], ["tenants", "Tenants"], ["events", "Events"]];
const parent = { device: "devices", tenant: "tenants" };

function live() {
	if (feed.since) return h("span", { class: "live lost" }, "not connected");
	if (!feed.node) return h("span", { class: "live" }, "…");
	return h("span", { class: feed.paused ? "live" : "live on", title: `Times are ${zone()}, as this browser has it` }, feed.paused ? "held" : clock(feed.node.time));
}

function header(at) {
	return h("header", { key: "header" },
		h("a", { class: "brand", href: "#/" }, "mete"), h("span", { class: "node" }, feed.node ? feed.node.node : ""),
		h("nav", { "aria-label": "Views" }, tabs.map(([view, title]) => h("a", { key: view, href: address.to(view), "aria-current": (parent[at.view] || at.view) === view ? "page" : null }, title))),
		h("div", { class: "tools" }, live(),
			h("button", { class: "quiet", onclick: () => hold(!feed.paused), "aria-pressed": String(feed.paused) }, feed.paused ? "Go on" : "Hold"),
			token.text && !token.acts ? h("span", { class: "faint", key: "reads" }, "reads only") : null,
			token.text ? h("button", { class: "quiet", key: "forget", title: "Forget the token", onclick: () => (token.forget(), render()) }, "Lock") : h("button", { class: "quiet", key: "unlock", title: "Actions need a token", onclick: askToken }, "Unlock"),
			h("button", { class: "quiet", title: "Light, dark, or as the system is", onclick: nextTheme }, { system: "Auto", light: "Light", dark: "Dark" }[theme.theme()]),
			h("button", { class: "quiet", title: "Keys", "aria-label": "Keys", onclick: showHelp }, "?")));
}

function banner() {
	if (feed.locked) return h("div", { class: "banner", key: "banner", role: "alert" }, h("span", {}, feed.error), h("button", { onclick: askToken }, "Give the token"));
	if (!feed.since) return null;
	return h("div", { class: "banner", key: "banner", role: "alert" },
		h("span", {}, `${feed.error} since ${clock(feed.since)}. `, feed.node ? `What is shown is of ${clock(feed.node.time)}. ` : "", "This page goes on asking."));
}

function tenantAct(kind) {
	const at = address.read();
	if (!feed.node) return;
	const m = model(feed.node);
	const t = m.tenants.find((x) => x.name === (at.view === "tenant" ? at.name : chosen.key));
	if (t) act(kind === "freeze" && t.state === "frozen" ? "thaw" : kind, t, m);
}

function view(at) {
	if (!feed.node) return feed.since ? null : h("p", { class: "empty" }, "…");
	const m = model(feed.node);
	const does = (kind, row) => act(kind, row, m);
	const told = () => eventsAbout(at.view, at.view === "device" ? findDevice(m, at.name)?.uuid ?? at.name : at.name);
	const views = {
		overview: () => overview(m, feed.told ? feed.events : null, at.query, chosen.key, !drawn),
		devices: () => devicesView(m, at.query, chosen.key, save),
		tenants: () => tenantsView(m, at.query, chosen.key, save),
		events: () => eventsView(m, feed.events, feed.told, at.query, chosen.key, save),
		device: () => deviceView(m, told(), at.name, at.query, chosen.key, does),
		tenant: () => tenantView(m, told(), at.name, at.query, does),
	};
	return (views[at.view] || (() => [h("h1", {}, "Not here"), h("p", { class: "empty" }, `There is no view ${at.view}. `, h("a", { href: "#/" }, "Overview"))]))();
}

function title(at) {
	const what = at.name && at.view === "tenant" ? at.name : tabs.find(([v]) => v === (parent[at.view] || at.view))?.[1];
	document.title = [what, feed.node?.node, "mete"].filter(Boolean).join(" · ");
}

function draw() {
	const at = address.read();
	const here = `${at.view}/${at.name}`;
	if (here !== shownAt) chosen.key = null;
	patch(body, [header(at), banner(), h("main", { key: here, id: "main", tabindex: "-1", "data-address": location.hash, class: feed.since ? "stale" : "" }, view(at))]);
	title(at);
	if (here !== shownAt) scrollTo(0, 0);
	shownAt = here;
	if (feed.node && !drawn) firstDrawn();
}

function nextTheme() {
	theme.next();
	render();
}

function showHelp() {
	help(document.getElementById("help"));
}

theme.start(render);
startActions(document.getElementById("dialog"));
startKeys({ render, theme: nextTheme, act: tenantAct, help: showHelp });
startTip(document.getElementById("tip"), () => feed.node && model(feed.node));
startPlots(render);
addEventListener("hashchange", render);
setInterval(render, 1000); // plots ask for what is new as they are drawn
startFeed(render);
checkToken().then(render);
