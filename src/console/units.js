/* units.js: numbers as people read them. Sizes are binary, as everywhere in mete; null is a dash. */
const NAMES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function figures(x) {
	return (x >= 100 ? Math.round(x).toString() : x.toFixed(x >= 10 ? 1 : 2)).replace(/\.0+$/, "");
}

export function bytes(n) {
	if (n === null || n === undefined) return "–";
	let i = 0;
	while (Math.abs(n) >= 1024 && i < NAMES.length - 1) {
		n /= 1024;
		i++;
	}
	return `${figures(n)} ${NAMES[i]}`;
}

export const rate = (n) => (n === null || n === undefined ? "–" : `${bytes(n)}/s`);

/* Two sizes in the unit of the second: "26.3 of 80 GiB". */
export function bytesOf(n, all) {
	const i = all ? Math.min(NAMES.length - 1, Math.floor(Math.log2(all) / 10)) : 0;
	return [figures(n / 1024 ** i), `of ${figures(all / 1024 ** i)} ${NAMES[i]}`];
}

/* A part of one: 0.314 is 31 %. */
export function part(x, digits = 0) {
	return x === null || x === undefined ? "–" : `${(x * 100).toFixed(digits)} %`;
}

/* A whole number, in groups of three; written by hand, for a browser's own way costs the first picture 20 ms. */
export function count(n) {
	return n === null || n === undefined ? "–" : String(n).replace(/\B(?=(\d{3})+$)/g, " ");
}

export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

const two = (n) => String(n).padStart(2, "0");

export function clock(seconds) {
	const d = new Date(seconds * 1000);
	return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

export function moment(seconds) {
	if (!seconds) return "–";
	const d = new Date(seconds * 1000);
	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(seconds)}`;
}

/* The zone that clock() and moment() speak of: "UTC+01:00". */
export function zone() {
	const ahead = -new Date().getTimezoneOffset();
	const size = Math.abs(ahead);
	return ahead ? `UTC${ahead < 0 ? "−" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}` : "UTC";
}

const STEPS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

export function span(seconds) {
	for (const [size, name] of STEPS) if (seconds >= size) return `${Math.floor(seconds / size)} ${name}`;
	return "0 s";
}

export const ago = (seconds) => (seconds < 1 ? "now" : `${span(seconds)} ago`);

/*
 * A size as a person types it: 512M, 8G, 1.5GiB (powers of 1024), 8GB (powers of 1000), 25% of `total`, or bytes.
 * Value: bytes, NaN when it is none.
 */
export function parseBytes(text, total) {
	const m = /^\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgtp]?)(i?b?|%)\s*$/i.exec(text);
	if (!m) return NaN;
	const n = Number(m[1]);
	if (m[3] === "%") return m[2] ? NaN : Math.floor((n / 100) * total);
	const power = m[2] ? "kmgtp".indexOf(m[2].toLowerCase()) + 1 : 0;
	return Math.floor(n * (m[3].toLowerCase() === "b" && power ? 1000 : 1024) ** power);
}
