/*
 * dom.js: the page as a function of the state. h() describes elements, patch() makes a parent's children be what is
 * described, touching only what differs, so that nothing flickers, and focus, selection and scrolling stay.
 *
 * Children are matched by `key`, those without by their place. `own` marks an element whose inside belongs to somebody
 * else (a plot): it is left alone. `made` and `kept` are called with the element when it is new, and after each patch.
 */
const SVG = "http://www.w3.org/2000/svg";

export function h(tag, props, ...kids) {
	return { tag, props: props || {}, kids: flat(kids) };
}

/* Lists in lists are one list; what is null or false is left out. */
const flat = (kids) => kids.flat(Infinity).filter((k) => k !== null && k !== undefined && k !== false);

const asNode = (v) => (typeof v === "object" ? v : { text: String(v) });

const SPECIAL = new Set(["key", "own", "made", "kept", "style", "value", "checked", "selected"]);

function setListener(el, name, fn) {
	const type = name.slice(2);
	el.$on ??= {};
	if (!(type in el.$on)) el.addEventListener(type, (event) => el.$on[type]?.(event));
	el.$on[type] = fn;
}

function setStyle(el, style = {}, old = {}) {
	for (const k in old) if (!(k in style)) el.style.removeProperty(k);
	for (const k in style) if (style[k] !== old[k]) el.style.setProperty(k, style[k]);
}

/* What a user is just typing is not taken from under their hands. */
function setLive(el, props) {
	if ("value" in props && el.value !== props.value && document.activeElement !== el) el.value = props.value;
	if ("checked" in props && el.checked !== props.checked) el.checked = props.checked;
	if ("selected" in props && el.selected !== props.selected) el.selected = props.selected;
}

function setProps(el, props, old) {
	for (const k in old)
		if (!(k in props) && !SPECIAL.has(k)) k.startsWith("on") ? setListener(el, k, null) : el.removeAttribute(k);
	for (const k in props) {
		const v = props[k];
		if (SPECIAL.has(k)) continue;
		if (k.startsWith("on")) setListener(el, k, v);
		else if (v === old[k]) continue;
		else if (v === null || v === undefined || v === false) el.removeAttribute(k);
		else el.setAttribute(k, v === true ? "" : v);
	}
	if (props.style || old.style) setStyle(el, props.style, old.style);
}

function make(v, svg) {
	if ("text" in v) {
		const node = document.createTextNode(v.text);
		node.$v = v;
		return node;
	}
	svg = svg || v.tag === "svg";
	const el = svg ? document.createElementNS(SVG, v.tag) : document.createElement(v.tag);
	el.$v = v;
	setProps(el, v.props, {});
	if (!v.props.own) for (const k of v.kids) el.appendChild(make(asNode(k), svg));
	setLive(el, v.props);
	v.props.made?.(el);
	return el;
}

function update(node, v) {
	const old = node.$v;
	node.$v = v;
	if ("text" in v) {
		if (v.text !== old.text) node.data = v.text;
		return;
	}
	setProps(node, v.props, old.props);
	if (!v.props.own) place(node, v.kids);
	setLive(node, v.props);
	v.props.kept?.(node);
}

const fits = (node, v) => node?.$v && ("text" in v ? "text" in node.$v : node.$v.tag === v.tag && node.$v.props.key === v.props.key);

export const patch = (parent, kids) => place(parent, flat(kids));

function place(parent, kids) {
	const svg = parent.namespaceURI === SVG;
	let at = parent.firstChild;
	let byKey = null;

	for (const kid of kids) {
		const v = asNode(kid);
		let node = at;
		if (!fits(at, v)) {
			byKey ??= keysOf(parent);
			node = v.props?.key !== undefined ? byKey.get(v.props.key) : undefined;
			if (node && node.parentNode === parent && fits(node, v)) parent.insertBefore(node, at);
			else node = null;
		}
		if (node) {
			update(node, v);
			at = node.nextSibling;
		} else {
			parent.insertBefore(make(v, svg), at);
		}
	}
	while (at) {
		const next = at.nextSibling;
		at.remove();
		at = next;
	}
}

function keysOf(parent) {
	const keys = new Map();
	for (let n = parent.firstChild; n; n = n.nextSibling)
		if (n.$v?.props?.key !== undefined) keys.set(n.$v.props.key, n);
	return keys;
}
