/*
 * address.js: where one is, and what is filtered, stands in the address after #, so that a view can be sent to somebody,
 * kept as a bookmark, and found again with the back button: #/tenants?q=train&state=frozen&sort=-idle
 */
export function read() {
	const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
	const [view, ...rest] = path.split("/");
	return { view: view || "overview", name: decode(rest.join("/")), query: new URLSearchParams(query) };
}

function decode(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

export function to(view, name = "", query = {}) {
	const q = new URLSearchParams(query).toString();
	return `#/${view}${name ? "/" + encodeURIComponent(name) : ""}${q ? "?" + q : ""}`;
}

/* Changes fields of the query; "" removes one. Typing replaces the address, choosing adds one to go back to. */
export function change(fields, replace = false) {
	const at = read();
	for (const k in fields) fields[k] ? at.query.set(k, fields[k]) : at.query.delete(k);
	const address = to(at.view, at.name, at.query);
	if (replace) {
		history.replaceState(null, "", address);
		dispatchEvent(new HashChangeEvent("hashchange"));
	} else {
		location.hash = address;
	}
}

export function go(view, name, query) {
	location.hash = to(view, name, query);
}
