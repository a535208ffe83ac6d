/* tip.js: what a share in a bar is, beside the pointer; a click goes to its tenant. */
import * as address from "./address.js";
import { h, patch } from "./dom.js";
import { bytes, part } from "./units.js";

function text(m, name, uuid) {
	const t = m?.tenants.find((x) => x.name === name);
	const s = t?.shares.find((x) => x.uuid === uuid);
	if (!s) return null;
	const row = (title, value) => h("div", {}, h("dt", {}, title), h("dd", {}, value));
	return [
		h("b", {}, t.name), h("span", { class: "faint" }, ` ${t.user || t.uid}, ${t.state}`),
		h("dl", {}, row("Held", `${bytes(s.held_bytes)} of ${bytes(s.quota_bytes)}`), s.away_bytes ? row("Away", bytes(s.away_bytes)) : null, row("Not used", bytes(Math.max(0, s.quota_bytes - s.held_bytes))),
			row("Time got", part(s.got_10s)), row("Guaranteed", s.cores ? `${+s.cores.toFixed(1)} %` : "–")),
	];
}

export function start(tip, model) {
	const share = (e) => (e.target instanceof Element ? e.target.closest("[data-tenant]") : null);
	document.addEventListener("pointermove", (e) => {
		const at = share(e);
		const said = at && text(model(), at.dataset.tenant, at.closest("[data-device]").dataset.device);
		tip.hidden = !said;
		if (!said) return;
		patch(tip, said);
		tip.style.left = "0";
		tip.style.left = `${Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
		tip.style.top = `${e.clientY + 18 + tip.offsetHeight > innerHeight ? e.clientY - tip.offsetHeight - 10 : e.clientY + 18}px`;
	});
	document.addEventListener("click", (e) => {
		const at = share(e);
		if (at) address.go("tenant", at.dataset.tenant);
	});
	for (const type of ["hashchange", "resize", "scroll"]) addEventListener(type, () => (tip.hidden = true));
}
