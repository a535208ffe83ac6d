/* token.js: the token for actions: asked once, kept as long as the tab lives, never in the address. */
const KEY = "mete.token";

export const token = {
	get text() {
		return sessionStorage.getItem(KEY) || "";
	},
	set(text) {
		sessionStorage.setItem(KEY, text.trim());
	},
	forget() {
		sessionStorage.removeItem(KEY);
	},
};
