/*
 * token.js: the token, asked once, kept as long as the tab lives, never in the address. meted is asked what it lets do before
 * it is kept: "act", or "read" for one that reads alone.
 */
const KEY = "mete.token";
const MAY = "mete.token.may";

export const token = {
	get text() {
		return sessionStorage.getItem(KEY) || "";
	},
	get acts() {
		return token.text !== "" && sessionStorage.getItem(MAY) !== "read";
	},
	set(text, may) {
		sessionStorage.setItem(KEY, text);
		sessionStorage.setItem(MAY, may);
	},
	forget() {
		sessionStorage.removeItem(KEY);
		sessionStorage.removeItem(MAY);
	},
};

/* What a token lets do: "act", "read" or "nothing". Throws when meted does not answer. */
async function ask(text) {
	const answer = await fetch("api/v1/token", { headers: { Authorization: `Bearer ${text}` }, cache: "no-store", credentials: "omit" }).catch(() => null);
	if (!answer?.ok) throw new Error("meted does not answer: the token was not looked at. Try again.");
	return (await answer.json()).may;
}

/* Keeps a token that was typed, if it is one. `acts`: it must be the one that acts. */
export async function take(typed, acts) {
	const text = typed.trim();
	const may = await ask(text);
	if (may === "nothing") throw new Error("This is not the token: on the node, `mete token show` prints it.");
	if (may === "read" && acts) throw new Error("This token reads and does not act: on the node, `mete token show` prints the one that acts.");
	token.set(text, may);
}

/* One that was kept before this page was loaded may be void by now. */
export async function check() {
	const text = token.text;
	if (!text) return;
	const may = await ask(text).catch(() => null);
	if (may === "nothing" && token.text === text) token.forget();
	else if (may) token.set(text, may);
}
