/* export.js: the rows that are shown, as a file: sizes in bytes, parts of one, times in seconds since 1970. */
import { current } from "./lists.js";

/* A text that a spreadsheet would take for a formula is quoted, so that a tenant's name does nothing there. */
function cell(v) {
	if (v === null || v === undefined) return "";
	const text = typeof v === "string" && /^[=+\-@\t\r]/.test(v) ? `'${v}` : String(v);
	return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const plain = (row) => Object.fromEntries(Object.entries(row).filter(([k, v]) => k !== "words" && (k !== "shares" || !v[0]?.tenant)));

export function csv() {
	const lines = [current.columns.map((c) => c.id), ...current.rows.map((row) => current.columns.map((c) => (c.id === "time" ? row.time : c.value(row))))];
	return lines.map((l) => l.map(cell).join(",")).join("\r\n") + "\r\n";
}

export const json = () => JSON.stringify({ [current.name]: current.rows.map(plain) }, null, "\t") + "\n";

export function save(kind) {
	if (!current.columns.length) return;
	const type = kind === "csv" ? "text/csv" : "application/json";
	const url = URL.createObjectURL(new Blob([kind === "csv" ? csv() : json()], { type }));
	const a = document.createElement("a");
	a.href = url;
	a.download = `mete-${current.name}.${kind}`;
	a.click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}
