/*
 * accessible.js: what can be judged of a page's accessibility by looking at it: contrast of texts (4.5, 3 for large
 * ones), names of controls, labels of fields, names of pictures, headings in order, one main, a language, ids that are
 * there once, heads of tables. Value: a list of lines, empty when all is well.
 */
(() => {
	const faults = [];
	const visible = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getClientRects().length > 0;
	const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);
	const what = (e) => `<${e.localName}${e.id ? "#" + e.id : ""}${e.className?.baseVal ?? e.className ? "." + (e.className?.baseVal ?? e.className) : ""}> ${(e.textContent || "").trim().slice(0, 40)}`;

	const parse = (c) => {
		const m = /rgba?\(([\d.]+),? ([\d.]+),? ([\d.]+)(?:[,/ ]+([\d.]+))?\)/.exec(c);
		return m ? [+m[1], +m[2], +m[3], m[4] === undefined ? 1 : +m[4]] : [0, 0, 0, 0];
	};
	const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
	const light = (c) => {
		const f = (x) => ((x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
		return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]);
	};
	const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);

	function ground(e) {
		const layers = [];
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c[3]) layers.push(c);
			if (c[3] === 1) break;
		}
		return layers.reduceRight((under, top) => over(top, under), [255, 255, 255, 1]);
	}

	function opacity(e) {
		let o = 1;
		for (; e; e = e.parentElement) o *= +getComputedStyle(e).opacity;
		return o;
	}

	const seen = new Set();
	for (const e of all("body *")) {
		if (e.closest("svg,canvas,.hidden,:disabled") || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
		const s = getComputedStyle(e);
		const size = parseFloat(s.fontSize);
		const under = ground(e);
		const colour = parse(s.color);
		const got = contrast(over([...colour.slice(0, 3), colour[3] * opacity(e)], under), under);
		const wanted = size >= 24 || (size >= 18.66 && +s.fontWeight >= 700) ? 3 : 4.5;
		const key = `${s.color} ${under}`;
		if (got < wanted && !seen.has(key)) {
			seen.add(key);
			faults.push(`contrast ${got.toFixed(2)} is below ${wanted}: ${what(e)}`);
		}
	}

	const named = (e) => (e.getAttribute("aria-label") || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent || e.textContent || e.title || "").trim();
	for (const e of all("button,a[href],[role=button]")) if (!named(e)) faults.push(`has no name: ${what(e)}`);
	for (const e of all("input,select,textarea")) if (!e.labels?.length && !e.getAttribute("aria-label")) faults.push(`has no label: ${what(e)}`);
	for (const e of all("img,[role=img],[role=region],dialog[open],nav")) if (!e.alt && !e.getAttribute("aria-label") && !document.getElementById(e.getAttribute("aria-labelledby"))) faults.push(`has no name: ${what(e)}`);
	for (const e of document.querySelectorAll("svg:not([role]):not([aria-hidden])")) if (!e.closest("[role=img],[aria-hidden]")) faults.push(`is neither named nor hidden: ${what(e)}`);
	for (const e of all("table")) if (!e.closest("[role=img]") && (!e.querySelector("caption") || e.querySelector("thead th:not([scope])"))) faults.push(`a table without caption or scope: ${what(e)}`);
	for (const e of all("[tabindex]")) if (e.tabIndex > 0) faults.push(`takes the keyboard out of order: ${what(e)}`);
	for (const e of all("li")) if (!/^(UL|OL)$/.test(e.parentElement.tagName)) faults.push(`a point of no list: ${what(e)}`);
	for (const e of all("dt,dd")) if (!e.closest("dl")) faults.push(`a term of no list: ${what(e)}`);

	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	for (const id of new Set(ids)) if (ids.filter((x) => x === id).length > 1) faults.push(`the id ${id} is there twice`);
	const levels = [...document.querySelectorAll("main h1,main h2,main h3")].filter((e) => e.checkVisibility()).map((e) => +e.localName[1]);
	if (levels[0] !== 1 || levels.filter((l) => l === 1).length !== 1) faults.push(`headings do not begin with one h1: ${levels}`);
	levels.forEach((l, i) => i && l > levels[i - 1] + 1 && faults.push(`a level of headings is left out: ${levels}`));
	if (document.querySelectorAll("main").length !== 1) faults.push("there is not one main");
	if (!document.documentElement.lang) faults.push("no language is named");
	if (!document.title) faults.push("there is no title");
	return faults;
})()
