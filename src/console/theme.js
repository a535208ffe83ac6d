/* theme.js: light, dark, or as the system is; the choice is kept in this browser. */
const KEY = "mete.theme";
const ORDER = ["system", "light", "dark"];

export const theme = () => localStorage.getItem(KEY) || "system";

export function apply() {
	const t = theme();
	if (t === "system") delete document.documentElement.dataset.theme;
	else document.documentElement.dataset.theme = t;
}

export function next() {
	const t = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];
	if (t === "system") localStorage.removeItem(KEY);
	else localStorage.setItem(KEY, t);
	apply();
	return t;
}

export function start(onChange) {
	apply();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", onChange);
}
